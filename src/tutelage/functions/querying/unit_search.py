"""The units of the next layer: fold points gathered into folds, each with the coefficients of its unit."""

from dataclasses import dataclass

import numpy as np

from tutelage.functions.querying._stream import QueryDraws
from tutelage.functions.querying.fold_equations import (
    Known,
    crossings,
    equations,
    explained,
    local,
    null_space,
    singular,
)
from tutelage.functions.querying.fold_points import FoldPoints
from tutelage.functions.querying.fold_walk import follow, gather
from tutelage.functions.querying.oracle import Oracle

_ROUNDS = 20  # times a fold is followed further before it is given up
_MISSES = 0.05  # share of a fold that may be invisible where it should be seen
_COMPARED = 400  # fold points a partly known unit is compared with
_BEST = 200  # fold points that fix the coefficients of a unit in the end


@dataclass(frozen=True)
class UnitSearchSetting:
    """What the search needs to know: the box, its size, and how exact normals are."""

    low: np.ndarray
    high: np.ndarray
    size: float
    tolerance: float

    @property
    def near(self) -> float:
        """How near a fold a point must be, as a share of the size, and how well its normal must fit."""
        return min(100 * self.tolerance, 5e-3)


def find_units(
    oracle: Oracle,
    known: Known,
    folds: FoldPoints,
    setting: UnitSearchSetting,
    draw: QueryDraws,
    attempts: int,
    partly: bool = False,
) -> tuple[np.ndarray, FoldPoints]:
    """Coefficients [K, m] of the units found over the features of the known layers, and the fold points left over.

    attempts: starting points in a row without a new unit before the search ends; partly: take also units whose fold
    leaves some coefficients open, with the shortest coefficients.
    """
    found: list[np.ndarray] = []
    free = np.ones(len(folds), bool)
    barren = 0
    tried = np.zeros(len(folds), bool)
    while barren < attempts and (free & ~tried).any() and not oracle.deadline.passed:
        waiting = np.flatnonzero(free & ~tried)
        start = int(waiting[draw.index(len(waiting))])
        tried[start] = True
        theta = _unit(oracle, known, folds[np.flatnonzero(free)], folds[np.array([start])], setting, draw, partly)
        mine = None if theta is None else _accepted(oracle, known, folds, theta, setting)
        if theta is None or mine is None:
            barren += 1
            continue
        theta = _sharpened(known, folds[mine], theta, setting)
        found.append(theta)
        free &= ~mine
        barren = 0
    m = local(known, setting.low[None]).features.shape[1]
    return np.array(found).reshape(len(found), m), folds_left(folds, free)


def folds_left(folds: FoldPoints, free: np.ndarray) -> FoldPoints:
    """The chosen points together with all knots."""
    some = folds[np.flatnonzero(free)]
    return FoldPoints(
        some.points, some.normals, some.error, some.below, some.above, folds.knots, folds.knot_line, folds.knot_values
    )


def _unit(
    oracle: Oracle,
    known: Known,
    pool: FoldPoints,
    group: FoldPoints,
    setting: UnitSearchSetting,
    draw: QueryDraws,
    partly: bool,
) -> np.ndarray | None:
    """Coefficients of the unit whose fold passes through the first point of a group, or None if they stay open."""
    some = pool[draw.permutation(len(pool))[:_COMPARED]]
    others, forms = equations(known, some, setting.size), _forms(known, some, setting.size)
    crossed: set[int] = set()
    stuck = 0
    for _ in range(_ROUNDS):
        rows = equations(known, group, setting.size)
        basis = null_space(rows.reshape(-1, rows.shape[2]), setting.tolerance)
        if basis.shape[1] == 0:
            return None
        if basis.shape[1] == 1:
            return basis[:, 0]
        alike = _consistent(basis, others, forms, setting.tolerance)
        if alike.any():
            group = gather(group, some[np.flatnonzero(alike)[:12]])
            left = ~alike
            some, others, forms = some[np.flatnonzero(left)], others[left], forms[left]
            continue
        more, units = follow(oracle, known, group, crossed, setting.low, setting.high, setting.tolerance, draw)
        stuck = 0 if len(more) else stuck + 1
        if stuck == 3:
            break
        crossed |= units
        group = gather(group, more)
    return _simplest(known, group[np.array([0])], basis, setting) if partly else None


def _simplest(known: Known, start: FoldPoints, basis: np.ndarray, setting: UnitSearchSetting) -> np.ndarray:
    """Of the units in a subspace of coefficients, the shortest whose form at the first point is the one seen there.

    Units below that are inactive all along the fold get weight 0: what they add shows in values, not in folds.
    """
    forms = _forms(known, start, setting.size)[0] @ basis
    n = start.normals[0]
    seen = np.r_[0.0, n]
    return basis @ np.linalg.lstsq(forms, seen, rcond=1e-9)[0]


def _consistent(basis: np.ndarray, others: np.ndarray, forms: np.ndarray, tolerance: float) -> np.ndarray:
    """Which fold points lie on the fold of a unit known up to a subspace of coefficients: bool [P].

    others: equations [P, d + 1, m]; forms: value and gradient of every feature [P, d + 1, m]. Of the affine forms that
    the subspace takes at a point, rank g, one has its fold there if the equations have rank g - 1. Where every form
    can be taken, or g > d, that is so for the fold of any unit, and nothing is told.
    """
    if not len(others):
        return np.zeros(0, bool)
    size = 10 * tolerance * np.linalg.norm(forms, axis=(1, 2))[:, None]
    every, taken, left = (
        (np.linalg.svd(a, compute_uv=False) > size).sum(1) for a in (forms, forms @ basis, others @ basis)
    )
    return (taken < others.shape[1]) & (taken < every) & (left == taken - 1)


def _forms(known: Known, folds: FoldPoints, size: float) -> np.ndarray:
    """Value and gradient of every feature at fold points: [P, d + 1, m]."""
    here = local(known, folds.points)
    return np.concatenate([here.features[:, None] / size, here.slopes.transpose(0, 2, 1)], axis=1)


def _accepted(
    oracle: Oracle, known: Known, folds: FoldPoints, theta: np.ndarray, setting: UnitSearchSetting
) -> np.ndarray | None:
    """The fold points of a unit, or None where its fold is not there all along, as a deeper unit's is not."""
    mine = explained(known, folds, theta, setting.size, setting.near)
    hits, misses = crossings(known, folds, theta, setting.size, setting.near, 100 * oracle.rounding)
    enough = mine.sum() >= 3 and misses <= _MISSES * (hits + misses)
    return mine if enough else None


def _sharpened(known: Known, mine: FoldPoints, theta: np.ndarray, setting: UnitSearchSetting) -> np.ndarray:
    """The coefficients that meet the equations of the most exact fold points of a unit best."""
    best = mine[np.argsort(mine.error)[:_BEST]]
    rows = equations(known, best, setting.size)
    sizes = np.linalg.norm(np.einsum("pmd,m->pd", local(known, best.points).slopes, theta), axis=1)
    rows = rows / np.maximum(sizes, 1e-9)[:, None, None]
    s, v = singular(rows.reshape(-1, rows.shape[2]))
    rank = min(int((s > setting.tolerance * s[0]).sum()), len(theta) - 1)
    return v[rank:].T @ (v[rank:] @ theta)  # what these points leave open stays as it was
