"""Points on the folds of a black box: where it bends, the normal of the fold there, and the gradients on both sides."""

from dataclasses import dataclass, fields

import numpy as np

from tutelage import draws
from tutelage.functions.querying.breakpoints import Bends, bends
from tutelage.functions.querying.oracle import Oracle

_STEPS = (0.5, 0.1, 0.02, 0.004)  # of a difference, as shares of the room on one side of a fold, tried in turn
_SHRUNK = (1.0, 1.0, 0.5, 0.25)  # boxes that chords are drawn in, in turn
_ASIDE = 0.41  # of the way to the next bend; halfway, folds on both sides could cancel out
_COARSEST = 1e-2  # normals with a larger error are not used


@dataclass(frozen=True, eq=False)
class FoldPoints:
    """P points on folds, and the knots (bends and ends) of the lines along which they were found.

    points, normals: [P, d], normals of length 1; error: [P], of the normals; below, above: gradients [P, C, d] on the
    side the normal points away from and on the other; knots: [K, d] in order along the lines, knot_line: int [K],
    knot_values: [K, C].
    """

    points: np.ndarray
    normals: np.ndarray
    error: np.ndarray
    below: np.ndarray
    above: np.ndarray
    knots: np.ndarray
    knot_line: np.ndarray
    knot_values: np.ndarray

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, chosen: np.ndarray) -> "FoldPoints":
        """Some of the points, without knots."""
        none = np.zeros(0, dtype=int)
        names = (f.name for f in fields(self))
        return FoldPoints(**{n: getattr(self, n)[none if n.startswith("knot") else chosen] for n in names})


def no_folds(oracle: Oracle) -> FoldPoints:
    """No points and no knots, of a black box."""
    d, c = oracle.inputs, oracle.outputs
    shapes = (0, d), (0, d), (0,), (0, c, d), (0, c, d), (0, d), (0,), (0, c)
    arrays = {f.name: np.zeros(shape) for f, shape in zip(fields(FoldPoints), shapes, strict=True)}
    return FoldPoints(**arrays | {"knot_line": np.zeros(0, dtype=int)})


def join(first: FoldPoints, second: FoldPoints) -> FoldPoints:
    """Both sets together; the lines of the second are numbered after those of the first."""
    later = second.knot_line + (first.knot_line.max(initial=-1) + 1)
    parts = {f.name: [getattr(first, f.name), getattr(second, f.name)] for f in fields(FoldPoints)}
    parts["knot_line"] = [first.knot_line, later]
    return FoldPoints(**{name: np.concatenate(pair) for name, pair in parts.items()})


def sample(low: np.ndarray, high: np.ndarray, count: int, seed: int, stream: str, start: int = 0) -> np.ndarray:
    """Points start .. start+count-1 of a stream, uniform in a box, and in turn in the same box shrunk around its
    middle to a half and a quarter, so that what happens near the middle is seen too: [count, d].
    """
    d = len(low)
    unit = draws.uniforms(draws.keys([seed], stream), count * d, start * d).numpy().reshape(count, d)
    shrunk = np.take(_SHRUNK, np.arange(start, start + count) % len(_SHRUNK))
    return (low + high) / 2 + (unit - 0.5) * (high - low) * shrunk[:, None]


def on_lines(oracle: Oracle, start: np.ndarray, direction: np.ndarray) -> FoldPoints:
    """Fold points on the segments from start to start + direction: [M, d] each."""
    met = bends(oracle, start, direction)
    line = np.r_[met.line, np.arange(len(start)), np.arange(len(start))]
    t = np.r_[met.t, np.zeros(len(start)), np.ones(len(start))]
    order = np.lexsort((t, line))
    knots = start[line[order]] + t[order][:, None] * direction[line[order]]
    points, normals, error, below, above = _with_normals(oracle, start, direction, met)
    return FoldPoints(points, normals, error, below, above, knots, line[order], oracle.values(knots))


def _with_normals(oracle: Oracle, start: np.ndarray, direction: np.ndarray, met: Bends) -> tuple[np.ndarray, ...]:
    """Points, normals, their error, gradients below and above, of the bends whose two sides could be measured."""
    length = np.linalg.norm(direction, axis=1)[met.line]
    forward = direction[met.line] / length[:, None]
    points = start[met.line] + met.t[:, None] * direction[met.line]
    room = np.stack([met.t - met.before, met.after - met.t], axis=1) * length[:, None] * _ASIDE
    room = np.minimum(room, room.min(1, keepdims=True) * 4)
    sides, worst = [], np.zeros(len(points))
    for side, sign in ((0, -1.0), (1, 1.0)):
        gradient, step = gradients(oracle, points + sign * room[:, side, None] * forward, room[:, side])
        sides.append(gradient)
        worst = np.maximum(worst, np.where(step > 0, oracle.rounding / np.maximum(step, 1e-300), np.inf))
    jump = sides[1] - sides[0]
    size, normals, second = _rank_one(jump)
    error = worst / np.maximum(size, 1e-300) * len(forward[:1].T) ** 0.5
    keep = (error < _COARSEST) & (second <= 1e-6 * size + 30 * worst)
    turn = np.where((normals * forward).sum(1) < 0, -1.0, 1.0)
    return points[keep], (normals * turn[:, None])[keep], error[keep], sides[0][keep], sides[1][keep]


def _rank_one(jump: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Size and direction of jumps [P, C, d] of rank one, and the second singular value."""
    if jump.shape[1] == 1:
        size = np.linalg.norm(jump[:, 0], axis=1)
        return size, jump[:, 0] / np.maximum(size, 1e-300)[:, None], np.zeros(len(jump))
    _, s, v = np.linalg.svd(jump, full_matrices=False)
    return s[:, 0], v[:, 0], s[:, 1] if s.shape[1] > 1 else np.zeros(len(jump))


def gradients(oracle: Oracle, points: np.ndarray, room: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gradients [N, C, d] where the function is linear around a point, and the step used (0 where it is not).

    The step is the largest of a few shares of ``room`` [N] at which the function is linear along every axis.
    """
    n, d = points.shape
    gradient, step = np.zeros((n, oracle.outputs, d)), np.zeros(n)
    if oracle.gradients:
        return oracle.gradient(points), room * _STEPS[0]
    left, middle = np.arange(n), oracle.values(points)
    for share in _STEPS:
        if not len(left):
            break
        h = share * room[left]
        moves = np.concatenate([np.eye(d), -np.eye(d)])
        at = points[left][:, None] + h[:, None, None] * moves
        values = oracle.values(at.reshape(-1, d)).reshape(len(left), 2, d, -1)
        bent = np.abs(values.sum(1) - 2 * middle[left][:, None]).max((1, 2)) > 8 * oracle.rounding
        slopes = (values[:, 0] - values[:, 1]).transpose(0, 2, 1) / (2 * h[:, None, None])
        gradient[left[~bent]], step[left[~bent]] = slopes[~bent], h[~bent]
        left = left[bent]
    return gradient, step
