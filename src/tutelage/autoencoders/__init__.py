"""Representations with the information that was asked for (seed 004, chapter 4)."""
