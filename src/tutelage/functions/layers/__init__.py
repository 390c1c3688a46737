"""Layers of pairs of networks, made to correspond."""
