"""The units of the next layer: bends along lines gathered into folds, each with the coefficients of its unit."""

from dataclasses import dataclass

import numpy as np

from tutelage.functions.querying._stream import QueryDraws
from tutelage.functions.querying.known import Known, features, slopes
from tutelage.functions.querying.lines import Lines
from tutelage.functions.querying.normals import with_normals
from tutelage.functions.querying.oracle import Oracle
from tutelage.functions.querying.tracing import trace

_MISSES = 0.05  # share of a fold that may be invisible where it should be seen
_LEAST = 3  # bends that a fold must explain
_FIXED = 1e-6  # share of a feature vector outside what is determined at which F is not known
_BATCH = 96  # starting points at most at a time


@dataclass(frozen=True)
class UnitSearchSetting:
    """What the search needs to know: the box, its size, and how exact normals are."""

    low: np.ndarray
    high: np.ndarray
    size: float
    tolerance: float

    @property
    def near(self) -> float:
        """How near a fold a point must be, as a share of the size."""
        return min(100 * self.tolerance, 5e-3)


@dataclass(frozen=True, eq=False)
class Units:
    """K units over m features: theta [K, m], the shortest coefficients that fit their folds, and per unit an
    orthonormal basis [r, m] of what the fold determines.
    """

    theta: np.ndarray
    bases: tuple[np.ndarray, ...]

    def __len__(self) -> int:
        return len(self.theta)

    def rewritten(self, matrix: np.ndarray) -> "Units":
        """The same units over new features, of which the old ones' coefficients are theta_old = matrix theta_new."""
        theta, bases = [], []
        for one, basis in zip(self.theta, self.bases, strict=True):
            rows = basis @ matrix
            u, s, v = np.linalg.svd(rows, full_matrices=False)
            rank = int((s > 1e-9 * s[0]).sum())
            theta.append(v[:rank].T @ ((u[:, :rank].T @ (basis @ one)) / s[:rank]))
            bases.append(v[:rank])
        return Units(np.array(theta).reshape(len(theta), matrix.shape[1]), tuple(bases))

    @property
    def determined(self) -> np.ndarray:
        """Which units have no open coefficient: bool [K]."""
        return np.array([len(b) == self.theta.shape[1] for b in self.bases], bool)


def find_units(
    oracle: Oracle,
    known: Known,
    lines: Lines,
    free: np.ndarray,
    setting: UnitSearchSetting,
    draw: QueryDraws,
    attempts: int,
    units: Units | None = None,
) -> tuple[Units, np.ndarray]:
    """Units over the features of the known layers, those already there first, and the knots left unexplained.

    free: which knots are bends that no known unit explains, bool [K]; attempts: starting points in a row without a new
    unit before the search ends.
    """
    phi = features(known, lines.points)
    found = [] if units is None else list(zip(units.theta, units.bases, strict=True))
    free = free.copy()
    for theta, basis in found:
        free &= ~_own(known, lines, phi, theta, basis, setting)
    tried = np.zeros(len(free), bool)
    barren = 0
    while barren < attempts and (free & ~tried).any():
        start = _next_line(lines, free & ~tried)
        tried[start] = True
        folds = with_normals(oracle, known, lines, start)
        if not len(folds):
            barren += len(start)
            continue
        traced = trace(oracle, known, folds, setting.low, setting.high, draw)
        barren += len(start)
        order = np.lexsort((folds.error, -traced.rank))
        for i in order[traced.sound[order]]:
            theta, basis = traced.theta[i], traced.basis[i][: traced.rank[i]]
            mine = _accepted(oracle, known, lines, phi, theta, basis, setting)
            if mine is None or (mine & free).sum() < max(1, 0.5 * (mine & lines.bend).sum()):
                continue
            theta = _sharpened(phi[mine], theta)
            found.append((theta, basis if len(basis) else np.eye(len(theta))))
            free &= ~_own(known, lines, phi, theta, basis, setting)
            barren = 0
    m = phi.shape[1]
    return Units(np.array([t for t, _ in found]).reshape(len(found), m), tuple(b for _, b in found)), free


def _next_line(lines: Lines, waiting: np.ndarray) -> np.ndarray:
    """The waiting knots of the line that has most of them: they belong to different folds, or nearly so."""
    knots = np.flatnonzero(waiting)
    count = np.bincount(lines.line[knots])
    return knots[lines.line[knots] == count.argmax()][:_BATCH]


def _fixed(phi: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """At which feature vectors [N, m] F is determined: bool [N]."""
    if len(basis) in (0, phi.shape[1]):
        return np.ones(len(phi), bool)
    rest = phi - (phi @ basis.T) @ basis
    return np.linalg.norm(rest, axis=1) <= _FIXED * np.linalg.norm(phi, axis=1)


def _own(known, lines: Lines, phi, theta, basis, setting: UnitSearchSetting) -> np.ndarray:
    """Which knots lie on the fold of a unit: bool [K]."""
    value = phi @ theta
    steep = np.maximum(np.linalg.norm(slopes(known, theta, lines.points), axis=1), 1e-6 * np.linalg.norm(theta))
    return (np.abs(value) < setting.near * setting.size * steep) & _fixed(phi, basis) & lines.bend


def _accepted(oracle, known, lines: Lines, phi, theta, basis, setting: UnitSearchSetting) -> np.ndarray | None:
    """The knots of a unit, or None where its fold is not there all along, as a deeper unit's is not."""
    mine = _own(known, lines, phi, theta, basis, setting)
    pieces = lines.pieces(100 * oracle.rounding)
    value, fixed = phi @ theta, _fixed(phi, basis)
    steep = np.maximum(np.linalg.norm(slopes(known, theta, lines.points), axis=1), 1e-6 * np.linalg.norm(theta))
    zero = np.abs(value) < setting.near * setting.size * steep
    clear = fixed & ~zero
    through = (value[pieces] * value[pieces + 1] < 0) & clear[pieces] & clear[pieces + 1]
    hits, misses = int(mine.sum()), int(through.sum())
    return mine if hits >= _LEAST and misses <= _MISSES * (hits + misses) else None


def _sharpened(phi: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """The coefficients moved as little as possible so that the fold passes through its points, features phi [P, m]."""
    size = np.linalg.norm(phi, axis=0)
    scaled = phi / np.where(size > 0, size, 1.0)
    move = np.linalg.lstsq(scaled, -(phi @ theta), rcond=1e-4)[0]
    return theta + move / np.where(size > 0, size, 1.0)
