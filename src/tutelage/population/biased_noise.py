r"""What single samples add to the overlaps of units with biases, E[delta_k delta_l], for erf and gate activations.

.. math:: E[\delta_k \delta_l] = E[\sigma'(u_k) \sigma'(u_l)\, (c_k \cdot e)(c_l \cdot e)], \qquad
    e = \sum_p a_p \sigma(u_p) + o, \quad a = (c, -c^*)

over pre-activations u ~ N(m, C), with the difference o of the output biases.

erf: the two slopes are Gaussian, so the average is a weight times that of the rest under another Gaussian,

.. math:: m' = m - C_B (1 + B)^{-1} m_B, \quad C' = C - C_B (1 + B)^{-1} C_B^T, \quad
    \tfrac{2}{\pi} \det(1 + B)^{-1/2} e^{-m_B^T (1 + B)^{-1} m_B / 2}

with the block B of (k, l), and the rest has the closed form of :mod:`.biased_smooth`.

Gates: given u_k and u_l, the rest is the closed form of :mod:`.biased` for two units with other biases, and smooth
while u_k and u_l keep their signs. Two integrals are left, over u_k and over what u_l has beside it, by Gauss and
Legendre's rule between the places where a sign changes; one where k = l.
"""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from tutelage.population import biased
from tutelage.population._fourfold import tilted
from tutelage.population.biased_smooth import erf_product
from tutelage.population.bivariate import phi
from tutelage.population.overlaps import Overlaps

NODES = 24
"""Points between two places where a sign changes."""
_REACH = 7.0  # of the rule: the chance beyond is 3e-12
_WIDE = 6.0  # widths around the place where u_l changes its sign, given u_k
_PARALLEL = 1e-7  # sine of the angle of two units below which overlaps cannot tell them apart
_CHUNK = 1 << 18  # products of two units formed at a time


def biased_noise(now: Overlaps, shorter: bool = False) -> Tensor:
    """E[delta_k delta_l] without the noise of labels: [S, K, K]; shorter: by three quarters of the points."""
    lean = now.c @ torch.cat([now.c, -now.taught], 1).mT  # c_k . a_p
    shift = (now.c @ now.offset.unsqueeze(2)).squeeze(2)  # c_k . o
    if now.activation == "erf":
        return _erf(now, lean, shift)
    leak = biased.leak_of(now.activation, now.slope)
    root, m = now.root(), now.means
    if leak == 1:
        second = biased.product(root, m, root, m, "linear")
        there = (lean @ m.unsqueeze(2)).squeeze(2)
        cross = there.unsqueeze(2) * shift.unsqueeze(1)
        return lean @ second @ lean.mT + cross + cross.mT + shift.unsqueeze(2) * shift.unsqueeze(1)
    x, means, leans, shifts = (a.numpy() for a in (root, m, lean, shift))
    count, nodes = now.q.shape[1], NODES * 3 // 4 if shorter else NODES
    out = torch.empty_like(now.q)
    for k in range(count):
        for other in range(k, count):
            value = np.zeros(len(x))
            for signs in _signs(leak, k == other):
                value += _region(x, means, leans, shifts, (k, other), signs, leak, nodes)
            out[:, k, other] = out[:, other, k] = torch.from_numpy(value)
    return out


def _erf(now: Overlaps, lean: Tensor, shift: Tensor) -> Tensor:
    count, m = now.q.shape[1], now.means
    c, parts, inverse, determinant = tilted(now.covariance, count)
    first, second = m[:, :count, None], m[:, None, :count]
    m = m[:, None, None] - parts[0] * first.unsqueeze(3) - parts[1] * second.unsqueeze(3)
    exponent = inverse[0] * first**2 + inverse[1] * second**2 + 2 * inverse[2] * first * second
    weight = 2 / torch.pi * torch.exp(-exponent / 2) / determinant.sqrt()
    size = (1 + c.diagonal(dim1=3, dim2=4)).sqrt()
    h, product = m / size, size.unsqueeze(4) * size.unsqueeze(3)
    # 1 - r^2 without its cancellation for long units, as far as overlaps have the digits
    beside = (product**2 - c**2).clamp_min(1).sqrt() / product
    each = (h.unsqueeze(4).numpy(), h.unsqueeze(3).numpy(), (c / product).numpy(), beside.numpy())
    both, alone = torch.from_numpy(erf_product(*each)), torch.erf(h / 2**0.5)
    total = torch.einsum("skp,slq,sklpq->skl", lean, lean, both)
    total += torch.einsum("skp,sklp,sl->skl", lean, alone, shift) + torch.einsum("slp,sklp,sk->skl", lean, alone, shift)
    return weight * (total + shift.unsqueeze(2) * shift.unsqueeze(1))


def _signs(leak: float, same: bool) -> Iterator[tuple[int, int]]:
    """Signs of u_k and u_l with slopes that are not 0."""
    each = (1,) if leak == 0 else (1, -1)
    return ((a, b) for a in each for b in each if a == b or not same)


def _region(
    x: np.ndarray, m: np.ndarray, lean: np.ndarray, shift: np.ndarray, pair: tuple[int, int], signs: tuple[int, int],
    leak: float, nodes: int,
) -> np.ndarray:  # fmt: skip
    """The part of E[delta_k delta_l] where u_k and u_l have these signs: vectors x [S, P, P], means m [S, P] -> [S]."""
    k, other = pair
    size = np.linalg.norm(x, axis=2)
    h, unit = m / size, x / size[..., None]
    e1 = unit[:, k]
    r = np.einsum("sd,spd->sp", e1, unit)
    rest = unit - r[..., None] * e1[:, None]
    q = np.maximum(np.linalg.norm(rest, axis=2), _PARALLEL)
    e2 = np.where(q[:, [other]] > _PARALLEL, rest[:, other] / q[:, [other]], 0)
    z, weight = _nodes(h, r, q, pair, signs, nodes)
    weight = weight * np.prod([leak if sign < 0 else 1.0 for sign in signs])
    along = np.stack([np.einsum("spd,sd->sp", x, e) for e in (e1, e2)], 1)  # [S, 2, P]
    beside = x - np.einsum("sap,sad->spd", along, np.stack([e1, e2], 1))
    beside[:, pair] = 0
    mean = m[:, None] + z @ along
    deviation = np.linalg.norm(beside, axis=2)[:, None]
    alone = biased.mean_above(mean, deviation) - leak * biased.mean_above(-mean, deviation)
    first, second = (alone @ lean[:, i, :, None] + shift[:, i, None, None] for i in pair)
    total = (first * second)[..., 0]
    others = [p for p in range(x.shape[1]) if p not in pair]
    if others:
        pairs = lean[:, k][:, others, None] * lean[:, other][:, None, others]
        total = total + _covariances(beside[:, others], mean[..., others], alone[..., others], pairs, leak)
    return (weight * total).sum(1)


def _covariances(w: np.ndarray, b: np.ndarray, alone: np.ndarray, factors: np.ndarray, leak: float) -> np.ndarray:
    """Covariances of units times factors [S, p, p], summed, for biases b [S, N, p] of which means are known: [S, N]."""
    out = np.empty(b.shape[:2])
    size = max(1, _CHUNK // w.shape[1] ** 2)
    for member, vectors in enumerate(w):
        for begin in range(0, b.shape[1], size):
            part = slice(begin, begin + size)
            biases, level = (torch.from_numpy(a[member, part]) for a in (b, alone))
            units = torch.from_numpy(vectors).expand(len(biases), -1, -1)
            products = biased.product(units, biases, units, biases, "leaky", leak)
            rest = products - level.unsqueeze(2) * level.unsqueeze(1)
            out[member, part] = (rest.numpy() * factors[member]).sum((1, 2))
    return out


def _nodes(
    h: np.ndarray, r: np.ndarray, q: np.ndarray, pair: tuple[int, int], signs: tuple[int, int], nodes: int
) -> tuple[np.ndarray, np.ndarray]:
    """Nodes [S, N, 2] and weights [S, N] where two units have these signs.

    Over two independent normal numbers, that of unit k and what unit l has beside it; from the units' biases over their
    lengths h, and their correlations r and sines q with unit k [S, P].
    """
    x, weight = np.polynomial.legendre.leggauss(nodes)
    k, other = pair
    # The outer rule stops around the places where other units change their signs, which are steps in z_1 as wide as the
    # sine of the two units: students start near one another and end near a teacher.
    near = [p for p in range(h.shape[1]) if p != k] if k == other else [other]
    turn = np.where(r < 0, -1, 1) * np.maximum(np.abs(r), _PARALLEL)
    centre, wide = (-h / turn)[:, near], (_WIDE * q / np.abs(turn))[:, near]
    ends = np.sort(np.stack([-h[:, k], np.full_like(h[:, k], signs[0] * _REACH)], 1).clip(-_REACH, _REACH), 1)
    stops = np.concatenate([ends, centre - wide, centre, centre + wide], 1)
    edges = np.sort(stops.clip(ends[:, :1], ends[:, 1:]), 1)
    z1, w1 = _legendre(edges[:, :-1], edges[:, 1:], x, weight)
    z1, w1 = z1.reshape(len(h), -1), w1.reshape(len(h), -1)
    used = (w1 > 0).any(0)
    z1, w1 = z1[:, used], w1[:, used]
    if k == other:
        return np.stack([z1, np.zeros_like(z1)], 2), w1
    edge = (-(h[:, [other]] + r[:, [other]] * z1) / q[:, [other]]).clip(-_REACH, _REACH)
    far = np.full_like(edge, signs[1] * _REACH)
    z2, w2 = _legendre(np.minimum(edge, far), np.maximum(edge, far), x, weight)
    z = np.stack(np.broadcast_arrays(z1[..., None], z2), -1)
    return z.reshape(len(h), -1, 2), (w1[..., None] * w2).reshape(len(h), -1)


def _legendre(low: np.ndarray, high: np.ndarray, x: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nodes between ends [...] and weights with the normal density: [..., n] each."""
    middle, half = (low + high)[..., None] / 2, (high - low)[..., None] / 2
    z = middle + half * x
    return z, half * weight * phi(z)
