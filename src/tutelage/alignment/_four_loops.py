"""The compiled loop behind :mod:`.four_proof`: upper bounds of det M_2 and det M_3 on boxes of four angles.

Sums and products are plain float64. Entries are at most pi and there are fewer than 10,000 operations, none with a
result above 10,000, so all rounding together stays below 1e-7.
"""

import numpy as np
from numba import njit

from tutelage.compiling import OPTIONS, compiled


@njit(**OPTIONS)
def _times(a, b, c, d):
    p, q, r, s = a * c, a * d, b * c, b * d
    return min(min(p, q), min(r, s)), max(max(p, q), max(r, s))


@njit(**OPTIONS)
def _value_range(value, start, end, half):
    low = value[half] if start <= half <= end else min(value[start], value[end])
    return low, max(value[start], value[end])


@njit(**OPTIONS)
def _slope_range(slope, start, end, half, turn, least):
    """turn: the last position before f' turns; it turns back as far behind pi."""
    low, high = min(slope[start], slope[end]), max(slope[start], slope[end])
    if start <= turn + 1 and end >= turn:
        low = least
    if start <= 2 * half - turn and end >= 2 * half - turn - 1:
        high = -least
    return low, high


@njit(**OPTIONS)
def _minors(lo, hi, first, second, out):
    """Determinants of two rows and every pair of columns: out [4, 4, 2]."""
    for c in range(4):
        for d in range(c + 1, 4):
            p = _times(lo[first, c], hi[first, c], lo[second, d], hi[second, d])
            q = _times(lo[first, d], hi[first, d], lo[second, c], hi[second, c])
            out[c, d, 0], out[c, d, 1] = p[0] - q[1], p[1] - q[0]


@njit(**OPTIONS)
def _cofactor(lo, hi, row, minors, column):
    """Along one more row: the sign of the place is left to the caller."""
    low, high, sign = 0.0, 0.0, 1.0
    for k in range(4):
        if k == column:
            continue
        c, d = -1, -1
        for j in range(4):
            if j not in (column, k):
                c, d = (j, d) if c < 0 else (c, j)
        p = _times(lo[row, k], hi[row, k], minors[c, d, 0], minors[c, d, 1])
        if sign > 0:
            low, high = low + p[0], high + p[1]
        else:
            low, high = low - p[1], high - p[0]
        sign = -sign
    return low, high


@njit(**OPTIONS)
def _distances(corner, half, places):
    """Middle, start and end of every distance between two of five units: places [5, 5, 3], the later unit first."""
    for i in range(1, 5):
        for j in range(i):
            a, b = 2 * corner[i - 1], 2 * corner[j - 1] if j else 0
            both = 1 if j else 0  # the teacher does not move
            places[i, j, 0], places[i, j, 1] = max(a + 1 - b - both, 0), max(a - b - 2 * both, 0)
            places[i, j, 2] = min(a + 2 - b, 2 * half)


@njit(**OPTIONS)
def _entries(places, replaced, value, half, at, lo, hi):
    """M with a column replaced, at the middle and as intervals: at, lo, hi [4, 4]."""
    for r in range(1, 5):
        for c in range(1, 5):
            other = 0 if c == replaced else c
            i, j = max(r, other), min(r, other)
            if i == j:
                lo[r - 1, c - 1] = hi[r - 1, c - 1] = at[r - 1, c - 1] = np.pi
            else:
                at[r - 1, c - 1] = value[places[i, j, 0]]
                found = _value_range(value, places[i, j, 1], places[i, j, 2], half)
                lo[r - 1, c - 1], hi[r - 1, c - 1] = found


@njit(**OPTIONS)
def _shared_cofactors(lo, hi, replaced, minors, total):
    """Derivatives of the determinant by distances, both places of one together: total [5, 5, 2]."""
    total[:] = 0
    _minors(lo, hi, 0, 1, minors[0])
    _minors(lo, hi, 2, 3, minors[1])
    for r in range(1, 5):
        for c in range(1, 5):
            other = 0 if c == replaced else c
            if r == other:
                continue
            found = _cofactor(lo, hi, (1, 0, 3, 2)[r - 1], minors[1] if r <= 2 else minors[0], c - 1)
            i, j = max(r, other), min(r, other)
            if (r + c) % 2 == 0:
                total[i, j, 0] += found[0]
                total[i, j, 1] += found[1]
            else:
                total[i, j, 0] -= found[1]
                total[i, j, 1] -= found[0]


@compiled
def uppers(corners, half, value, slope, turn, least, step, out):
    """corners [B, 4] in boxes of two positions each; value, slope [2 half + 1]; step: radians; out [B, 2]."""
    places, change = np.empty((5, 5, 3), np.int64), np.empty((5, 2))
    at, lo, hi = np.empty((4, 4)), np.empty((4, 4)), np.empty((4, 4))
    minors, total = np.empty((2, 4, 4, 2)), np.empty((5, 5, 2))
    for box in range(len(corners)):
        _distances(corners[box], half, places)
        for which in range(2):
            _entries(places, which + 2, value, half, at, lo, hi)
            _minors(at, at, 2, 3, minors[1])
            whole = 0.0
            for c in range(4):
                whole += (1 if c % 2 == 0 else -1) * at[0, c] * _cofactor(at, at, 1, minors[1], c)[0]
            _shared_cofactors(lo, hi, which + 2, minors, total)
            change[:] = 0
            for i in range(1, 5):
                for j in range(i):
                    rise = _slope_range(slope, places[i, j, 1], places[i, j, 2], half, turn, least)
                    moved = _times(total[i, j, 0], total[i, j, 1], rise[0], rise[1])
                    change[i, 0] += moved[0]
                    change[i, 1] += moved[1]
                    change[j, 0] -= moved[1]
                    change[j, 1] -= moved[0]
            for k in range(1, 5):
                whole += step * max(abs(change[k, 0]), abs(change[k, 1]))
            out[box, which] = whole
