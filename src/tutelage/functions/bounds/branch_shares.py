r"""Branch and bound on what units hand on of the difference of two nearly equal networks.

In :mod:`.carried` a unit that may bend hands on z d, with :math:`\ell \le z \le 1`, and lines stand for all z at once.
But d of the outputs is affine in the z of any one unit, all others being what they are: it is largest where that z is
:math:`\ell` or 1. So the larger of two bounds, with :math:`z = \ell` and with z = 1 at one unit, holds for every z, and
where z is a number no line is needed. Which z an input gives is left open: the lines hold for any
(``any_share`` of :func:`.carried.put_in`), so that all parts use the same, and a part is a row of numbers that is
substituted backwards beside hundreds of others.

Cut is the unit whose line adds the most; where no line adds anything there is nothing left to cut.
"""

import numpy as np

from tutelage.deadline import NEVER, Deadline
from tutelage.functions.bounds.carried import DifferenceLines, Substitution, upper

_AT_ONCE = 256  # parts that are cut in one step
_KEPT = 1 << 28  # bytes of shares that may wait, one per part and unit
_LEAST, _ONE, _OPEN = 0, 1, -1  # the share of a unit: that below its kink, 1, or any


def bounded_by_shares(
    put: Substitution, known: np.ndarray, limits: np.ndarray, deadline: Deadline = NEVER
) -> np.ndarray:
    """Bounds [C] on the differences of the outputs, known ones made smaller where they exceed their limits.

    put: for any shares. The largest excess comes first, and it ends with the first output whose bound does not get
    below its limit.
    """
    bounds = known.copy()
    open_ = np.flatnonzero((known > limits) & (limits < np.inf))
    for output in open_[np.argsort((limits - known)[open_])]:
        sides = [_largest(put, output, sign, limits[output], deadline) for sign in (1.0, -1.0)]
        bounds[output] = min(bounds[output], max(0.0, *sides))
        if bounds[output] > limits[output]:
            break
    return bounds


def _largest(put: Substitution, output: int, sign: float, limit: float, deadline: Deadline) -> float:
    """A bound on one output with a sign: at most the limit, or the best bound so far."""
    row = np.zeros(len(put.known[0]))
    row[output] = sign
    count = sum(len(lines.straight) for lines in put.lines)
    waiting = np.full((1, count), _OPEN, np.int8)
    bounds, units = _bounds(put, row, waiting)
    closed = -np.inf
    # Invariant: the parts that wait and those whose bounds went into `closed` hold every choice of shares.
    while len(waiting) and bounds.max() > limit and not deadline.passed and waiting.size < _KEPT:
        order = np.argsort(-bounds)
        waiting, bounds, units = waiting[order], bounds[order], units[order]
        some, at = waiting[:_AT_ONCE], units[:_AT_ONCE]
        if (at < 0).any():  # nothing to cut: no bound will get below this one
            break
        halves = np.repeat(some[None], 2, 0)
        halves[0, np.arange(len(some)), at] = _LEAST
        halves[1, np.arange(len(some)), at] = _ONE
        new = halves.reshape(-1, count)
        found, where = _bounds(put, row, new)
        found = np.minimum(found, np.tile(bounds[:_AT_ONCE], 2))  # a part is never worse than what it was cut from
        waiting = np.concatenate([waiting[_AT_ONCE:], new])
        bounds, units = np.concatenate([bounds[_AT_ONCE:], found]), np.concatenate([units[_AT_ONCE:], where])
        done = bounds <= limit
        closed = max(closed, bounds[done].max(initial=-np.inf))
        waiting, bounds, units = waiting[~done], bounds[~done], units[~done]
    return float(max(closed, bounds.max(initial=-np.inf)))


def _bounds(put: Substitution, row: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bounds [K] of a row at shares [K, n], and the units to cut next, -1 where no line adds anything."""
    lines, start = [], 0
    for layer, each in zip(put.layers, put.lines, strict=False):
        given = shares[:, start : start + len(each.straight)]
        start += given.shape[1]
        share, free = np.where(given == _ONE, 1.0, layer.left_f), given == _OPEN
        above, below = (
            (np.where(free, slope, share), np.where(free, offset, 0.0)) for slope, offset in (each.above, each.below)
        )
        lines.append(DifferenceLines(above, below, each.size_d, each.size_a, each.straight))
    bounds, offsets = upper(put.layers, put.moved, lines, np.repeat(row[None], len(shares), 0), NEVER)
    added = np.concatenate(offsets, 1) if offsets else np.zeros((len(shares), 0))
    # Lines of units that do not bend add nothing, nor those of units whose share is given; what others add at least is
    # the room for their rounding, which is far below a millionth of the bound.
    at = added.argmax(1) if added.shape[1] else np.zeros(len(shares), np.int64)
    worth = added.max(1, initial=0.0) > 1e-6 * np.abs(bounds)
    return bounds, np.where(worth, at, -1)
