"""Searches for an input at which two networks differ."""
