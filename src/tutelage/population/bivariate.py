"""Probabilities of two correlated normal numbers, through Owen's T."""

import math

import numpy as np
from scipy.special import ndtr, owens_t


def both_below(h: np.ndarray, k: np.ndarray, r: np.ndarray, q: np.ndarray) -> np.ndarray:
    """P(X < h, Y < k) of standard normal numbers with correlation r and q = sqrt(1 - r^2), by Owen (1956)."""
    h, k = h + 0.0, k + 0.0  # minus zero would be taken from the other side
    with np.errstate(divide="ignore", invalid="ignore"):
        a, b = (k - r * h) / (h * q), (h - r * k) / (k * q)
    # Owen's formula is 0/0 at the origin, where the arcsine law holds, and a = b = 0 would be the wrong limit there.
    origin = (h == 0) & (k == 0)
    a, b = (np.where(np.isnan(x), 0, x) for x in (a, b))
    sides = np.sign(h) * np.sign(k)  # h k itself may underflow
    half = np.where((sides < 0) | ((sides == 0) & (h + k < 0)), 0.5, 0.0)
    out = (ndtr(h) + ndtr(k)) / 2 - owens_t(h, a) - owens_t(k, b) - half
    return np.where(origin, 0.25 + np.arcsin(r) / (2 * math.pi), out)


def phi(x: np.ndarray) -> np.ndarray:
    """The density of a standard normal number."""
    return np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
