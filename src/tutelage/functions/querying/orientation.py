"""Which side of its fold a unit is active on.

Two rules. (1) Where the pre-activations of a layer have independent gradients, the gradient of the black box written
over them has coefficient 0 for the unit that is inactive (Phuong 2021, proof of Theorem A.1). (2) A unit k above the
layer reads sum_i alpha_ki |u_i| + beta_k z + const with beta_k = sum_i s_i alpha_ki w_i: linear equations in the signs
s.
"""

import numpy as np
from scipy.linalg import qr

from tutelage.functions.querying.fold_equations import Known, explained, local
from tutelage.functions.querying.fold_points import FoldPoints

_OUTSIDE = 1e-2  # share of the gradients that units without a fold may not exceed
_SEARCHED = 18  # signs left open by linear equations that are tried out


def by_gradients(known: Known, folds: FoldPoints, size: float, tolerance: float) -> np.ndarray | None:
    """Rule (1): signs [n] of the top layer, or None where the layer is too wide for it or a unit stays open."""
    assert known.top is not None
    n = known.top[0].shape[1]
    if n > folds.points.shape[1]:
        return None
    signs = np.zeros(n)
    for i in range(n):
        theta = np.r_[np.zeros(n), known.top[0][:, i], known.top[1][i]]
        mine = folds[np.flatnonzero(explained(known, folds, theta, size, tolerance))[:100]]
        if len(mine):
            signs[i] = _vote(local(known, mine.points).unit_slopes[:, -n:], mine, i)
    return signs if signs.all() else None


def _vote(slopes: np.ndarray, mine: FoldPoints, unit: int) -> float:
    """+1 if the unit is active above its fold, -1 if below, 0 if that cannot be told: slopes [P, n, d]."""
    values = np.linalg.svd(slopes, compute_uv=False)
    sound = values[:, -1] > 1e-5 * values[:, 0]
    if not sound.any():
        return 0.0
    back = np.linalg.pinv(slopes[sound])
    written = [g[sound] @ back for g in (mine.below, mine.above)]
    rest = sum(
        np.linalg.norm(c @ slopes[sound] - g[sound]) for c, g in zip(written, (mine.below, mine.above), strict=True)
    )
    if rest > _OUTSIDE * (np.linalg.norm(mine.below[sound]) + np.linalg.norm(mine.above[sound])):
        return 0.0  # some units of the layer show no fold
    below, above = (np.linalg.norm(c[:, :, unit], axis=1) for c in written)
    turned = np.sign((slopes[sound, unit] * mine.normals[sound]).sum(1))
    ratio = (above - below) / np.maximum(above + below, 1e-300)
    votes = np.where(np.abs(ratio) > 0.9, np.sign(ratio) * turned, 0.0)
    return float(np.sign(votes.sum())) if abs(votes.sum()) > 0.5 * np.abs(votes).sum() else 0.0


def by_readers(w: np.ndarray, alpha: np.ndarray, beta: np.ndarray, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    """Rule (2): signs [n] with beta = (alpha * signs) w^T as nearly as found, and what is left of beta [K, r].

    w: [r, n]; alpha: [K, n]; beta: [K, r].

    >>> w, alpha, signs = np.array([[1.0, 0.5], [0.2, 1.0]]), np.array([[2.0, 3.0]]), np.array([1.0, -1.0])
    >>> by_readers(w, alpha, (alpha * signs) @ w.T, 1e-9)[0]
    array([ 1., -1.])
    """
    n = w.shape[1]
    system = np.einsum("ki,qi->kqi", alpha, w).reshape(-1, n)
    right = beta.ravel()
    signs = _solved(system, right, tolerance)
    return signs, beta - (alpha * signs) @ w.T


def _solved(system: np.ndarray, right: np.ndarray, tolerance: float) -> np.ndarray:
    """Signs that solve the equations, by least squares or, where these leave some open, by trying those out."""
    n = system.shape[1]
    free = np.linalg.lstsq(system, right, rcond=1e-9)[0]
    rounded = np.where(free < 0, -1.0, 1.0)
    allowed = tolerance * (np.linalg.norm(system) + np.linalg.norm(right))
    if np.linalg.norm(system @ rounded - right) <= allowed:
        return rounded
    s, v = np.linalg.svd(system, full_matrices=True)[1:]
    rank = int((s > 1e-9 * s[0]).sum()) if len(s) else 0
    if not 0 < n - rank <= _SEARCHED:
        return rounded
    kernel = v[rank:].T  # every solution is free + kernel c; n - rank chosen entries fix c
    pivots = _independent_rows(kernel)
    trials = 1 - 2.0 * ((np.arange(1 << len(pivots))[:, None] >> np.arange(len(pivots))) & 1)
    c = np.linalg.solve(kernel[pivots], (trials - free[pivots]).T)
    all_signs = free[:, None] + kernel @ c
    return np.where(all_signs[:, np.abs(np.abs(all_signs) - 1).max(0).argmin()] < 0, -1.0, 1.0)


def _independent_rows(matrix: np.ndarray) -> np.ndarray:
    """As many rows as there are columns, far from dependent: by QR with pivoting."""
    return qr(matrix.T, pivoting=True, mode="r")[1][: matrix.shape[1]]
