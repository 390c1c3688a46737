"""Alignment in the plane (seed 002): angular kernels, determinants with proved signs, and Conjecture 5.5."""
