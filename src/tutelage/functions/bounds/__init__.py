"""Bounds that hold for all inputs of a domain."""
