r"""Checks a proof of :mod:`.four_proof` anew: whole numbers instead of float64, mpmath instead of NumPy's sines.

f and f' at all multiples of half the finest box are those of :class:`.proof_checker.Tables`, rounded outwards to whole
multiples of :math:`2^{-12}`. Entries are then below 12,870, so a determinant of four rows, 24 products of four, stays
below :math:`7 \cdot 10^{17}`, its derivatives below :math:`8 \cdot 10^{17}`, and what they add to it on boxes of
side pi / 4 or less below :math:`2 \cdot 10^{18}`: all of it is exact in 64 bits. Determinants and cofactors
are expanded along rows. The checker walks the boxes from the whole hypercube itself, so it also sees that they
leave nothing out but what is called open.
"""

import itertools
from collections.abc import Callable

import numpy as np

from tutelage.alignment._distance_polynomials import _minus, _plus, _times
from tutelage.alignment.four_proof import FourProof
from tutelage.alignment.proof_checker import BITS, FINEST, BoxCheck, Pair, Tables, _tables
from tutelage.errors import TutelageError

COARSE = 12
LARGE = 3
CHUNK = 1 << 14


def check_four(proof: FourProof, on_progress: Callable[[float], None] = lambda share: None) -> BoxCheck:
    """Go through all boxes of a proof.

    >>> from tutelage.alignment.four_proof import prove_four
    >>> check_four(prove_four(4, 5)).valid
    True
    """
    if len(proof.levels) > FINEST + 1:
        raise TutelageError(
            f"the checker follows boxes down to level {FINEST}, and this proof has {len(proof.levels)} levels"
        )
    tables = _tables(FINEST)
    corners = np.zeros((1, 4), np.int32)
    proved = rejected = seen = 0
    covers, total = True, sum(len(codes) for codes in proof.levels)
    for level, codes in enumerate(proof.levels):
        if len(codes) != len(corners):
            raise TutelageError(
                f"level {level} of the proof has {len(codes)} codes for {len(corners)} boxes: it is damaged"
            )
        covers &= not bool(((codes == 1) | (codes > 6)).any())
        for k in range(0, len(codes), 1 << 20):  # a million at a time, for memory
            part = slice(k, k + (1 << 20))
            covers &= _set_aside(corners[part], codes[part], level, proof.margin)
        for i in (2, 3):
            own = corners[codes == i]
            for k in range(0, len(own), CHUNK):
                good = negative(tables, own[k : k + CHUNK], level, i)
                proved, rejected = proved + int(good.sum()), rejected + int((~good).sum())
        seen += len(codes)
        on_progress(seen / total)
        split = corners[codes == 0] * 2
        halves = [split + np.array(offset, np.int32) for offset in itertools.product((0, 1), repeat=4)]
        corners = np.stack(halves, axis=1).reshape(-1, 4)
    return BoxCheck(proved, rejected, covers and len(corners) == 0)


def _set_aside(corners: np.ndarray, codes: np.ndarray, level: int, margin: int) -> bool:
    """Whether boxes called excluded (4) or outside (5) are so, in exact whole numbers."""
    circle = 2**level
    ends = np.concatenate([0 * corners[:, :1], corners + 1, 0 * corners[:, :1] + circle], axis=1)
    starts = np.concatenate([0 * corners[:, :1], corners], axis=1)
    widest = ends[:, 1:] - starts  # the most by which neighbours can be apart
    near = (widest * 2**margin <= circle).any(1)
    beyond = (corners[:, :-1] >= corners[:, 1:] + 1).any(1) | (corners[:, 0] + corners[:, 3] >= circle)
    return bool(near[codes == 4].all() and beyond[codes == 5].all())


def negative(tables: Tables, corners: np.ndarray, level: int, i: int) -> np.ndarray:
    """Whether det M_i is negative all over boxes [B, 4]: bool [B]; never of a box too large for 64 bits."""
    if level < LARGE:
        return np.zeros(len(corners), np.bool_)
    unit, corners = tables.half >> level, corners.astype(np.int64)
    low, high = (np.concatenate([0 * c[:, :1], c * 2 * unit], axis=1) for c in (corners, corners + 1))
    middle = (low + high) // 2
    units = (1, 2, 3, 4)
    columns = [0 if q == i else q for q in units]
    centre, around, moves = {}, {}, {}
    pi = _coarse((np.array([tables.pi[0]], object), np.array([tables.pi[1]], object)))
    for p, q in {(max(p, q), min(p, q)) for p in units for q in columns if p != q}:
        at = np.maximum(middle[:, p] - middle[:, q], 0)
        start, end = np.maximum(low[:, p] - high[:, q], 0), high[:, p] - low[:, q]
        centre[p, q] = _coarse((tables.value[0][at], tables.value[1][at]))
        around[p, q], moves[p, q] = _coarse(tables.values(start, end)), _coarse(tables.slopes(start, end))

    def rows(held: dict) -> list[list[Pair]]:
        return [[pi if p == q else held[max(p, q), min(p, q)] for q in columns] for p in units]

    upper = _determinant(rows(centre))[1]
    ranges = rows(around)
    shared: dict[tuple[int, int], Pair] = {}
    for r, p in enumerate(units):
        for c, q in enumerate(columns):
            if p != q:  # both places of a distance move alike
                pair = (max(p, q), min(p, q))
                rest = [[row[k] for k in range(4) if k != c] for n, row in enumerate(ranges) if n != r]
                own = _determinant(rest, 0 if r < 2 else 2)
                own = own if (r + c) % 2 == 0 else (-own[1], -own[0])
                shared[pair] = _plus(shared[pair], own) if pair in shared else own
    terms = {pair: _times(total, moves[pair]) for pair, total in shared.items()}
    width = -(-tables.step[1] * unit >> BITS - COARSE)
    for moved in units:
        total: Pair = (np.zeros(1, np.int64), np.zeros(1, np.int64))
        for (grows, falls), term in terms.items():
            if moved in (grows, falls):
                total = _plus(total, term) if moved == grows else _minus(total, term)
        most = np.maximum(abs(total[0]), abs(total[1]))
        upper = upper + ((most >> COARSE) + 1) * width
    return upper < 0


def _coarse(x: Pair) -> Pair:
    """From multiples of 2^-60 to those of 2^-12, outwards."""
    shift = BITS - COARSE
    return (x[0] >> shift).astype(np.int64), (-(-x[1] >> shift)).astype(np.int64)


def _determinant(rows: list[list[Pair]], along: int = 0) -> Pair:
    """Expanded along one row after another: the first of what is left, but for the row it starts with."""
    if len(rows) == 1:
        return rows[0][0]
    total: Pair = (np.zeros(1, np.int64), np.zeros(1, np.int64))
    for c, entry in enumerate(rows[along]):
        rest = [[x for k, x in enumerate(row) if k != c] for r, row in enumerate(rows) if r != along]
        product = _times(entry, _determinant(rest))
        total = _plus(total, product) if (along + c) % 2 == 0 else _minus(total, product)
    return total
