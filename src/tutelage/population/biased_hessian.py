r"""The Hessian of the population loss of two-layer networks with biases, x ~ N(0, I): all of it in closed form.

With X = (x, 1), U_p = w_p.x + b_p of the units p of both networks, and g the products of their fan-outs, the teacher's
with a minus, the block of units p and q is

.. math::
    H_{pq} = g_{pq}\, E[\sigma'(U_p) \sigma'(U_q) X X^T] + [p = q] \sum_o g_{po}\, E[\sigma''(U_p) \sigma(U_o) X X^T]

The first term needs the bivariate normal distribution, by Owen's T, and its density; in the second
:math:`\sigma'' = (1 - \text{slope})\, \delta`, which leaves normal variables given that U_p = 0. No quadrature.
"""

import numpy as np
import torch
from scipy.special import ndtr
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.networks import Network
from tutelage.population.biased import _PARALLEL, _check, _half, _leak, _phi, _standardised, _units, directions


def hessian(teacher: Network, students: Network) -> Tensor:
    """d2J over weights and biases of the first layer, w_1, b_1, w_2, b_2, ...: [S, n (d + 1), n (d + 1)].

    For students without biases over w_1, w_2, ... alone: [S, n d, n d]. A unit with neither weights nor bias sits on
    the kink of its activation and has no Hessian: it raises an error.

    >>> one = torch.ones(1, 1, 1, dtype=torch.float64)
    >>> net = Network((one, one), (0 * one[0], 0 * one[0]))
    >>> hessian(net, net).round(decimals=4).tolist()  # E[1(x > 0) (x, 1)(x, 1)^T]
    [[[0.5, 0.3989], [0.3989, 0.5]]]
    """
    _check(teacher, students)
    w, b, c = (torch.cat(p, 1).numpy() for p in zip(_units(students, 1.0), _units(teacher, -1.0), strict=True))
    n, leak = students.widths[1], _leak(students.activation, students.slope)
    own_w, own_b, g = w[:, :n], b[:, :n], c[:, :n] @ c.swapaxes(1, 2)
    lost = (own_w == 0).all(2) & (own_b == 0)
    if leak != 1 and lost.any():
        member, unit = np.argwhere(lost)[0]
        raise TutelageError(
            f"unit {unit} of member {member} has neither weights nor bias, where the loss has a kink and no Hessian: "
            "leave such units out"
        )
    blocks = g[:, :, :n, None, None] * _gated(own_w, own_b, leak)
    blocks[:, np.arange(n), np.arange(n)] += _kinked(g, own_w, own_b, w, b, leak)
    size = own_w.shape[2] + (students.biases is not None)
    flat = blocks[..., :size, :size].swapaxes(2, 3).reshape(len(w), n * size, n * size)
    return torch.from_numpy((flat + flat.swapaxes(1, 2)) / 2)


def _gated(w: np.ndarray, b: np.ndarray, leak: float) -> np.ndarray:
    """E[sigma'(U) sigma'(V) X X^T] of all pairs: [S, n, n, d + 1, d + 1]."""
    total = _second_moments(w, b, w, b)
    if leak:
        for sign_u, sign_v in ((1, -1), (-1, 1), (-1, -1)):
            power = leak * leak if sign_u == sign_v else leak
            total = total + power * _second_moments(sign_u * w, sign_u * b, sign_v * w, sign_v * b)
    return total


def _second_moments(w: np.ndarray, b: np.ndarray, v: np.ndarray, c: np.ndarray) -> np.ndarray:
    r"""E[1(U > 0) 1(V > 0) X X^T] of all pairs: [S, p, q, d + 1, d + 1].

    With h, k, r, q as in :mod:`.biased`, unit vectors u and v of the weights, :math:`z = (k - rh)/q` and
    :math:`y = (h - rk)/q`, integration by parts gives the moments of x

    .. math::
        \varphi(h) \Phi(z)\, u + \varphi(k) \Phi(y)\, v \quad \text{and} \quad
        \Phi_2\, I - (h \varphi(h) \Phi(z) + r \varphi_2)\, u u^T - (k \varphi(k) \Phi(y) + r \varphi_2)\, v v^T
        + \varphi_2\, (u v^T + v u^T)
    """
    s, t, b_all, c_all, h, k, r = _standardised(w, b, v, c)
    usual = np.abs(r) <= 1 - _PARALLEL
    inner = np.where(usual, r, 0.0)
    q = np.sqrt((1 - inner) * (1 + inner))
    z, y = (k - inner * h) / q, (h - inner * k) / q
    density, first, second = _phi(h) * _phi(z) / q, _phi(h) * ndtr(z), _phi(k) * ndtr(y)
    uu, vv = -h * first - inner * density, -k * second - inner * density
    # parallel units leave one normal variable, above both boundaries or between them
    start, meet = np.minimum(h, k), h + k > 0
    along = np.where(r > 0, _phi(start), meet * (_phi(h) - _phi(k)))
    square = np.where(r > 0, -start * _phi(start), meet * (-h * _phi(h) - k * _phi(k)))
    # a unit without weights is a constant, on or off
    only_u, only_v = (c_all > 0) * _phi(h), (b_all > 0) * _phi(k)
    zero, kinds = np.zeros_like(h), [s == 0, t == 0, usual]
    moments = (
        np.select(kinds, [zero, only_u, first], along),
        np.select(kinds, [np.where(t == 0, 0.0, only_v), zero, second], zero),
        np.select(kinds, [zero, -h * only_u, uu], square),
        np.select(kinds, [np.where(t == 0, 0.0, -k * only_v), zero, vv], zero),
        np.select(kinds, [zero, zero, density], zero),
    )
    return _assembled(_half(w, b, v, c)[0], *moments, directions(w)[:, :, None, :], directions(v)[:, None, :, :])


def _kinked(g: np.ndarray, w: np.ndarray, b: np.ndarray, v: np.ndarray, c: np.ndarray, leak: float) -> np.ndarray:
    """The sum over V of g E[sigma''(U) sigma(V) X X^T] for every U: g [S, n, q] -> [S, n, d + 1, d + 1]."""
    up, down = _at_kink(w, b, v, c), _at_kink(w, b, -v, -c)
    return (1 - leak) * (g[..., None, None] * (up - leak * down)).sum(2)


def _at_kink(w: np.ndarray, b: np.ndarray, v: np.ndarray, c: np.ndarray) -> np.ndarray:
    r"""E[delta(U) V_+ X X^T] of all pairs, 0 for a unit without weights: [S, p, q, d + 1, d + 1].

    Given U = 0, x is :math:`-h u` and a normal vector in the plane beside, so V is normal with mean
    :math:`\mu = c - rth` and deviation :math:`\tau = tq`. With n the unit of v beside u, :math:`\zeta = \mu/\tau` and
    :math:`m = E V_+ = \mu \Phi(\zeta) + \tau \varphi(\zeta)`, times the density :math:`\varphi(h)/s`,

    .. math:: -h m\, u + \tau \Phi(\zeta)\, n \quad \text{and} \quad
        m\, (I + (h^2 - 1)\, u u^T) + \tau \varphi(\zeta)\, n n^T - h \tau \Phi(\zeta)\, (u n^T + n u^T)
    """
    s, t, _, c, h, _, r = _standardised(w, b, v, c)
    u, v = directions(w)[:, :, None, :], directions(v)[:, None, :, :]
    rest = v - r[..., None] * u
    q = np.linalg.norm(rest, axis=-1)
    n = rest / np.where(q == 0, 1, q)[..., None]
    mean, spread = c - r * t * h, t * q
    zeta = mean / np.where(spread == 0, 1, spread)
    above = np.where(spread == 0, 1.0 * (mean > 0), ndtr(zeta))
    bump = np.where(spread == 0, 0.0, spread * _phi(zeta))
    level = mean * above + bump
    at = np.where(s == 0, 0.0, _phi(h) / np.where(s == 0, 1, s))
    moments = (-h * level, spread * above, (h * h - 1) * level, bump, -h * spread * above)
    u1, n1, uu, nn, un = (at * moment for moment in moments)
    return _assembled(at * level, u1, n1, uu, nn, un, u, n)


def _assembled(
    weight: np.ndarray, u1: np.ndarray, v1: np.ndarray, uu: np.ndarray, vv: np.ndarray, uv: np.ndarray,
    u: np.ndarray, v: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """[[weight I + uu u u^T + vv v v^T + uv (u v^T + v u^T), u1 u + v1 v], [its transpose, weight]]."""
    u, v = np.broadcast_arrays(u, v)
    d = u.shape[-1]
    out = np.empty((*weight.shape, d + 1, d + 1))
    # (uu u + uv v) u^T + (uv u + vv v) v^T
    left, right = (a[..., None] * u + e[..., None] * v for a, e in ((uu, uv), (uv, vv)))
    out[..., :d, :d] = left[..., :, None] * u[..., None, :] + right[..., :, None] * v[..., None, :]
    out[..., np.arange(d), np.arange(d)] += weight[..., None]
    out[..., :d, d] = out[..., d, :d] = u1[..., None] * u + v1[..., None] * v
    out[..., d, d] = weight
    return out
