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

from tutelage.alignment._distance_polynomials import _ENDS, _first, _minus, _plus, _second, _times
from tutelage.alignment.interval_proof import IntervalProof
from tutelage.errors import TutelageError

BITS = 60
FINEST = 13
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
    tables = _tables(max(FINEST, len(proof.levels) - 1))
    corners = np.zeros((1, 3), np.int64)
    proved = rejected = seen = 0
    covers, total = True, sum(len(codes) for codes in proof.levels)
    for level, codes in enumerate(proof.levels):
        if len(codes) != len(corners):
            raise TutelageError(
                f"level {level} of the proof has {len(codes)} codes for {len(corners)} boxes: it is damaged"
            )
        covers &= bool((codes <= 5).all()) and _set_aside(corners, codes, level, proof)
        for i in (1, 2, 3):
            own = corners[codes == i]
            for k in range(0, len(own), CHUNK):
                some = own[k : k + CHUNK]
                good = tables.confirmed(some, level, i, proof)
                proved, rejected = proved + int(good.sum()), rejected + int((~good).sum())
        seen += len(codes)
        on_progress(seen / total)
        split = corners[codes == 0] * 2
        corners = np.concatenate([split + np.array([a, b, c]) for a in (0, 1) for b in (0, 1) for c in (0, 1)])
        order = np.arange(len(corners)).reshape(8, -1).T.ravel()  # a parent's children one after the other
        corners = corners[order]
    return BoxCheck(proved, rejected, covers and len(corners) == 0)


def _set_aside(corners: np.ndarray, codes: np.ndarray, level: int, proof: IntervalProof) -> bool:
    """Whether boxes called excluded (4) or outside (5) are so, in exact whole numbers."""
    circle, small = 2**level, _SMALL[proof.edge if proof.edge else -1 if proof.slab else 0]
    for (p, q, r), code in zip(corners[codes >= 4].tolist(), codes[codes >= 4].tolist(), strict=True):
        widest = (p + 1, q + 1 - p, r + 1 - q, circle - r)  # the most by which neighbours can be apart
        if code == 4 and not any(widest[g] * 2**proof.margin <= circle for g in range(4) if g not in small):
            return False
        least = (p, q - p - 1, r - q - 1)
        beyond = any(least[g] * 2**proof.slab >= circle for g in small) if small else 2 * q >= circle
        if code == 5 and not (p >= q + 1 or q >= r + 1 or beyond):
            return False
    return True


_SMALL = {0: (), -1: (0,), 1: (0, 2), 2: (0, 1)}
"""Gaps that are to be small: for no slab, one, and the two kinds of edges."""
_CROSSED = {1: (1, 3, 1), 2: (0, 2, -1)}
"""Of an edge, the two units that move, and the sign with which gaps grow with both."""


class Tables:
    """f and f' at multiples of half the finest box from 0 to 2 pi, in whole multiples of 2^-60, rounded both ways."""

    def __init__(self, finest: int) -> None:
        self.half = 1 << finest  # steps from 0 to pi
        iv = mpmath.iv.__class__()
        iv.dps = 40
        value, slope, curve = [], [], []
        for k in range(self.half + 1):
            t = iv.pi * k / self.half
            value.append(_whole(iv.sin(t) + (iv.pi - t) * iv.cos(t)))
            slope.append(_whole((t - iv.pi) * iv.sin(t)))
            curve.append(_whole(iv.sin(t) - (iv.pi - t) * iv.cos(t)))
        self.value = _both(value + value[-2::-1])
        self.slope = _both(slope + [(-high, -low) for low, high in slope[-2::-1]])
        self.curve = _both(curve + curve[-2::-1])
        self.pi, self.step = _whole(iv.pi * 1), _whole(iv.pi / self.half)
        lowest = min(range(self.half + 1), key=lambda k: slope[k][0])
        self.turning = (lowest - 1, lowest + 1)
        self.least = slope[lowest][0] - (3 * self.step[1] ** 2 >> BITS) - 1
        highest = max(range(self.half + 1), key=lambda k: curve[k][1])
        self.bend = (highest - 1, highest + 1)
        self.most = curve[highest][1] + (4 * self.step[1] ** 2 >> BITS) + 1

    def confirmed(self, corners: np.ndarray, level: int, i: int, proof: IntervalProof) -> np.ndarray:
        """Whether boxes show what the proof says of them by det M_i, which is det M_2 near vanishing gaps: bool [B]."""
        if proof.slab and i != 2:
            return np.zeros(len(corners), np.bool_)
        if proof.edge:
            return self.crossing(corners, level, proof.edge)
        return self.falling(corners, level) if proof.slab else self.negative(corners, level, i - 1)

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

    def falling(self, corners: np.ndarray, level: int) -> np.ndarray:
        """Whether the derivative of det M_2 by theta_1 is negative all over boxes: bool [B]."""
        unit = self.half >> level
        low, high = (np.concatenate([0 * c[:, :1], c * 2 * unit], axis=1) for c in (corners, corners + 1))
        middle = (low + high) // 2
        centre: dict[str, Any] = {"p": self.pi}
        around: dict[str, Any] = {"p": self.pi}
        rises: dict[str, Any] = {}
        for name, (a, b) in _ENDS.items():
            at = middle[:, a] - middle[:, b]
            start, end = np.maximum(low[:, a] - high[:, b], 0), high[:, a] - low[:, b]
            centre[name], around[name] = (self.value[0][at], self.value[1][at]), self.values(start, end)
            rises[name] = ((self.slope[0][at], self.slope[1][at]), self.slopes(start, end), self.curves(start, end))
        upper = _first({n: r[0] for n, r in rises.items()}, centre)[1] << BITS
        for moved in (1, 2, 3):
            total = _second({n: r[1] for n, r in rises.items()}, {n: r[2] for n, r in rises.items()}, around, moved)
            upper = upper + np.maximum(abs(total[0]), abs(total[1])) * (self.step[1] * unit)
        return (upper < 0).astype(bool)

    def crossing(self, corners: np.ndarray, level: int, edge: int) -> np.ndarray:
        """Whether the derivative of det M_2 by both gaps of an edge is negative all over boxes: bool [B].

        Where theta_1 and theta_3 are opposite but for s, |s| <= r < 1/2, f, f' and f'' of b over s are in [0, r^2],
        [-r, r] and [2 - r^2, 2]: tan s > s, |sin s| <= |s|, and sin s / s + cos s >= 2 - (2/3) s^2.
        """
        unit = self.half >> level
        low, high = (np.concatenate([0 * c[:, :1], c * 2 * unit], axis=1) for c in (corners, corners + 1))
        values: dict[str, Any] = {"p": _both([self.pi])}
        slopes: dict[str, Any] = {}
        curves: dict[str, Any] = {}
        for name, (a, b) in _ENDS.items():
            start, end = np.maximum(low[:, a] - high[:, b], 0), high[:, a] - low[:, b]
            values[name], slopes[name] = self.values(start, end), self.slopes(start, end)
            curves[name] = self.curves(start, end)
        first, moved, sign = _CROSSED[edge]
        good = _second(slopes, curves, values, moved, first)[1 if sign > 0 else 0] * sign < 0
        if edge == 1:
            start, end = np.maximum(low[:, 3] - high[:, 1], 0), high[:, 3] - low[:, 1]
            far = np.maximum(abs(start - self.half), abs(end - self.half)).astype(object) * self.step[1]
            square = (far * far >> BITS) + 1
            thin = (0 * far, square), (-far, far), ((2 << BITS) - square, 0 * far + (2 << BITS))
            good |= (_second(slopes, curves, values, moved, first, thin)[1] < 0) & (2 * far < 1 << BITS)
        return good.astype(bool)

    def curves(self, start: np.ndarray, end: np.ndarray) -> Pair:
        """f'' rises from 0 to the root of its slope (s tan s = 2 with s = pi - theta), falls to pi, and is mirrored."""
        least = np.minimum(self.curve[0][start], self.curve[0][end])
        most = np.maximum(self.curve[1][start], self.curve[1][end])
        least = np.where((start <= self.half) & (end >= self.half), np.minimum(least, self.curve[0][self.half]), least)
        near, far = self.bend
        tops = [(near, far), (2 * self.half - far, 2 * self.half - near)]
        meets = np.logical_or.reduce([(start <= b) & (end >= a) for a, b in tops])
        return least, np.where(meets, np.maximum(most, self.most), most)

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
