"""Following a fold across the folds of the layers below, where it bends.

Across the fold of a known unit with gradient w, the normal n of a deeper fold turns into one of the plane of n and w,
and the two parts meet on the known fold. A fold that is found there belongs to the same unit.
"""

import numpy as np

from tutelage.functions.querying._stream import QueryDraws
from tutelage.functions.querying.fold_equations import Known, Local, local
from tutelage.functions.querying.fold_points import FoldPoints, join, on_lines
from tutelage.functions.querying.oracle import Oracle

_TRIES = 48  # directions drawn at every point
_REACH = 20.0  # how far to look for the fold beyond a bend, in steps beyond it


def follow(
    oracle: Oracle,
    known: Known,
    folds: FoldPoints,
    crossed: set[int],
    low: np.ndarray,
    high: np.ndarray,
    tolerance: float,
    draw: QueryDraws,
) -> tuple[FoldPoints, set[int]]:
    """Points of the same fold beyond known folds not crossed so far, and the known units whose folds were crossed."""
    here = local(known, folds.points)
    origin, direction, unit, first, beyond = _plan(here, folds, crossed, low, high, draw)
    if not len(origin):
        return folds[np.zeros(0, dtype=int)], set()
    x, n = folds.points[origin], folds.normals[origin]
    at = x + (first + beyond)[:, None] * direction
    reach = np.minimum(_REACH * beyond, _room(at, n, low, high))
    found = on_lines(oracle, at - reach[:, None] * n, 2 * reach[:, None] * n)
    if not len(found):
        return found[np.zeros(0, int)], set()
    # which line each fold point came from: the nearest, since the lines have no points in common
    away = found.points[:, None] - at
    line = (np.linalg.norm(away - (away * n).sum(-1)[..., None] * n, axis=-1)).argmin(1)
    w = here.unit_slopes[origin, unit][line]
    meeting = x[line] + first[line][:, None] * direction[line]
    offset = np.abs((found.normals * (found.points - meeting)).sum(1)) / beyond[line]
    outside = _outside(found.normals, n[line], w)
    there = local(known, found.points)
    signs = np.sign(there.units) == np.sign(local(known, at[line]).units)
    steep = np.maximum(np.linalg.norm(there.unit_slopes, axis=2), 1e-300)
    own = (np.abs(there.units) / steep < 1e-3 * beyond[line][:, None]).any(1)  # the known fold itself
    room = tolerance + 10 * found.error + 10 * folds.error[origin][line]
    good = (offset < room * _REACH) & (outside < room) & signs.all(1) & ~own
    return found[good], set(unit[line[good]].tolist())


def _plan(here: Local, folds: FoldPoints, crossed: set[int], low: np.ndarray, high: np.ndarray, draw: QueryDraws):
    """For every known unit not crossed so far the best point and direction to cross its fold first, with most room:
    origin int [B], direction [B, d], unit int [B], distance to the fold [B], step to take beyond it [B].
    """
    p, d = folds.points.shape
    move = draw.normals(p, _TRIES, d)
    move -= (move * folds.normals[:, None]).sum(-1, keepdims=True) * folds.normals[:, None]
    move /= np.maximum(np.linalg.norm(move, axis=-1, keepdims=True), 1e-300)
    rate = np.einsum("ptd,pkd->ptk", move, here.unit_slopes)
    with np.errstate(divide="ignore", invalid="ignore"):
        time = -here.units[:, None] / rate
        ends = np.where(move > 0, (high - folds.points[:, None]) / move, (low - folds.points[:, None]) / move)
    time = np.where((time > 0) & np.isfinite(time), time, np.inf)
    wall = np.where(np.isfinite(ends), ends, np.inf).min(-1)
    if time.shape[2] == 0:
        return (np.zeros(0, int),) * 5
    unit = time.argmin(2)
    first = np.take_along_axis(time, unit[..., None], 2)[..., 0]
    np.put_along_axis(time, unit[..., None], np.inf, 2)
    gap = np.minimum(time.min(2), wall) - first
    gap = np.where((first < wall) & (gap > 0), gap, 0.0)
    chosen = []
    for k in set(unit.ravel().tolist()) - crossed:  # one crossing a known unit
        best = int(np.where(unit == k, gap, 0.0).argmax())
        if gap.ravel()[best] > 1e-6 and unit.ravel()[best] == k:
            chosen.append(best)
    origin, at = np.divmod(np.array(chosen, dtype=int), _TRIES)
    return origin, move[origin, at], unit[origin, at], first[origin, at], 0.3 * np.minimum(gap[origin, at], 1.0)


def _room(at: np.ndarray, n: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """How far one can go from a point along n and against it without leaving the box: [B]."""
    with np.errstate(divide="ignore"):
        return (np.minimum(high - at, at - low) / np.abs(n)).min(1)


def _outside(normal: np.ndarray, n: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Length of the part of each normal that lies outside the plane of n and w: [B]."""
    second = w - (w * n).sum(1)[:, None] * n
    second /= np.maximum(np.linalg.norm(second, axis=1), 1e-300)[:, None]
    inside = (normal * n).sum(1)[:, None] * n + (normal * second).sum(1)[:, None] * second
    return np.linalg.norm(normal - inside, axis=1)


def gather(first: FoldPoints, second: FoldPoints) -> FoldPoints:
    """Fold points of one unit together."""
    return join(first[np.arange(len(first))], second[np.arange(len(second))])
