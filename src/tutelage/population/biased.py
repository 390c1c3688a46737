r"""Expected products of two units with biases under Gaussian inputs, in closed form through the bivariate normal.

Here are relu, leaky, abs and linear units; :mod:`.biased_smooth` has erf and smooth activations.

For U = w.x + b and V = v.x + c with x ~ N(0, I), deviations s = |w|, t = |v|, correlation r, h = b/s, k = c/t and
:math:`q = \sqrt{1 - r^2}` (Rosenbaum 1961 gives the moments of a truncated bivariate normal):

.. math::
    E[U_+ V_+] = (bc + rst)\, \Phi_2(h, k; r) + cs\, \varphi(h)\, \Phi\!\left(\tfrac{k - rh}{q}\right)
    + bt\, \varphi(k)\, \Phi\!\left(\tfrac{h - rk}{q}\right) + st\, q^2\, \varphi_2(h, k; r)

:math:`\Phi_2` is had from Owen's T. Leaky and abs follow from :math:`\sigma(u) = u_+ - \text{slope}\,(-u)_+`. A unit
without weights is a constant, so an output bias is the fan-out of a unit with w = 0, b = 1, over its value.
"""

import math

import numpy as np
import torch
from scipy.special import ndtr
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.networks import Network
from tutelage.networks.activations import value_and_derivative
from tutelage.population import biased_smooth
from tutelage.population.bivariate import both_below, phi

_PARALLEL = 1e-12
"""Units whose correlation is this near to 1 or -1 are taken as parallel, where one normal variable is left."""
_CLOSE = 0.99
"""Above this correlation, up to sign, its sine is taken from differences of unit vectors."""

_SLOPES = {"relu": 0.0, "abs": -1.0, "linear": 1.0}
GATES = ("relu", "leaky", "abs", "linear")
"""Activations that are a gate times the pre-activation."""
_LEVELS = 1.0, -1.0, 2.0, 3.0
"""Biases of the unit without weights that stands for an output bias: where the activation is largest, up to sign."""


def product(w: Tensor, b: Tensor, v: Tensor, c: Tensor, activation: str = "relu", slope: float = 0.01) -> Tensor:
    """E[sigma(w.x + b) sigma(v.x + c)] of all pairs: w [S, p, d], b [S, p], v [S, q, d], c [S, q] -> [S, p, q].

    Exact up to rounding of about 1e-10 of the product of the units' sizes.

    >>> one, zero = torch.ones(1, 1, 1, dtype=torch.float64), torch.zeros(1, 1, dtype=torch.float64)
    >>> round(product(one, zero, one, zero).item(), 12)
    0.5
    """
    x, y, z, u = (a.detach().double().cpu().numpy() for a in (w, b, v, c))
    if activation not in GATES:
        return torch.from_numpy(biased_smooth.product((x, y, z, u), activation))
    leak = leak_of(activation, slope)
    total = _rectified(x, y, z, u)
    # sigma(u) = u_+ - leak (-u)_+, so a product of two units is four products of rectified ones, each with signs
    # turned.
    if leak:
        total = total - leak * (_rectified(-x, -y, z, u) + _rectified(x, y, -z, -u))
        total = total + leak * leak * _rectified(-x, -y, -z, -u)
    return torch.from_numpy(total)


def loss(teacher: Network, students: Network) -> Tensor:
    """J = 1/2 E|f* - f|^2 of two-layer networks with biases, x ~ N(0, I): [S].

    A difference of large terms: losses below about 1e-9 of the outputs' size are lost in rounding.
    """
    _check(teacher, students)
    w, b, c = (torch.cat(pair, dim=1) for pair in zip(_units(students, 1.0), _units(teacher, -1.0), strict=True))
    kernel = product(w, b, w, b, students.activation, students.slope)
    return ((c @ c.mT) * kernel).sum((1, 2)) / 2


def gradient(teacher: Network, students: Network) -> Network:
    r"""dJ with respect to every weight and bias of the students, in the arrays of a network: [S, ...] each.

    With h, k, r, q as above, and the normal density of U at 0 times what V then is on average:

    .. math::
        E[1_{U>0} V_+ x] = v\, \Phi_2(h, k; r) + w\, \tfrac{\varphi(h)}{s}\, E[V_+ | U = 0], \quad
        E[1_{U>0} V_+] = t\left(k \Phi_2 + \varphi(k) \Phi(\tfrac{h - rk}{q}) +
        r \varphi(h) \Phi(\tfrac{k - rh}{q})\right)
    """
    _check(teacher, students)
    w, b, c = (torch.cat(pair, dim=1) for pair in zip(_units(students, 1.0), _units(teacher, -1.0), strict=True))
    n = students.widths[1]
    own_w, own_b = w[:, :n], b[:, :n]
    along, outward, level = slopes(own_w, own_b, w, b, students.activation, students.slope)
    g = (c[:, :n] @ c.mT).numpy()
    dw = torch.from_numpy((g * along) @ w.numpy() + (g * outward).sum(2)[..., None] * own_w.numpy())
    dc = product(w, b, w, b, students.activation, students.slope)[:, : n + (students.biases is not None)] @ c
    weights = (dw.mT, dc[:, :n])
    if students.biases is None:
        return Network(weights, None, students.activation, students.slope)
    top = dc[:, n] / _constant(students)[1]  # the derivative by the fan-out of a unit that is not 1 but a constant
    biases = torch.from_numpy((g * level).sum(2)), top
    return Network(weights, biases, students.activation, students.slope)


def slopes(
    w: Tensor, b: Tensor, v: Tensor, c: Tensor, activation: str, slope: float = 0.01
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of all pairs, the coefficients of v and of w in E[sigma'(U) sigma(V) x], and E[sigma'(U) sigma(V)]: [S, p, q]."""
    arrays = w.numpy(), b.numpy(), v.numpy(), c.numpy()
    if activation not in GATES:
        return biased_smooth.slopes(arrays, activation)
    return _slopes(*arrays, leak_of(activation, slope))


def _slopes(
    w: np.ndarray, b: np.ndarray, v: np.ndarray, c: np.ndarray, leak: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    both, ahead = _half(w, b, v, c)
    along, level = both, ahead
    if leak:
        # The same four products as in `product`. Both the slope and the value of a turned V change sign, hence + for
        # `along`; of `level` only the value does.
        for sign_u, sign_v in ((1, -1), (-1, 1), (-1, -1)):
            chance, mean = _half(sign_u * w, sign_u * b, sign_v * v, sign_v * c)
            power = leak * leak if sign_u == sign_v else leak
            along = along + power * chance
            level = level + (power if sign_v > 0 else -power) * mean
    up, down = _at_boundary(w, b, v, c), _at_boundary(w, b, -v, -c)
    return along, (1 - leak) * (up - leak * down), level


def _half(w: np.ndarray, b: np.ndarray, v: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """P(U > 0, V > 0) and E[1(U > 0) V_+] of all pairs: [S, p, q] each."""
    s, t, b, c, h, k, r = _standardised(w, b, v, c)
    usual = np.abs(r) <= 1 - _PARALLEL
    inner = np.where(usual, r, 0.0)
    q = np.sqrt((1 - inner) * (1 + inner))
    chance = both_below(h, k, inner, q)
    mean = k * chance + phi(k) * ndtr((h - inner * k) / q) + inner * phi(h) * ndtr((k - inner * h) / q)
    # Parallel units depend on one normal variable X: both are on where X > -min(h, k), or, if they look opposite ways,
    # between -h and k, which is empty where h + k < 0.
    start, gap = np.minimum(h, k), np.maximum(ndtr(k) - ndtr(-h), 0)
    beside = np.where(h + k > 0, phi(k) - phi(h) + k * gap, 0.0)
    chance = np.where(usual, chance, np.where(r > 0, ndtr(start), gap))
    mean = t * np.where(usual, mean, np.where(r > 0, phi(start) + k * ndtr(start), beside))
    on, level = b > 0, np.maximum(c, 0)
    # A unit without weights is a constant: it is on or off, and the other one keeps its own distribution.
    chance = np.where(s == 0, on * np.where(t == 0, c > 0, ndtr(k)), np.where(t == 0, (c > 0) * ndtr(h), chance))
    return chance, np.where(s == 0, on * mean_above(c, t), np.where(t == 0, ndtr(h) * level, mean))


def _at_boundary(w: np.ndarray, b: np.ndarray, v: np.ndarray, c: np.ndarray) -> np.ndarray:
    """phi(h)/s E[V_+ | U = 0] of all pairs, 0 for a unit without weights: [S, p, q]."""
    s, t, _, c, h, _, r = _standardised(w, b, v, c)
    spread = t * _sine(w, v, r)
    return np.where(s == 0, 0.0, phi(h) / np.where(s == 0, 1, s) * mean_above(c - r * t * h, spread))


def _standardised(w: np.ndarray, b: np.ndarray, v: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, ...]:
    """s, t, b, c, h, k, r of all pairs: [S, p, q] each."""
    s, t = np.linalg.norm(w, axis=2)[:, :, None], np.linalg.norm(v, axis=2)[:, None, :]
    b, c = b[:, :, None], c[:, None, :]
    r = np.clip((w @ v.swapaxes(1, 2)) / np.where(s * t == 0, 1, s * t), -1, 1)
    return tuple(np.broadcast_arrays(s, t, b, c, b / np.where(s == 0, 1, s), c / np.where(t == 0, 1, t), r))


def _sine(w: np.ndarray, v: np.ndarray, r: np.ndarray) -> np.ndarray:
    """sqrt(1 - r^2) of all pairs [S, p, q], from the vectors where r would leave half of its digits."""
    sine = np.sqrt((1 - r) * (1 + r))
    s, i, j = np.nonzero(np.abs(r) > _CLOSE)
    u, z = directions(w)[s, i], directions(v)[s, j]
    # With unit vectors, |u - z| = 2 sin(theta / 2) and |u + z| = 2 cos(theta / 2), so their product is 2 sin(theta).
    sine[s, i, j] = np.linalg.norm(u - z, axis=1) * np.linalg.norm(u + z, axis=1) / 2
    return sine


def directions(w: np.ndarray) -> np.ndarray:
    """Vectors over their lengths; zero stays zero."""
    size = np.linalg.norm(w, axis=-1, keepdims=True)
    return w / np.where(size == 0, 1, size)


def leak_of(activation: str, slope: float) -> float:
    """The slope of a gate below 0."""
    if activation not in GATES:
        raise TutelageError(f"there is no exact Hessian with biases for '{activation}': choose {', '.join(GATES)}")
    return slope if activation == "leaky" else _SLOPES[activation]


def _units(network: Network, sign: float) -> tuple[Tensor, Tensor, Tensor]:
    """Directions, biases and signed fan-outs of the units, the output bias as one more."""
    w, c = network.weights[0].double().mT, sign * network.weights[1].double()
    if network.biases is None:
        return w, w.new_zeros(w.shape[:2]), c
    b, top = (a.double() for a in network.biases)
    level, value = _constant(network)
    nowhere, there = w.new_zeros(len(w), 1, w.shape[2]), b.new_full((len(w), 1), level)
    return torch.cat([w, nowhere], 1), torch.cat([b, there], 1), torch.cat([c, sign / value * top.unsqueeze(1)], 1)


def _constant(network: Network) -> tuple[float, float]:
    """Bias and value of the unit without weights that stands for an output bias."""
    levels = torch.tensor(_LEVELS if network.activation not in GATES else _LEVELS[:1], dtype=torch.float64)
    values = value_and_derivative(network.activation, levels, network.slope)[0]
    place = int(values.abs().argmax())
    return float(levels[place]), float(values[place])


def _check(teacher: Network, students: Network) -> None:
    for network, who in ((teacher, "teacher"), (students, "students")):
        if network.depth != 2:
            raise TutelageError(f"exact losses are known for two layers, and the {who} has {network.depth}")
    if (teacher.inputs, teacher.outputs) != (students.inputs, students.outputs):
        raise TutelageError("teacher and students have different numbers of inputs or outputs: give both the same")
    kinds = [(n.activation, n.slope if n.activation == "leaky" else None) for n in (teacher, students)]
    if kinds[0] != kinds[1]:
        raise TutelageError(f"teacher and students have different activations ({kinds[0][0]} and {kinds[1][0]})")


def _rectified(w: np.ndarray, b: np.ndarray, v: np.ndarray, c: np.ndarray) -> np.ndarray:
    """E[U_+ V_+] of all pairs: [S, p, q]."""
    s, t, b, c, h, k, r = _standardised(w, b, v, c)
    flat_u, flat_v = s == 0, t == 0
    usual = np.abs(r) <= 1 - _PARALLEL
    inner = np.where(usual, r, 0.0)
    # All three cases are computed for all pairs and then chosen from: arguments are made harmless (r = 0, lengths 1)
    # where a formula does not apply, so no branch raises a warning.
    general = s * t * _standard(h, k, inner)
    parallel = s * t * np.where(r > 0, _same_way(h, k), _opposite(h, k))
    both = np.where(usual, general, parallel)
    only_v = np.maximum(b, 0) * mean_above(c, t)
    only_u = np.maximum(c, 0) * mean_above(b, s)
    return np.where(flat_u, only_v, np.where(flat_v, only_u, both))


def _standard(h: np.ndarray, k: np.ndarray, r: np.ndarray) -> np.ndarray:
    """E[(X + h)_+ (Y + k)_+] of standard normal X, Y with correlation r, |r| < 1."""
    q = np.sqrt((1 - r) * (1 + r))
    density = np.exp(-(h * h - 2 * r * h * k + k * k) / (2 * q * q)) / (2 * math.pi * q)
    out = (h * k + r) * both_below(h, k, r, q) + q * q * density
    return out + k * phi(h) * ndtr((k - r * h) / q) + h * phi(k) * ndtr((h - r * k) / q)


def _same_way(h: np.ndarray, k: np.ndarray) -> np.ndarray:
    """E[(X + h)_+ (X + k)_+]."""
    start = np.maximum(-h, -k)
    return (1 + h * k) * ndtr(-start) + (start + h + k) * phi(start)


def _opposite(h: np.ndarray, k: np.ndarray) -> np.ndarray:
    """E[(X + h)_+ (-X + k)_+]: only -h < X < k counts."""
    inside = (h * k - 1) * (ndtr(k) - ndtr(-h)) + h * phi(k) + k * phi(h)
    return np.where(h + k > 0, inside, 0.0)


def mean_above(mean: np.ndarray, deviation: np.ndarray) -> np.ndarray:
    """E[V_+] of a normal variable, or of a constant where the deviation is 0."""
    z = mean / np.where(deviation == 0, 1, deviation)
    return np.where(deviation == 0, np.maximum(mean, 0), mean * ndtr(z) + deviation * phi(z))


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
    n, leak = students.widths[1], leak_of(students.activation, students.slope)
    own_w, own_b, g = w[:, :n], b[:, :n], c[:, :n] @ c.swapaxes(1, 2)
    lost = (own_w == 0).all(2) & (own_b == 0)
    if leak != 1 and lost.any():
        member, unit = np.argwhere(lost)[0]
        raise TutelageError(
            f"unit {unit} of member {member} has neither weights nor bias, where the loss has a kink and no Hessian: "
            "leave such units out"
        )
    blocks = g[:, :, :n, None, None] * _gated(own_w, own_b, leak)
    # The loss is piecewise smooth in a single input but smooth in expectation: beside the product of slopes, the
    # density of inputs on a unit's own boundary times the error there is part of the second derivative.
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
    density, first, second = phi(h) * phi(z) / q, phi(h) * ndtr(z), phi(k) * ndtr(y)
    uu, vv = -h * first - inner * density, -k * second - inner * density
    # parallel units leave one normal variable, above both boundaries or between them
    start, meet = np.minimum(h, k), h + k > 0
    along = np.where(r > 0, phi(start), meet * (phi(h) - phi(k)))
    square = np.where(r > 0, -start * phi(start), meet * (-h * phi(h) - k * phi(k)))
    # a unit without weights is a constant, on or off
    only_u, only_v = (c_all > 0) * phi(h), (b_all > 0) * phi(k)
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
    bump = np.where(spread == 0, 0.0, spread * phi(zeta))
    level = mean * above + bump
    at = np.where(s == 0, 0.0, phi(h) / np.where(s == 0, 1, s))
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
