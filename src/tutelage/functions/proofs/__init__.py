"""Stored proofs and their checker."""
