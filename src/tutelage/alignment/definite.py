r"""Least eigenvalues of stacked symmetric matrices with a proved bound on their error.

Eigenvectors Q and eigenvalues L as LAPACK gives them are checked, not trusted: with :math:`\delta \ge \|Q^T Q - I\|`
and :math:`\epsilon \ge \|A - Q L Q^T\|` (both in the Frobenius norm, rounding added) there is an orthogonal matrix
within :math:`\delta` of Q for :math:`\delta < 1`, so by Weyl every eigenvalue of A is off by at most
:math:`\epsilon + (2\delta + \delta^2) \max|L|`.
"""

import numpy as np

from tutelage.errors import TutelageError

EPS = 2.0**-53
SLACK = 1 + 1e-9
"""Covers the rounding of the bounds themselves."""


def least_eigenvalues(matrices: np.ndarray, error: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """The least eigenvalue of symmetric matrices [S, m, m] and a bound on its error: [S] each.

    error: by how much every entry may be wrong, which adds m times that.

    >>> value, bound = least_eigenvalues(np.array([[[2.0, 1.0], [1.0, 2.0]]]))
    >>> bool(abs(value[0] - 1) <= bound[0] < 1e-13)
    True
    """
    a = np.asarray(matrices, dtype=np.float64)
    if a.ndim != 3 or a.shape[1] != a.shape[2] or not np.array_equal(a, a.swapaxes(1, 2)):
        raise TutelageError(
            f"wanted symmetric matrices [S, m, m], and these are {list(a.shape)} or differ from their mirror"
        )
    m = a.shape[1]
    values, q = np.linalg.eigh(a)
    gamma = (m + 3) * EPS / (1 - (m + 3) * EPS)  # of a sum of m products, and of one more factor and difference
    gram = _frobenius(q.swapaxes(1, 2) @ q - np.eye(m)) + gamma * (_frobenius(q) ** 2 + m)
    size = np.abs(values).max(1)
    scaled = q * values[:, None, :]
    left = _frobenius(a - scaled @ q.swapaxes(1, 2)) + 2 * gamma * (_frobenius(a) + _frobenius(q) ** 2 * size)
    off = left + (2 * gram + gram * gram) * size + m * error
    return values[:, 0], np.where(gram < 1, SLACK * off, np.inf)


def _frobenius(a: np.ndarray) -> np.ndarray:
    return np.sqrt((a * a).sum((1, 2)))
