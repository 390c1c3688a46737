r"""Checks a proof of :mod:`.interval_proof` anew: whole numbers instead of float64, mpmath instead of NumPy.

f and f' are enclosed once at all multiples of half the finest box, or less, by mpmath's interval arithmetic (40 digits)
in whole multiples of :math:`2^{-60}`; everything after is exact arithmetic on Python's integers. Between them f is
enclosed by its being decreasing on [0, pi]. f' falls up to the one root of :math:`f'' = \sin\theta -
(\pi - \theta)\cos\theta` (below pi/2 the root is that of :math:`\tan\theta = \pi - \theta`, above f'' is positive)
and rises after, so that only an interval around the least entry of the table needs more than its ends: that entry
less 3 squares of a step, since f'' is 0 within a step of it and the third derivative is at most 2 + pi < 6.
Determinants are expanded by permutations, and derivatives by cofactors.

The checker walks the boxes from the whole cube itself, so it also sees that they leave nothing out.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath  # type: ignore[import-untyped]
import numpy as np

from tutelage.alignment.interval_proof import IntervalProof
from tutelage.errors import TutelageError

BITS = 60
_FINEST = 13
"""The table has at least 2 to this power steps from 0 to pi, so that little is lost where f' turns."""
CHUNK = 1 << 13

Pair = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class BoxCheck:
    """Boxes of a proof that were confirmed (proved) and not (rejected), and whether it covers every set it claims to.

    covers: the boxes called outside or excluded are so, and no box is open where the proof must leave none open;
    valid: covers, and every proved box is confirmed.
    """

    proved: int
    rejected: int
    covers: bool

    @property
    def valid(self) -> bool:
        return self.covers and self.rejected == 0


def check(proof: IntervalProof, on_progress: Callable[[float], None] = lambda share: None) -> BoxCheck:
    """Go through all boxes of a proof.

    >>> from tutelage.alignment.interval_proof import prove
    >>> check(prove(3, 7)).valid
    True
    """
    tables = _tables(max(_FINEST, len(proof.levels) - 1))
    corners = np.zeros((1, 3), np.int64)
    proved = rejected = done = 0
    covers, total = True, sum(len(codes) for codes in proof.levels)
    # Invariant: `corners` are the boxes of this level that the levels above left split, found from the whole cube
    # without reading any position from the file. A proof with a code too few or too many ends here.
    for level, codes in enumerate(proof.levels):
        if len(codes) != len(corners):
            raise TutelageError(
                f"level {level} of the proof has {len(codes)} codes for {len(corners)} boxes: it is damaged"
            )
        covers &= bool((codes <= 5).all()) and _set_aside(corners, codes, level, proof.margin)
        for i in (1, 2, 3):
            claimed = corners[codes == i]
            for k in range(0, len(claimed), CHUNK):
                some = claimed[k : k + CHUNK]
                good = tables.negative(some, level, i - 1)
                proved, rejected = proved + int(good.sum()), rejected + int((~good).sum())
        done += len(codes)
        on_progress(done / total)
        split = corners[codes == 0] * 2
        corners = np.concatenate([split + np.array([a, b, c]) for a in (0, 1) for b in (0, 1) for c in (0, 1)])
        order = np.arange(len(corners)).reshape(8, -1).T.ravel()  # a parent's children one after the other
        corners = corners[order]
    return BoxCheck(proved, rejected, covers and len(corners) == 0)


def _set_aside(corners: np.ndarray, codes: np.ndarray, level: int, margin: int) -> bool:
    """Whether boxes called excluded (4) or outside (5) are so, in exact whole numbers."""
    circle = 2**level
    for (p, q, r), code in zip(corners[codes >= 4].tolist(), codes[codes >= 4].tolist(), strict=True):
        widest = (p + 1, q + 1 - p, r + 1 - q, circle - r)  # the most by which neighbours can be apart
        if code == 4 and not any(gap * 2**margin <= circle for gap in widest):
            return False
        if code == 5 and not (p >= q + 1 or q >= r + 1 or 2 * q >= circle):
            return False
    return True


class Tables:
    """f and f' at multiples of half the finest box from 0 to 2 pi, in whole multiples of 2^-60, rounded both ways."""

    def __init__(self, finest: int) -> None:
        self.half = 1 << finest  # steps from 0 to pi
        iv = mpmath.iv.__class__()
        iv.dps = 40
        value, slope = [], []
        for k in range(self.half + 1):
            t = iv.pi * k / self.half
            value.append(_whole(iv.sin(t) + (iv.pi - t) * iv.cos(t)))
            slope.append(_whole((t - iv.pi) * iv.sin(t)))
        self.value = _both(value + value[-2::-1])
        self.slope = _both(slope + [(-high, -low) for low, high in slope[-2::-1]])
        self.pi, self.step = _whole(iv.pi * 1), _whole(iv.pi / self.half)
        lowest = min(range(self.half + 1), key=lambda k: slope[k][0])
        self.turning = (lowest - 1, lowest + 1)
        self.least = slope[lowest][0] - (3 * self.step[1] ** 2 >> BITS) - 1

    def negative(self, corners: np.ndarray, level: int, i: int) -> np.ndarray:
        """Whether det M_i is negative all over boxes: bool [B]."""
        unit = self.half >> level
        low, high = corners * 2 * unit, (corners + 1) * 2 * unit
        middle = (low + high) // 2
        zero = np.zeros((len(corners), 1), np.int64)
        low, middle, high = (np.concatenate([zero, a], axis=1) for a in (low, middle, high))
        pi = tuple(np.full(len(corners), p, dtype=object) for p in self.pi)
        columns = [j if j != i + 1 else 0 for j in (1, 2, 3)]
        centre, around, moves = {}, {}, {}
        for p in (1, 2, 3):
            for q in (0, 1, 2, 3):
                a, b = max(p, q), min(p, q)
                at = middle[:, a] - middle[:, b]
                start, end = np.maximum(low[:, a] - high[:, b], 0), high[:, a] - low[:, b]
                centre[p, q] = pi if p == q else (self.value[0][at], self.value[1][at])
                around[p, q] = pi if p == q else self.values(start, end)
                moves[p, q] = None if p == q else self.slopes(start, end)
        # Fixed point throughout: a number x is the integer x 2^60, rounded downwards and upwards apart, and products
        # keep all their bits. Nothing is rounded after the tables.
        upper = _determinant([[centre[p, q] for q in columns] for p in (1, 2, 3)])[1] << BITS
        cofactors = _cofactors([[around[p, q] for q in columns] for p in (1, 2, 3)])
        # in multiples of 2^-240: a determinant has 3 factors, a derivative 2 and f' and the half-width
        shared: dict[tuple[int, int], Any] = {}
        for row, p in enumerate((1, 2, 3)):
            for column, q in enumerate(columns):
                if p != q:  # both places of a distance move alike
                    pair = (max(p, q), min(p, q))
                    shared[pair] = _plus(shared.get(pair, (0, 0)), cofactors[row][column])
        terms = {pair: _times(total, moves[pair]) for pair, total in shared.items()}
        for unit_moved in (1, 2, 3):
            total = (0, 0)
            for (grows, falls), term in terms.items():
                if unit_moved == grows:
                    total = _plus(total, term)
                elif unit_moved == falls:
                    total = _minus(total, term)
            upper = upper + np.maximum(abs(total[0]), abs(total[1])) * (self.step[1] * unit)
        return (upper < 0).astype(bool)

    def values(self, start: np.ndarray, end: np.ndarray) -> Pair:
        """f falls from 0 to pi and rises to 2 pi: its range between two places."""
        lowest = np.where((start <= self.half) & (self.half <= end), self.half, start)
        least = np.minimum(self.value[0][lowest], np.minimum(self.value[0][start], self.value[0][end]))
        return least, np.maximum(self.value[1][start], self.value[1][end])

    def slopes(self, start: np.ndarray, end: np.ndarray) -> Pair:
        """f' between two places: its ends, and its extremes near the turning point and near its mirror image."""
        least = np.minimum(self.slope[0][start], self.slope[0][end])
        most = np.maximum(self.slope[1][start], self.slope[1][end])
        near, far = self.turning
        least = np.where((start <= far) & (end >= near), np.minimum(least, self.least), least)
        mirrored = (start <= 2 * self.half - near) & (end >= 2 * self.half - far)
        return least, np.where(mirrored, np.maximum(most, -self.least), most)


def _plus(x, y):
    return x[0] + y[0], x[1] + y[1]


def _minus(x, y):
    return x[0] - y[1], x[1] - y[0]


def _times(x, y):
    a, b, c, d = x[0] * y[0], x[0] * y[1], x[1] * y[0], x[1] * y[1]
    return np.minimum(np.minimum(a, b), np.minimum(c, d)), np.maximum(np.maximum(a, b), np.maximum(c, d))


@functools.lru_cache(maxsize=1)
def _tables(finest: int) -> Tables:
    return Tables(finest)


def _whole(x) -> tuple[int, int]:
    """An interval of mpmath's in whole multiples of 2^-60, outwards."""
    scaled = x * 2**BITS
    return int(mpmath.floor(mpmath.mpf(scaled.a))), int(mpmath.ceil(mpmath.mpf(scaled.b)))


def _both(pairs: list[tuple[int, int]]) -> Pair:
    return np.array([p[0] for p in pairs], dtype=object), np.array([p[1] for p in pairs], dtype=object)


def _minor(rows, r: int, c: int):
    (a, b), (d, e) = ([row[j] for j in range(3) if j != c] for k, row in enumerate(rows) if k != r)
    return _minus(_times(a, e), _times(b, d))


def _cofactors(rows):
    out = [[_minor(rows, r, c) for c in range(3)] for r in range(3)]
    return [[x if (r + c) % 2 == 0 else (-x[1], -x[0]) for c, x in enumerate(row)] for r, row in enumerate(out)]


def _determinant(rows):
    (a, b, c), (d, e, f), (g, h, i) = rows
    plus = _plus(_times(a, _times(e, i)), _plus(_times(b, _times(f, g)), _times(c, _times(d, h))))
    minus = _plus(_times(c, _times(e, g)), _plus(_times(b, _times(d, i)), _times(a, _times(f, h))))
    return _minus(plus, minus)
