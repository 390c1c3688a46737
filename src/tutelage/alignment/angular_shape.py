r"""Whether an angular kernel falls, and whether f(alpha) f(beta) > f(alpha + beta) f(0) (Zhu et al. 2021, Lemmas 4.2
and 4.3).

Both are *proved* by closed form (see :func:`.angular.named`; log-concave where positive and falling gives the second),
and for a kernel that is straight between equal steps. There the first is a matter of its slopes. As for the second,
on every triangle of pairs on which nothing bends, :math:`f(\alpha) f(\beta) - f(\alpha + \beta) f(0)` is a product of
two falling lines less a line: saddle-shaped, linear along two sides, concave along the third and so least at a corner.
Any other kernel is looked at on a grid, which may refute but not prove.
"""

import math
from dataclasses import dataclass

import numpy as np

from tutelage.alignment.angular import AngularKernel
from tutelage.alignment.determinants import EPS, SLACK
from tutelage.errors import TutelageError

STEPS = 512


@dataclass(frozen=True)
class ShapeFinding:
    """holds: True where proved, False where refuted, None else. value: the least found; at: the angles it is found at.

    bound: what rounding may have done to the value; reason: what the answer rests on.
    """

    holds: bool | None
    value: float
    bound: float
    at: tuple[float, ...]
    reason: str


def falls(kernel: AngularKernel, steps: int = STEPS) -> ShapeFinding:
    """Whether f falls strictly on [0, pi] (Zhu et al. 2021, Lemma 4.2); value: the least fall over a step, at its
    beginning.

    >>> from tutelage.alignment.angular import from_samples, named
    >>> falls(named("relu")).holds, falls(from_samples([3.0, 1.0, 2.0])).holds
    (True, False)
    """
    angles, values = _on_grid(kernel, steps)
    drops = values[:-1] - values[1:]
    k = int(drops.argmin())
    return _judged(kernel, float(drops[k]), 2 * kernel.error, (float(angles[k]),))


def log_concave(kernel: AngularKernel, steps: int = STEPS) -> ShapeFinding:
    """Whether f(alpha) f(beta) > f(alpha + beta) f(0) for positive alpha + beta < pi (Zhu et al. 2021, Lemma 4.3).

    value: the least difference on the grid; pairs with alpha or beta 0, where both sides are the same, are left out.

    >>> from tutelage.alignment.angular import from_formula, named
    >>> log_concave(named("arc")).holds, log_concave(from_formula(lambda t: 1 / (1 + t))).holds
    (True, False)
    """
    angles, values = _on_grid(kernel, steps)
    n = len(values) - 1
    i, j = np.triu_indices(n)  # alpha <= beta, each at least one step
    i, j = i + 1, j + 1
    i, j = i[i + j <= n], j[i + j <= n]
    gaps = values[i] * values[j] - values[i + j] * values[0]
    k, size = int(gaps.argmin()), float(np.abs(values).max())
    bound = 4 * (size + kernel.error) * kernel.error + 4 * 2.0**-52 * size * size
    finding = _judged(kernel, float(gaps[k]), bound, (float(angles[i[k]]), float(angles[j[k]])))
    if finding.holds and kernel.pieces and falls(kernel).holds is not True:
        return ShapeFinding(
            None, finding.value, bound, finding.at, "it does not fall, so corners of pieces do not tell it all"
        )
    return finding


def _on_grid(kernel: AngularKernel, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """The kernel at its own corners, or at equal steps."""
    if steps < 2:
        raise TutelageError(f"a kernel is looked at on at least 2 steps, not {steps}")
    pieces = kernel.pieces if kernel.pieces >= 2 else steps
    angles = np.linspace(0, math.pi, pieces + 1)
    return angles, kernel(angles)


def _judged(kernel: AngularKernel, value: float, bound: float, at: tuple[float, ...]) -> ShapeFinding:
    if kernel.shaped:
        return ShapeFinding(True, value, bound, at, "by closed form")
    if value < -bound or (value <= 0 and kernel.pieces):
        return ShapeFinding(False, value, bound, at, "by the value at these angles")
    if kernel.pieces and value > bound:
        return ShapeFinding(True, value, bound, at, "by all corners of a kernel that is straight between")
    return ShapeFinding(None, value, bound, at, "only looked at on a grid, or too near to 0")


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
