"""Normals of folds at bends, from gradients on both sides measured by differences."""

from dataclasses import dataclass

import numpy as np

from tutelage.functions.querying.known import Known, pushed, region
from tutelage.functions.querying.lines import Lines
from tutelage.functions.querying.oracle import Oracle

_STEPS = (0.5, 0.1, 0.02, 0.004)  # of a difference, as shares of the room on one side of a fold, tried in turn
_REPEATED = 32  # differences along each axis where noise leaves one too inexact
_ASIDE = 0.41  # of the way to the next bend; halfway, folds on both sides could cancel out
_COARSEST, _NOISY = 1e-2, 0.15  # normals with a larger error are not used; in noise, bends have to make them exact
_FLATNESS, _SECOND = 1e-6, 30  # of a second singular value, as a share of the first and in errors: two folds met there
_RANK = 1e-9  # singular values below this share of the largest are rounding
_SHORTEST = 0.6  # share of the step at which repeated differences begin: shorter ones tell less
_ELEMENTS = 20_000_000  # numbers in the points of one question


@dataclass(frozen=True, eq=False)
class FoldPoints:
    """P points on folds with normals of length 1 [P, d], their errors [P], and the knots they are: int [P]."""

    points: np.ndarray
    normals: np.ndarray
    error: np.ndarray
    knot: np.ndarray

    def __len__(self) -> int:
        return len(self.points)


def with_normals(oracle: Oracle, known: Known, lines: Lines, knot: np.ndarray) -> FoldPoints:
    """The bends among the chosen knots [P] whose two sides could be measured."""
    points = lines.points[knot]
    gaps = np.stack([points - lines.points[knot - 1], lines.points[knot + 1] - points], axis=1)
    length = np.linalg.norm(gaps, axis=2)
    # Both sides are measured on the line that met the bend: towards its neighbours there is no other fold on it.
    forward = gaps.sum(1) / np.maximum(length.sum(1), 1e-300)[:, None]
    room = np.minimum(length, length.min(1, keepdims=True) * 4) * _ASIDE
    axes = moving_axes(known, points)
    at = [points + sign * room[:, side, None] * forward for side, sign in ((0, -1.0), (1, 1.0))]
    sides, steps = (
        np.stack(part) for part in zip(*(gradients(oracle, at[j], room[:, j], axes) for j in (0, 1)), strict=True)
    )
    # A difference over a step h of values that are off by r is off by r / h: the coarser side decides.
    worst = np.where(steps > 0, oracle.rounding / np.maximum(steps, 1e-300), np.inf).max(0)
    dimension = (points.shape[1] if axes is None else axes.shape[1]) ** 0.5
    coarse = (steps > 0).all(0) & (worst * dimension > _COARSEST * _rank_one(sides[1] - sides[0])[0])
    if oracle.noise and not oracle.gradients and coarse.any():
        some = None if axes is None else axes[coarse]
        for j in (0, 1):
            sides[j, coarse] = _averaged(oracle, at[j][coarse], steps[j, coarse], some)
        worst[coarse] /= (_REPEATED / 2) ** 0.5
    size, normals, second = _rank_one(sides[1] - sides[0])
    if axes is not None:
        normals = np.einsum("pr,prd->pd", normals, axes)
    error = worst / np.maximum(size, 1e-300) * dimension
    keep = (error < (_NOISY if oracle.noise else _COARSEST)) & (second <= _FLATNESS * size + _SECOND * worst)
    return FoldPoints(points[keep], normals[keep], error[keep], knot[keep])


def moving_axes(known: Known, points: np.ndarray) -> np.ndarray | None:
    """Orthonormal directions [P, r, d] that span all in which the known features move at points; None: the axes."""
    p, d = points.shape
    # A layer narrower than the inputs flattens them: along what it does not see no value changes, and differences would
    # be asked for in vain.
    if not known.below or min(len(b) for _, b in known.below) >= d:
        return None
    slope = pushed(known, region(known, points), np.broadcast_to(np.eye(d), (p, d, d)))[1]
    left, s, _ = np.linalg.svd(slope, full_matrices=False)
    rank = max(1, int((s > _RANK * s[:, :1]).sum(1).max(initial=1)))
    return left[:, :, :rank].transpose(0, 2, 1)


def _rank_one(jump: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Size and direction of jumps [P, C, r] of rank one, and the second singular value."""
    if jump.shape[1] == 1:
        size = np.linalg.norm(jump[:, 0], axis=1)
        return size, jump[:, 0] / np.maximum(size, 1e-300)[:, None], np.zeros(len(jump))
    _, s, v = np.linalg.svd(jump, full_matrices=False)
    return s[:, 0], v[:, 0], s[:, 1] if s.shape[1] > 1 else np.zeros(len(jump))


def gradients(
    oracle: Oracle, points: np.ndarray, room: np.ndarray, axes: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Slopes [N, C, r] along axes [N, r, d] (None: all coordinates) where the function is linear around a point, and
    the step used (0 where it is not): the largest of a few shares of ``room`` [N] at which it is linear along all.
    """
    n, d = points.shape
    r = d if axes is None else axes.shape[1]
    if oracle.gradients:
        gradient = oracle.gradient(points)
        return (gradient if axes is None else gradient @ axes.transpose(0, 2, 1)), room * _STEPS[0]
    chunk = max(1, _ELEMENTS // (2 * r * d))
    parts = [
        _differences(oracle, points[i : i + chunk], room[i : i + chunk], None if axes is None else axes[i : i + chunk])
        for i in range(0, max(n, 1), chunk)
    ]
    return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


def _averaged(oracle: Oracle, points: np.ndarray, step: np.ndarray, axes: np.ndarray | None) -> np.ndarray:
    """Slopes [N, C, r] around points where the function is linear within steps [N] along all axes, from many values."""
    n, d = points.shape
    moves = np.broadcast_to(np.eye(d), (n, d, d)) if axes is None else axes
    shares, total = np.linspace(_SHORTEST, 1.0, _REPEATED), np.zeros((n, oracle.outputs, moves.shape[1]))
    for share in shares:  # other places each time: the error of a value may be the same whenever it is asked for
        far = (share * step)[:, None, None] * moves
        at = points[:, None] + np.concatenate([far, -far], axis=1)
        values = oracle.values(at.reshape(-1, d)).reshape(n, 2, moves.shape[1], -1)
        total += share * (values[:, 0] - values[:, 1]).transpose(0, 2, 1)
    return total / (2 * np.square(shares).sum() * step)[:, None, None] if n else total


def _differences(oracle: Oracle, points: np.ndarray, room: np.ndarray, axes: np.ndarray | None):
    n, d = points.shape
    moves = np.broadcast_to(np.eye(d), (n, d, d)) if axes is None else axes
    r = moves.shape[1]
    # Invariant: `left` are points where the function is not linear within any step tried so far; where it is, the
    # largest such step is kept, since longer steps are more exact.
    gradient, step = np.zeros((n, oracle.outputs, r)), np.zeros(n)
    left, middle = np.arange(n), oracle.values(points)
    for share in _STEPS:
        if not len(left):
            break
        h = share * room[left]
        far = h[:, None, None] * moves[left]
        at = points[left][:, None] + np.concatenate([far, -far], axis=1)
        values = oracle.values(at.reshape(-1, d)).reshape(len(left), 2, r, -1)
        bent = np.abs(values.sum(1) - 2 * middle[left][:, None]).max((1, 2)) > 8 * oracle.rounding
        slope = (values[:, 0] - values[:, 1]).transpose(0, 2, 1) / (2 * h[:, None, None])
        gradient[left[~bent]], step[left[~bent]] = slope[~bent], h[~bent]
        left = left[bent]
    return gradient, step
