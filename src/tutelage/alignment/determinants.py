r"""The determinant condition (Zhu et al. 2021, Thm 5.1) with signs that are proved: M = [f(theta_ij)], M_i with column
i = f_0.

By Cramer's rule :math:`\det M_i = \rho_i \det M` where :math:`M\rho = f_0`, so signs are those of :math:`\rho_i` once M
is positive definite. In float64, an approximate inverse R with :math:`\beta = \|I - RM\|_\infty < 1` encloses them:

.. math:: |\rho - \hat\rho| \le |R|\,r + \frac{\beta}{1 - \beta} \max(|R|\,r), \qquad r \ge |f_0 - M\hat\rho|

with the rounding of f, of sums and of products in r and in beta. What that leaves open goes to elimination in mpmath's
interval arithmetic with ever more digits. Angles are taken as the exact numbers that their float64 say.
"""

import math
from dataclasses import dataclass

import mpmath  # type: ignore[import-untyped]
import numpy as np

from tutelage.alignment.angular import AngularKernel, named
from tutelage.errors import TutelageError
from tutelage.printing import printed

EPS = 2.0**-53
DEGENERATE = 1e-9
"""Radians: angles nearer than that to each other, or to each other's opposite, count as coincident or antipodal."""
_DIGITS = (40, 80, 160)
SLACK = 1 + 1e-9
"""Covers the rounding of the bounds themselves."""


def checked(angles: np.ndarray) -> np.ndarray:
    """Angle sets as float64 [S, m] in [0, 2 pi), or an error; one set [m] is taken as S = 1."""
    angles = np.asarray(angles, dtype=np.float64)
    angles = angles[None] if angles.ndim == 1 else angles
    if angles.ndim != 2 or angles.shape[1] < 1 or not np.isfinite(angles).all():
        raise TutelageError(f"angle sets are finite numbers [sets, m], not an array of shape {angles.shape}")
    if ((angles < 0) | (angles >= 2 * math.pi)).any():
        raise TutelageError("angles have to lie in [0, 2 pi), with the teacher's at 0: take them modulo 2 pi")
    return angles


def of_vectors(teacher: np.ndarray, students: np.ndarray) -> np.ndarray:
    """Polar angles of students [S, m, 2] seen from the teacher's direction [2] or [S, 2]: [S, m] in [0, 2 pi)."""
    teacher, students = np.asarray(teacher, dtype=np.float64), np.asarray(students, dtype=np.float64)
    teacher = np.broadcast_to(teacher, (students.shape[0], 2))
    if not (teacher != 0).any(-1).all() or not (students != 0).any(-1).all():
        raise TutelageError("a zero vector has no angle: leave out units whose weights are zero")
    turn = np.arctan2(students[..., 1], students[..., 0]) - np.arctan2(teacher[:, 1], teacher[:, 0])[:, None]
    turn = np.mod(turn, 2 * math.pi)
    return np.where(turn >= 2 * math.pi, 0.0, turn)


def distances(angles: np.ndarray) -> np.ndarray:
    """theta_ij in [0, pi] of 0 and all angles: [S, m] -> [S, m + 1, m + 1], the teacher first."""
    every = np.concatenate([np.zeros((len(angles), 1)), angles], axis=1)
    apart = np.abs(every[:, :, None] - every[:, None, :])
    return np.minimum(apart, 2 * math.pi - apart)


def separation(angles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Least angle of two of theta_0 .. theta_m, and least distance of such an angle from pi: [S] each."""
    upper = np.triu_indices(angles.shape[1] + 1, 1)
    apart = distances(angles)[:, upper[0], upper[1]]
    return apart.min(1), (math.pi - apart).min(1)


def matrices(angles: np.ndarray, kernel: AngularKernel | None = None) -> tuple[np.ndarray, np.ndarray]:
    """M [S, m, m] and f_0 [S, m] (Zhu et al. 2021, Def. 5.3)."""
    every = (kernel or named("relu"))(distances(checked(angles)))
    return every[:, 1:, 1:], every[:, 1:, 0]


def replaced(matrix: np.ndarray, first: np.ndarray) -> np.ndarray:
    """M_1 .. M_m: [S, m, m, m], the second axis being i."""
    m = first.shape[1]
    out = np.repeat(matrix[:, None], m, axis=1)
    column = np.arange(m)
    out[:, column, :, column] = first
    return out


def determinants(angles: np.ndarray, kernel: AngularKernel | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Determinants det M and det M_i in float64, for drawing; :func:`signs` proves their signs.

    Parameters
    ----------
    angles
        Student angles [S, m] or [m]; the teacher is at 0.
    kernel
        f; default: that of relu.

    Returns
    -------
    full, each
        [S] and [S, m].

    Examples
    --------
    >>> full, each = determinants(np.array([1.0, 3.0, 5.0]))
    >>> bool(full[0] > 0 and each.min() < 0)
    True
    """
    matrix, first = matrices(angles, kernel)
    return np.linalg.det(matrix), np.linalg.det(replaced(matrix, first))


@printed
@dataclass(frozen=True, eq=False)
class Signs:
    """Proved signs of determinants.

    Attributes
    ----------
    each, full
        Signs of det M_i, int8 [S, m], and of det M, int8 [S]; 0 where none was proved.
    ratio, bound
        rho_i = det M_i / det M and the bound on its error in float64, [S, m]; infinite where M could not be enclosed.
    degenerate
        bool [S]: coincident or antipodal angles, for which nothing is computed.
    precise
        bool [S]: whether float64 could not decide and more digits were used.
    """

    each: np.ndarray
    full: np.ndarray
    ratio: np.ndarray
    bound: np.ndarray
    degenerate: np.ndarray
    precise: np.ndarray

    @property
    def nonpositive(self) -> np.ndarray:
        """Sets in which some det M_i is proved to be below 0: bool [S]."""
        return np.any(self.each < 0, axis=1)

    @property
    def counterexample(self) -> np.ndarray:
        """Sets in which all det M_i are proved to be positive, which would refute Conjecture 5.5: bool [S]."""
        return np.all(self.each > 0, axis=1)


def signs(angles: np.ndarray, kernel: AngularKernel | None = None, complete: bool = False) -> Signs:
    """Prove the signs of all determinants of angle sets.

    Parameters
    ----------
    angles
        Student angles [S, m].
    kernel
        f; default: that of relu. High precision has formulas for relu and "arc" only.
    complete
        Whether to decide every sign. Otherwise a set is left where float64 proves a negative det M_i and det M > 0.

    Returns
    -------
    Signs

    Examples
    --------
    >>> result = signs(np.array([[1.0, 3.0, 5.0], [1.0, 1.0, 4.0]]))
    >>> result.nonpositive.tolist(), result.full.tolist(), result.degenerate.tolist()
    ([True, False], [1, 0], [False, True])
    """
    kernel, angles = kernel or named("relu"), checked(angles)
    near, opposite = separation(angles)
    degenerate = (near < DEGENERATE) | (opposite < DEGENERATE)
    count, m = angles.shape
    each, full = np.zeros((count, m), np.int8), np.zeros(count, np.int8)
    ratio, bound = np.zeros((count, m)), np.full((count, m), np.inf)
    ask = np.flatnonzero(~degenerate)
    if len(ask):
        matrix, first = matrices(angles[ask], kernel)
        full[ask] = _definite(matrix, kernel.error)
        ratio[ask], bound[ask] = ratios(matrix, first, kernel.error)
        known = np.abs(ratio) > bound
        each[:] = np.where(known & (full == 1)[:, None], np.sign(ratio), 0)
    open_ = (each == 0).any(1) if complete else ~(each < 0).any(1) & ~(each > 0).all(1)
    precise = ~degenerate & (open_ | (full == 0))
    for s in np.flatnonzero(precise) if kernel.name in _EXACT else ():
        each[s], full[s] = precise_signs(angles[s], kernel.name)
    return Signs(each, full, ratio, bound, degenerate, precise)


def ratios(matrix: np.ndarray, first: np.ndarray, error: float) -> tuple[np.ndarray, np.ndarray]:
    """rho = M^-1 f_0 and a bound on its error, [S, m] each; error: of every entry of M and f_0."""
    m = first.shape[1]
    gamma = (m + 3) * EPS / (1 - (m + 3) * EPS)
    # Any approximate inverse will do: what it lacks is measured by beta, and where that is not below 1 nothing is
    # claimed.
    inverse = np.linalg.pinv(matrix, rcond=1e-15, hermitian=True)
    rho = (inverse @ first[..., None])[..., 0]
    size, lengths = np.abs(inverse), np.abs(rho)
    # Higham's gamma_k bounds a sum of k rounded products; m + 3 leaves room for the difference and for forming the
    # bound.
    rest = np.abs(np.eye(m) - inverse @ matrix) + gamma * (size @ np.abs(matrix) + np.eye(m))
    beta = SLACK * (rest.sum(2) + m * error * size.sum(2)).max(1)
    missed = np.abs(first - (matrix @ rho[..., None])[..., 0])
    missed += gamma * (np.abs(first) + (np.abs(matrix) @ lengths[..., None])[..., 0])
    missed += error * (1 + lengths.sum(1, keepdims=True))
    reach = SLACK * (size @ missed[..., None])[..., 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        bound = SLACK * (reach + (beta / (1 - beta) * reach.max(1))[:, None])
    return rho, np.where(beta[:, None] < 1, bound, np.inf)


def _definite(matrix: np.ndarray, error: float) -> np.ndarray:
    """1 where M is proved positive definite, else 0: its least eigenvalue exceeds what rounding can do to it.

    The backward error of LAPACK's symmetric solver is taken as 100 m eps times the norm, far above what it is.
    """
    m = matrix.shape[1]
    least = np.linalg.eigvalsh(matrix)[:, 0]
    return (least > m * error + 100 * m * 2 * EPS * np.abs(matrix).sum(2).max(1)).astype(np.int8)


# ----------------------------------------------------------------------------------------------------------------
# High precision

_EXACT = {
    "relu": lambda iv, t: iv.sin(t) + (iv.pi - t) * iv.cos(t),
    "arc": lambda iv, t: iv.pi - t,
}


def precise_signs(angles: np.ndarray, kind: str = "relu") -> tuple[np.ndarray, int]:
    """Proved signs of det M_i [m] and of det M of one angle set [m], by interval elimination with 40 to 160 digits."""
    # Few digits first: each attempt starts anew with twice as many, and a sign still open at the last stays unproved.
    for digits in _DIGITS:
        pivots, rho = precise_ratios(angles, kind, digits)
        if pivots and all(p.a > 0 for p in pivots):
            each = np.array([1 if r.a > 0 else -1 if r.b < 0 else 0 for r in rho], np.int8)
            if each.all() or digits == _DIGITS[-1]:
                return each, 1
    return np.zeros(len(angles), np.int8), 0


def precise_ratios(angles: np.ndarray, kind: str, digits: int) -> tuple[list, list]:
    """Intervals that hold the pivots of M and rho_i; both empty where an interval of a pivot meets 0."""
    iv = mpmath.iv.__class__()
    iv.dps = digits
    theta = [iv.mpf(0), *(iv.mpf(float(t)) for t in angles)]
    size = len(theta)

    def entry(i: int, j: int):  # the sign of a difference of two float64 is exact, and so is "above pi" here
        apart = theta[max(i, j, key=lambda k: float(theta[k].a))] - theta[min(i, j, key=lambda k: float(theta[k].a))]
        return _EXACT[kind](iv, 2 * iv.pi - apart if apart.a > iv.pi.b else apart)

    rows = [[entry(i, j) if i != j else iv.mpf(iv.pi) for j in [*range(1, size), 0]] for i in range(1, size)]
    m, pivots = size - 1, []
    for k in range(m):
        # Invariant: rows k and below hold the matrix with the first k unknowns eliminated, every entry an interval that
        # contains the exact one. No pivoting: M is positive definite, so exact pivots are positive, and one whose
        # interval meets 0 says that more digits are needed.
        if rows[k][k].a <= 0 <= rows[k][k].b:
            return [], []
        pivots.append(rows[k][k])
        for i in range(k + 1, m):
            factor = rows[i][k] / rows[k][k]
            rows[i] = [a - factor * b if j > k else a for j, (a, b) in enumerate(zip(rows[i], rows[k], strict=True))]
    rho: list = [None] * m
    for k in reversed(range(m)):
        rest = rows[k][m]
        for j in range(k + 1, m):
            rest = rest - rows[k][j] * rho[j]
        rho[k] = rest / rows[k][k]
    return pivots, rho
