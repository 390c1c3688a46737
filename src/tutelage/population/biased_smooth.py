r"""Expected products of two units with biases under Gaussian inputs, for erf and for smooth activations.

With U = w.x + b of deviation s, V = v.x + c of deviation t and x ~ N(0, I), the closed forms of erf(u / sqrt 2) are
those of one probability, since :math:`\mathrm{erf}(u / \sqrt 2) = 2 \Phi(u) - 1` and :math:`\Phi(U)` is the chance that
a normal number of its own is below U:

.. math::
    E[\sigma(U) \sigma(V)] = 4 \Phi_2(h, k; \rho) - 2 \Phi(h) - 2 \Phi(k) + 1, \qquad
    h = \tfrac{b}{A}, \quad k = \tfrac{c}{B}, \quad \rho = \tfrac{w \cdot v}{A B}, \quad
    A^2 = 1 + s^2, \quad B^2 = 1 + t^2

What is wanted of slopes are its derivatives by b and c. Other smooth activations go through :mod:`.quadrature`.
"""

import numpy as np
import torch
from scipy.special import ndtr

from tutelage.population.bivariate import both_below, phi
from tutelage.population.kernels import pairs
from tutelage.population.quadrature import expected

Arrays = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Directions w [S, p, d] and biases b [S, p] of some units, v [S, q, d] and c [S, q] of others."""


def product(arrays: Arrays, activation: str) -> np.ndarray:
    """E[sigma(U) sigma(V)] of all pairs: [S, p, q]."""
    if activation == "erf":
        return erf_product(*_standardised(arrays)[2:])
    return _quadrature(arrays, activation, "values")[0]


def slopes(arrays: Arrays, activation: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coefficients of v and of w in E[sigma'(U) sigma(V) x], and E[sigma'(U) sigma(V)]: [S, p, q] each."""
    if activation == "erf":
        return _erf_slopes(arrays)
    along, first, level = _quadrature(arrays, activation, "slopes")
    # Stein's lemma along w: E[sigma'(U) sigma(V) w.x / s] = s outward + (v.w / s) along.
    w, _, v, _ = arrays
    s = np.linalg.norm(w, axis=2)[:, :, None]
    s = np.where(s == 0, 1, s)
    return along, (first - (w @ v.swapaxes(1, 2)) / s * along) / s, level


def erf_product(h: np.ndarray, k: np.ndarray, r: np.ndarray, q: np.ndarray) -> np.ndarray:
    """The formula above, with q the root of 1 - rho^2."""
    return 4 * both_below(h, k, r, q) - 2 * ndtr(h) - 2 * ndtr(k) + 1


def _standardised(arrays: Arrays) -> tuple[np.ndarray, ...]:
    """A, B, h, k, rho and the root of 1 - rho^2 of all pairs: [S, p, q] each."""
    w, b, v, c = arrays
    s, t = np.linalg.norm(w, axis=2)[:, :, None], np.linalg.norm(v, axis=2)[:, None, :]
    first, second = np.hypot(1, s), np.hypot(1, t)
    # (A B)^2 - (w.v)^2 = 1 + s^2 + t^2 + (s t sin)^2 is a sum of squares, so nothing cancels for long units.
    sine = pairs(torch.from_numpy(w), torch.from_numpy(v)).sine.numpy()
    beside = np.hypot(np.hypot(s, t), np.hypot(1, s * t * sine))
    r, q = (w @ v.swapaxes(1, 2)) / (first * second), beside / (first * second)
    h, k = b[:, :, None] / first, c[:, None, :] / second
    first, second, h, k, r, q = np.broadcast_arrays(first, second, h, k, r, q)
    return first, second, h, k, r, q


def _erf_slopes(arrays: Arrays) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""With :math:`z = (k - \rho h) / q`, the derivatives by b and c, by b twice, and by b:

    .. math:: \tfrac{4}{AB} \varphi_2, \qquad -\tfrac{2}{A^2} \left(h \varphi(h) (2 \Phi(z) - 1) +
        2 \rho \varphi_2\right), \qquad \tfrac{2}{A} \varphi(h) (2 \Phi(z) - 1)
    """
    first, second, h, k, r, q = _standardised(arrays)
    z = (k - r * h) / q
    density, lean = phi(h) * phi(z) / q, phi(h) * (2 * ndtr(z) - 1)
    return 4 / (first * second) * density, -2 / first**2 * (h * lean + 2 * r * density), 2 / first * lean


def _quadrature(arrays: Arrays, activation: str, what: str) -> tuple[np.ndarray, ...]:
    w, b, v, c = (torch.from_numpy(np.ascontiguousarray(a)) for a in arrays)
    p = pairs(w, v)
    return tuple(a.numpy() for a in expected(p.first, p.second, p.cosine, activation, what, (b, c)))
