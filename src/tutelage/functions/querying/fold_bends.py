"""Which bends lie on the fold of a guess at a unit, whether they are enough, and the guess fitted to them.

A bend belongs to a fold within a distance that is read off the bends themselves: those of the fold crowd near it, those
of other folds are spread evenly. A unit of this layer has bends wherever its fold crosses a line.
"""

import numpy as np

from tutelage.functions.querying.confirming import UnitSearchSetting, fixed
from tutelage.functions.querying.known import Known, slopes
from tutelage.functions.querying.lines import Lines

LEAST = 3
"""Bends that a fold must explain."""
_DOUBTS, _DOUBTFUL = 4, 0.25  # bends missed, and share of all, at which following a fold further is a waste
_MISSES = 0.005  # share of a fold that may be missed where it should be seen
_VISIBLE = 100  # errors of its bends that a fold must be away from other folds to be seen on a line in spite of noise
_MISSES_IN_NOISE = 0.5  # the same where noise hides bends that are small or near others
_SHARPENED = 4  # times that a fold is fitted to its bends, which are told better each time
_MANY = 10  # bends beside which one that is missed does not count
_FLAT = 1e-6  # slope, as a share of |theta|, where a fold has no place: distances to it are not told there
_RING = 3  # widths of a fold's surroundings in which the density of other bends is read off
_ERRORS = 2  # errors of a bend by which it may be beside its fold
_USUAL = 0.5  # share of its bound that the error of a normal usually has: wrong starts of the regression cost a unit
_OUTLIERS = 8  # distances of a fold's bends, or scales, beyond which a bend is another fold's
_TOLD = 1e-4  # singular values below leave the coefficients as they were: bends do not tell them
_ON = 1e-2  # share of nearness at which a bend counts for a unit known in part
NEAREST = 1e-5
"""How near a fold its bends lie at best, as a share of the size of the box."""


def _distances(known: Known, lines: Lines, phi: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """How far the knots are from the fold of a unit, to first order, beyond what their own error explains: [K]."""
    steep = np.linalg.norm(slopes(known, theta, lines.points), axis=1)
    steep = np.maximum(steep, max(_FLAT * float(np.linalg.norm(theta)), 1e-300))
    return np.maximum(np.abs(phi @ theta) / steep - _ERRORS * lines.error, 0.0)


def reach_of(distances: np.ndarray, setting: UnitSearchSetting) -> float:
    """How far from a fold its bends lie, from the distances of all bends.

    Noise leaves open how exact a fold is: its own bends crowd near it, those of others are spread evenly, with a
    density that is read off a little farther out. The distance at which the crowd stands out most is taken.
    """
    most = setting.near * setting.size
    # Halves from the loosest to the tightest distance: the crowd stands out most where the width is that of its errors.
    trials = most * 0.5 ** np.arange(max(1, 1 + int(np.log2(setting.near / NEAREST))))
    count = np.atleast_1d(np.searchsorted(np.sort(distances), np.r_[trials, _RING * most]))
    others = (count[-1] - count[0]) / ((_RING - 1) * most) * trials
    return float(trials[((count[:-1] - others) / np.sqrt(1 + others)).argmax()])


def bends_of(known, lines: Lines, phi, theta, basis, setting: UnitSearchSetting) -> np.ndarray:
    """Which knots lie on the fold of a unit: bool [K]."""
    distances, candidates = _distances(known, lines, phi, theta), fixed(phi, basis) & lines.bend
    return (distances < reach_of(distances[candidates], setting)) & candidates


def accepted(oracle, known, lines: Lines, phi, theta, basis, setting: UnitSearchSetting) -> np.ndarray | None:
    """The knots of a unit, or None where its fold is not there all along, as a deeper unit's is not."""
    mine = bends_of(known, lines, phi, theta, basis, setting)
    pieces = lines.pieces(oracle.clear)
    value, sure = phi @ theta, fixed(phi, basis)
    distances = _distances(known, lines, phi, theta)
    clear = sure & (distances >= reach_of(distances[sure & lines.bend], setting))
    through = (value[pieces] * value[pieces + 1] < 0) & clear[pieces] & clear[pieces + 1]
    across: np.ndarray = pieces[np.flatnonzero(through)]
    share = np.abs(value[across]) / np.maximum(np.abs(value[across]) + np.abs(value[across + 1]), 1e-300)
    room = np.minimum(share, 1 - share) * np.linalg.norm(lines.points[across + 1] - lines.points[across], axis=1)
    visible = room > _VISIBLE * (np.median(lines.error[mine]) if mine.any() else 0.0)
    hits, misses = int(mine.sum()), int(visible.sum())
    # A unit known in part has fewer places where it must show: twice the bends make up for the tests it escapes.
    least = LEAST if len(basis) in (0, len(theta)) else 2 * LEAST
    # two bends between neighbouring values can go unnoticed along a line: one miss among many is no objection
    share = _MISSES if oracle.noise == 0 else _MISSES_IN_NOISE
    return mine if hits >= least and misses <= max(share * (hits + misses), hits >= _MANY) else None


def doubtful(lines: Lines, phi: np.ndarray, setting: UnitSearchSetting, theta: np.ndarray, basis: np.ndarray):
    """Which of P partly known units should have been met along the lines where they were not: bool [P]."""
    pieces = lines.pieces(0.0)
    out = np.zeros(len(theta), bool)
    for i, (unit, rows) in enumerate(zip(theta, basis, strict=True)):
        value, sure = phi @ unit, fixed(phi, rows[rows.any(1)])
        scale = setting.near * np.linalg.norm(phi, axis=1) * np.linalg.norm(unit)
        clear = sure & (np.abs(value) > scale)
        misses = ((value[pieces] * value[pieces + 1] < 0) & clear[pieces] & clear[pieces + 1]).sum()
        hits = (sure & lines.bend & (np.abs(value) < _ON * scale)).sum()
        out[i] = misses >= _DOUBTS and misses > _DOUBTFUL * (hits + misses)
    return out


def crowded(known: Known, lines: Lines, phi, theta, basis, setting: UnitSearchSetting, error: float) -> np.ndarray:
    """The coefficients moved to where the bends near the fold crowd, as far as the error of its normal allows.

    Robust regression: a bend d away weighs 1 / (1 + (d / s)^2)^2, s going from what the normal leaves open to what
    bends do (Geman and McClure 1987; Blake and Zisserman 1987), so that bends of others lose their weight step by step.
    """
    most, least = min(_USUAL * error, setting.near) * setting.size, NEAREST * setting.size
    some = fixed(phi, basis) & lines.bend
    points, inexact = lines.points[some], lines.error[some]
    # invariant: most bends within `scale` of the fold are its own; each step halves the density of others, and the fit
    # halves the distance of its own as long as this is more than their error
    for scale in most * 0.5 ** np.arange(max(0, int(np.log2(most / least)))):
        steep = np.maximum(np.linalg.norm(slopes(known, theta, points), axis=1), 1e-300)
        away = np.abs(phi[some] @ theta) / steep / (scale + _ERRORS * inexact)
        near = away < _OUTLIERS
        weight = 1 / (1 + away[near] ** 2) / steep[near] / (scale + inexact[near])
        theta = theta + _move(phi[some][near], theta, weight)
    return theta


def sharpened(known: Known, lines: Lines, phi: np.ndarray, theta: np.ndarray, basis, setting) -> np.ndarray:
    """The coefficients moved as little as possible so that the fold passes through its bends, of features phi [K, m].

    Bends much farther away than most belong to other folds that pass by.
    """
    for _ in range(_SHARPENED):
        mine = bends_of(known, lines, phi, theta, basis, setting)
        if not mine.any():
            break
        away = np.abs(phi[mine] @ theta)
        near = phi[mine][away <= _OUTLIERS * np.median(away)]
        trial = theta + _move(near, theta, np.ones(len(near)))
        if np.median(np.abs(phi[mine] @ trial)) >= np.median(away):
            break
        theta = trial
    return theta


def _move(phi: np.ndarray, theta: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The least change of theta, at a right angle to it, by which weight (phi . theta) becomes least: [m].

    Along theta itself the fold does not move, and zero would fit best.
    """
    # Features differ in size by orders of magnitude: columns are scaled to length 1, so that the least change is a
    # relative one.
    size = np.maximum(np.linalg.norm(phi, axis=0), max(1e-9 * float(np.linalg.norm(phi)), 1e-300))
    rows, along = phi * weight[:, None] / size, theta / size / max(np.linalg.norm(theta / size), 1e-300)
    rows -= (rows @ along)[:, None] * along
    return np.linalg.lstsq(rows, -(phi @ theta) * weight, rcond=_TOLD)[0] / size
