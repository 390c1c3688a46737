"""The weights of a black box from its values."""
