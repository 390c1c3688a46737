"""Equations that a fold point puts on the unit it belongs to, written over the layers already known.

The fold of a unit of layer l+1 is where F(x) = sum_i W_i relu(s_i u_i(x)) + b vanishes, with u the pre-activations of
layer l. While the signs s of that layer are unknown, relu(s u) = (|u| + s u) / 2 makes F linear in the features |u|,
the layer's own input z and 1; once they are known, in the activations and 1. A point x of the fold with normal n then
gives F(x) = 0 and grad F(x) parallel to n, all linear in the coefficients of F: no unit's orientation or scale enters.
"""

from dataclasses import dataclass

import numpy as np

from tutelage.functions.querying.fold_points import FoldPoints

Layer = tuple[np.ndarray, np.ndarray]
"""W [in, out] and b [out]."""


@dataclass(frozen=True, eq=False)
class Known:
    """Layers found so far: ``below`` with their orientation, ``top`` up to the signs of its units (None: oriented)."""

    below: tuple[Layer, ...] = ()
    top: Layer | None = None

    def oriented(self, signs: np.ndarray) -> "Known":
        """The same with the signs [n] of the top layer known."""
        assert self.top is not None
        w, b = self.top
        return Known((*self.below, (w * signs, b * signs)))


@dataclass(frozen=True, eq=False)
class Local:
    """What the known layers do at N points: features [N, m], their gradients [N, m, d], and of all known units the
    pre-activations [N, K] with gradients [N, K, d].
    """

    features: np.ndarray
    slopes: np.ndarray
    units: np.ndarray
    unit_slopes: np.ndarray


def features(known: Known, points: np.ndarray) -> np.ndarray:
    """The features alone: [N, d] -> [N, m]."""
    z = points
    for w, b in known.below:
        z = np.maximum(z @ w + b, 0)
    ones = np.ones((len(z), 1))
    if known.top is None:
        return np.concatenate([z, ones], axis=1)
    return np.concatenate([np.abs(z @ known.top[0] + known.top[1]), z, ones], axis=1)


def local(known: Known, points: np.ndarray) -> Local:
    """Features, units and their gradients at points [N, d]."""
    n, d = points.shape
    z, slope = points, np.broadcast_to(np.eye(d), (n, d, d))
    units, unit_slopes = [np.zeros((n, 0))], [np.zeros((n, 0, d))]
    for w, b in known.below:
        u, du = z @ w + b, w.T @ slope
        units.append(u)
        unit_slopes.append(du)
        z, slope = np.maximum(u, 0), np.where(u[..., None] > 0, du, 0.0)
    parts, grads = [z, np.ones((n, 1))], [slope, np.zeros((n, 1, d))]
    if known.top is not None:
        w, b = known.top
        u, du = z @ w + b, w.T @ slope
        units.append(u)
        unit_slopes.append(du)
        parts, grads = [np.abs(u), z, parts[1]], [np.sign(u)[..., None] * du, slope, grads[1]]
    return Local(*(np.concatenate(p, axis=1) for p in (parts, grads, units, unit_slopes)))


def equations(known: Known, folds: FoldPoints, size: float) -> np.ndarray:
    """The d + 1 equations (of rank d) of every fold point: [P, d + 1, m], rows of comparable size."""
    here = local(known, folds.points)
    n = folds.normals
    across = here.slopes - (here.slopes @ n[..., None]) * n[:, None]  # gradients less their part along the normal
    return np.concatenate([here.features[:, None] / size, across.transpose(0, 2, 1)], axis=1)


def null_space(rows: np.ndarray, tolerance: float) -> np.ndarray:
    """Coefficients that meet all rows [R, m] within a tolerance relative to the largest singular value: [m, r]."""
    s, v = singular(rows)
    return v[int((s > tolerance * s[0]).sum()) :].T


def singular(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Singular values and all m right singular vectors (as rows) of rows [R, m]."""
    small = np.linalg.qr(rows, mode="r") if len(rows) > rows.shape[1] else rows
    return np.linalg.svd(small, full_matrices=True)[1:]


def explained(known: Known, folds: FoldPoints, theta: np.ndarray, size: float, tolerance: float) -> np.ndarray:
    """Which fold points lie on the fold of F with coefficients theta [m], with its normal: bool [P]."""
    here = local(known, folds.points)
    gradient = np.einsum("pmd,m->pd", here.slopes, theta)
    steep = np.linalg.norm(gradient, axis=1)
    clear = steep > 1e-9 * np.linalg.norm(theta)
    steep = np.where(clear, steep, 1.0)
    away = np.abs(here.features @ theta) / steep
    sine = np.linalg.norm(gradient - (gradient * folds.normals).sum(1)[:, None] * folds.normals, axis=1) / steep
    return clear & (away < tolerance * size) & (sine < tolerance + 10 * folds.error)


def crossings(known: Known, folds: FoldPoints, theta: np.ndarray, size: float, tolerance: float, flat: float):
    """How often F with coefficients theta vanishes along the lines at a bend, and how often where nothing bends.

    Places where the function is constant along the line are not counted: there a fold cannot be seen.
    """
    here = local(known, folds.knots)
    value = here.features @ theta
    steep = np.maximum(np.linalg.norm(np.einsum("pmd,m->pd", here.slopes, theta), axis=1), 1e-300)
    zero = np.abs(value) < tolerance * size * np.maximum(steep, 1e-6 * np.linalg.norm(theta))
    same = folds.knot_line[1:] == folds.knot_line[:-1]
    through = same & (value[1:] * value[:-1] < 0) & ~zero[1:] & ~zero[:-1]
    seen = np.abs(folds.knot_values[1:] - folds.knot_values[:-1]).max(1) > flat
    return int(zero.sum()), int((through & seen).sum())
