r"""Zonotopes of two networks in one: values of f above those of d = f - g on batches of boxes, rounded outwards.

A row is :math:`c + \sum_k z_k t_k + r`, with the same :math:`|t_k| \le 1` in all rows and :math:`|r| \le` error. A sum
of n products is within n eps times the sum of their sizes of the exact one (Higham 2002, section 3.1), and within half
of gamma(n) times that: the other half is for the rounding of bounds.
"""

from typing import NamedTuple

import numpy as np

from tutelage.verifying import EPS, TINY, StoredLayer, gamma


def joined(f: list[StoredLayer], g: list[StoredLayer]) -> list[StoredLayer]:
    """Both networks as one: rows of f above those of d = f - g, which is g d + (f - g) f in every layer."""
    pair: list[StoredLayer] = []
    for p, q in zip(f, g, strict=True):
        d = [x[:, :-1] if pair else x[:, :0] for x in q]  # the inputs do not differ
        blocks = zip(p, d, (p.a - q.a, p.e + q.e + EPS * np.abs(p.a - q.a)), strict=True)
        rows = ([[x[:, :-1], 0 * y, x[:, -1:]], [z[:, :-1], y, z[:, -1:]]] for x, y, z in blocks)
        pair.append(StoredLayer(*map(np.block, rows)))
    return pair


class Enclosure(NamedTuple):
    """c [B, n] + z [B, n, K] t + r with |t| <= 1 and |r| <= error [B, n]."""

    c: np.ndarray
    z: np.ndarray
    error: np.ndarray

    def size(self) -> np.ndarray:
        return (np.abs(self.c) + np.abs(self.z).sum(2) + self.error) * (1 + gamma(self.z.shape[2]))

    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        reach = np.abs(self.z).sum(2) + self.error + gamma(self.z.shape[2]) * self.size()
        return self.c - reach, self.c + reach

    def into(self, layer: StoredLayer) -> "Enclosure":
        (w, b), (e_w, e_b) = ((x[:, :-1], x[:, -1]) for x in layer)
        size, g = self.size(), gamma(w.shape[1])
        met = size @ np.abs(w).T + np.abs(b)
        some = (size > 0) @ ((w != 0) | (e_w != 0)).T.astype(float) + (b != 0)  # terms, which may have underflowed
        error = (self.error @ np.abs(w).T + size @ e_w.T + e_b + g * met) * (1 + g) + TINY * (some > 0)
        return Enclosure(self.c @ w.T + b, w @ self.z, error)


def line(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """s and h with relu(u) within s u + h +- h."""
    s = np.where(low >= 0, 1.0, np.clip(high / np.where(high > low, high - low, 1.0), 0.0, 1.0))
    return s, np.where((low < 0) & (high > 0), np.maximum(-s * low, (1 - s) * high) * (0.5 + 8 * EPS) + TINY, 0.0)


def disagreement(x: Enclosure, margin: float) -> np.ndarray:
    """How much is missing for a proof that both networks have the same top class wherever f leads by the margin: [B]"""
    n = x.c.shape[1] // 2
    one, other = np.nonzero(~np.eye(n, dtype=bool))
    a, none = np.eye(n)[one] - np.eye(n)[other], np.zeros((len(one), n + 1))
    rows = np.block([[a, none], [-a, a, none[:, :1]], [none[:, 1:], a, none[:, :1]]])
    # f_c - f_j, g_j - g_c and d_c - d_j. Where f leads by the margin for c, g_c - g_j is at least margin - (d_c - d_j).
    sure, above, apart = x.into(StoredLayer(rows, 0 * rows)).ends()[1].reshape(len(x.c), 3, n, n - 1).swapaxes(0, 1)
    leads = ~(sure < margin).any(2)
    return np.where(leads, np.minimum(above, apart - margin).max(2), -np.inf).max(1)
