"""Matching the units of two networks, and paths between them."""
