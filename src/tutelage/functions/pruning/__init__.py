"""Removing what a network does not need, and bounds on what that changes."""
