"""The last digits: Gauss-Newton steps on all weights of a network that already has the right folds.

The error is not smooth in the weights, but where no point changes sides of a fold it is a square of multilinear forms:
from folds that are nearly right two or three steps reach the precision of the values. From farther off steps are
damped (Levenberg 1944, Marquardt 1963), and may end nowhere: units that are missing cannot be fitted.
"""

import numpy as np
import torch
from scipy.linalg import cho_factor, cho_solve

from tutelage.deadline import Deadline
from tutelage.functions.querying.known import Layer

_STEPS = 25  # more than two or three happen only with damping, where each may still gain
_DENSE = 900  # weights up to which a step is found by singular values
_MOST = 6_000  # weights beyond which a network is not polished
_CHUNK = 1_000  # points whose derivatives are held at a time


def polished(
    layers: tuple[Layer, ...],
    points: np.ndarray,
    values: np.ndarray,
    floor: float,
    deadline: Deadline | None = None,
) -> tuple[Layer, ...]:
    """Layers that fit values [N, C] at points [N, d] at least as well; steps that do not help are not taken.

    The scale of every unit is free, so the step of least length is taken. floor: the root mean square error at which
    nothing is left to gain. Networks with more than 6,000 weights are returned as they are. deadline: no step begins
    after it.
    """
    best, error, damping = layers, _error(layers, points, values), 0.0
    if parameters(layers) > _MOST or not np.isfinite(error):  # what overflows is no network that is nearly right
        return best
    # invariant: `best` fits at least as well as what was given; a step is taken only if it helps
    for _ in range(_STEPS):
        if error <= floor**2 * values.size or (deadline is not None and deadline.passed):
            break
        trial = _moved(best, _step(best, points, values, damping))
        now = _error(trial, points, values)
        if now < error:
            done = now > 0.5 * error and damping == 0.0
            best, error, damping = trial, now, damping / 10 if damping > 1e-10 else 0.0
            if done:
                break
        elif damping >= 1e-2:
            break
        else:
            damping = max(10 * damping, 1e-8)
    return best


def parameters(layers: tuple[Layer, ...]) -> int:
    """Number of weights and biases."""
    return sum(w.size + b.size for w, b in layers)


def _step(layers: tuple[Layer, ...], points: np.ndarray, values: np.ndarray, damping: float) -> np.ndarray:
    """The shortest least-squares step, damped by a share of the largest squared singular value."""
    # Singular values find the shortest step where scales are free; the normal equations square the condition number,
    # and are made regular by a damping of 1e-12 at least.
    if not damping and parameters(layers) <= _DENSE:
        rest, jacobian = _linearised(layers, points, values)
        return least_squares(jacobian, rest[:, None])[:, 0]
    size = parameters(layers)
    square, right = np.zeros((size, size)), np.zeros(size)
    for i in range(0, len(points), _CHUNK):
        rest, jacobian = _linearised(layers, points[i : i + _CHUNK], values[i : i + _CHUNK])
        square += jacobian.T @ jacobian
        right += jacobian.T @ rest
    scale = np.sqrt(np.maximum(square.diagonal(), 1e-24 * square.diagonal().max()))
    square /= scale[:, None] * scale
    square[np.diag_indices(size)] += max(damping, 1e-12)
    return cho_solve(cho_factor(square, overwrite_a=True, check_finite=False), right / scale) / scale


def effects(layers: tuple[Layer, ...], points: np.ndarray) -> list[np.ndarray]:
    """Which weights and biases (last row) move the outputs at one of the points: bool [in + 1, out] per layer."""
    size = np.zeros(parameters(layers))
    for i in range(0, len(points), _CHUNK):
        part = points[i : i + _CHUNK]
        size = np.maximum(size, np.abs(_linearised(layers, part, outputs(layers, part))[1]).max(0))
    out, at = [], 0
    for w, b in layers:
        some = size[at : at + w.size + b.size].reshape(len(w) + 1, len(b))
        out.append(some > 0)
        at += w.size + b.size
    return out


def least_squares(matrix: np.ndarray, right: np.ndarray, rcond: float = 1e-11) -> np.ndarray:
    """The shortest solution [m, C] of matrix [N, m] x = right [N, C] in least squares; 0 where numbers overflowed.

    Normals of a unit that was found where there is none may be so large that features overflow. LAPACK takes no such
    matrix, and nothing can be fitted to it.
    """
    if not (np.isfinite(matrix).all() and np.isfinite(right).all()):
        return np.zeros((matrix.shape[1], right.shape[1]))
    return torch.linalg.lstsq(torch.from_numpy(matrix), torch.from_numpy(right), rcond=rcond, driver="gelsd")[0].numpy()


def outputs(layers: tuple[Layer, ...], points: np.ndarray) -> np.ndarray:
    """[N, d] -> [N, C]."""
    for w, b in layers[:-1]:
        points = np.maximum(points @ w + b, 0)
    return points @ layers[-1][0] + layers[-1][1]


def _error(layers: tuple[Layer, ...], points: np.ndarray, values: np.ndarray) -> float:
    return float(np.square(values - outputs(layers, points)).sum())


def _linearised(layers: tuple[Layer, ...], points: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Residuals [N C] and the derivatives of the outputs by all weights [N C, parameters]."""
    z, gates = [points], []
    for w, b in layers[:-1]:
        u = z[-1] @ w + b
        gates.append(u > 0)
        z.append(np.maximum(u, 0))
    w, b = layers[-1]
    rest = values - (z[-1] @ w + b)
    back = np.broadcast_to(np.eye(w.shape[1]), (len(points), w.shape[1], w.shape[1]))  # d output / d pre-activation
    parts = []
    for k in reversed(range(len(layers))):
        by_weights = z[k][:, None, :, None] * back[:, :, None, :]
        parts += [back, by_weights.reshape(*back.shape[:2], -1)]
        if k:
            back = (back @ layers[k][0].T) * gates[k - 1][:, None]
    return rest.ravel(), np.concatenate(parts[::-1], axis=2).reshape(rest.size, -1)


def _moved(layers: tuple[Layer, ...], step: np.ndarray) -> tuple[Layer, ...]:
    out, at = [], 0
    for w, b in layers:
        dw, db = step[at : at + w.size].reshape(w.shape), step[at + w.size : at + w.size + b.size]
        out.append((w + dw, b + db))
        at += w.size + b.size
    return tuple(out)
