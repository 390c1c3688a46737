"""Bounds and searches for two networks with sparse layers: convolutions that are too large as dense matrices."""
