"""Which side of its fold a unit is active on.

A unit k above a layer reads sum_i alpha_ki |u_i| + beta_k z + const with beta_k = sum_i s_i alpha_ki w_i + (what units
that are always active add): linear equations in the signs s. The signs that leave fewest units always active are taken.
"""

import numpy as np
from scipy.linalg import qr

from tutelage.functions.querying.known import Layer
from tutelage.functions.querying.open_weights import OpenWeights

_SEARCHED = 18  # signs left open by linear equations that are tried out
_ALL = 11  # signs of which all choices are tried where some units are always active


def by_readers(w: np.ndarray, alpha: np.ndarray, beta: np.ndarray, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    """Signs [n] with beta = (alpha * signs) w^T up to a matrix of low rank, and that matrix [K, r].

    w: [r, n]; alpha: [K, n]; beta: [K, r].

    >>> w, alpha, signs = np.array([[1.0, 0.5], [0.2, 1.0]]), np.array([[2.0, 3.0]]), np.array([1.0, -1.0])
    >>> by_readers(w, alpha, (alpha * signs) @ w.T, 1e-9)[0]
    array([ 1., -1.])
    """
    n = w.shape[1]
    system = np.einsum("ki,qi->kqi", alpha, w).reshape(-1, n)
    right = beta.ravel()
    signs = _solved(system, right, tolerance)
    rest = beta - (alpha * signs) @ w.T
    if np.linalg.norm(rest) > tolerance * (np.linalg.norm(beta) + np.linalg.norm(system)) and min(rest.shape) > 1:
        signs = _fewest(w, alpha, beta, signs)
        rest = beta - (alpha * signs) @ w.T
    return signs, rest


def by_equations(
    layer: Layer, open_weights: OpenWeights, theta: np.ndarray, bases: tuple[np.ndarray, ...], tolerance: float
) -> tuple[np.ndarray, np.ndarray] | None:
    """Signs [n] of a layer, and what its open weights add to its readers [Q], or None if nothing explains all readers.

    theta: readers [K, m], which may be known in part only; bases: per reader rows [r, m] of what is determined. Where
    a reader's coefficient of |u_i| is open, u_i has one sign all along its fold and adds a multiple of u_i: it is left
    free, as is the reader's bias.
    """
    w, b = layer
    n = w.shape[1]
    if len(open_weights):
        full = np.concatenate([w, b[None]])
        np.subtract.at(full.T, open_weights.unit, open_weights.taken[:, None] * open_weights.direction)
        w, b = full[:-1], full[-1]
    system, added, right, scale = [], [], [], 0.0
    for one, rows in zip(theta, bases, strict=True):
        alpha, linear = one[:n], rows[:, n:-1] @ w + rows[:, -1:] * b
        hidden = 1.0 - np.square(rows[:, :n]).sum(0) > 1e-9
        extra = rows[:, n:] @ open_weights.direction.T
        free = np.concatenate([linear[:, hidden], extra[:, hidden[open_weights.unit]], rows[:, -1:]], axis=1)
        alpha = np.where(hidden, 0.0, alpha)
        u, s, _ = np.linalg.svd(free, full_matrices=True)
        clear = u[:, int((s > 1e-9).sum()) :].T
        system.append(clear @ (linear * alpha))
        added.append(clear @ (extra * alpha[open_weights.unit]))
        right.append(clear @ (rows @ one - rows[:, :n] @ alpha))
        scale += float(np.square(rows @ one).sum())
    a, p, y = np.concatenate(system), np.concatenate(added), np.concatenate(right)
    u, s, _ = np.linalg.svd(p, full_matrices=True)
    clear = u[:, int((s > 1e-9 * max(1.0, s.max(initial=0.0))).sum()) :].T
    signs = _solved(clear @ a, clear @ y, tolerance)
    more = np.linalg.lstsq(p, y - a @ signs, rcond=1e-9)[0] if p.shape[1] else np.zeros(0)
    rest = a @ signs + p @ more - y
    return (signs, more) if np.linalg.norm(rest) <= 10 * tolerance * scale**0.5 else None


def _fewest(w: np.ndarray, alpha: np.ndarray, beta: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """The signs whose rest has the smallest sum of roots of singular values: all of few, else by single flips."""

    def rank(trials: np.ndarray) -> np.ndarray:
        rest = beta - (alpha * trials[:, None]) @ w.T
        return np.sqrt(np.linalg.svd(rest, compute_uv=False)).sum(1)

    n = len(signs)
    if n <= _ALL:
        trials = 1 - 2.0 * ((np.arange(1 << n)[:, None] >> np.arange(n)) & 1)
        return trials[rank(trials).argmin()]
    now = float(rank(signs[None])[0])
    for _ in range(2 * n):
        trials = signs * (1 - 2 * np.eye(n))
        each = rank(trials)
        if each.min() >= now:
            break
        signs, now = trials[each.argmin()], float(each.min())
    return signs


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
