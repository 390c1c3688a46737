"""Rigorous bounds on the difference of two networks, and branch and bound with them."""
