r"""The slab test function: it sees only what happens near one teacher's hyperplane (Zhou et al. 2021, Lemma 8).

.. math:: h(x) = (|\bar w^* \cdot x| - g)\, 1\{|\bar w^* \cdot x| \le \tau\}, \qquad
    g = \sqrt{2/\pi}\,(1 - e^{-\tau^2/2}) / \mathrm{erf}(\tau/\sqrt2)

By Cauchy and Schwarz L >= <h, R>^2 / (2 ||h||^2), a lower bound of the loss for every teacher and tau. (The paper has L
for ||R||^2, and w*.x for its unit's: Zhou et al. 2021, section 5.3.) Arrays of angles phi in (0, pi) and thresholds tau
broadcast.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from scipy.special import erf, owens_t
from torch import Tensor

from tutelage.local.grouping import groups
from tutelage.local.setting import LocalSetting
from tutelage.population.kernels import pairs

_ROOT = math.sqrt(2 / math.pi)
_ROUNDING = 1e-14  # of the masses of all units: what <h, R> may be off by
_SMALL = 1e-9  # sine of an angle that counts as 0


def centre(tau: np.ndarray | float) -> np.ndarray:
    """g, the mean of |t| over the slab: about tau / 2."""
    return -_ROOT * np.expm1(-np.square(tau) / 2) / erf(np.asarray(tau) / math.sqrt(2))


def squared_norm(tau: np.ndarray | float) -> np.ndarray:
    r"""||h||^2 = <|t|, |t|>_S - g <1, |t|>_S, about sqrt(2/pi) tau^3 / 12; by quadrature where that cancels."""
    t = np.asarray(tau, dtype=float)
    mass = erf(t / math.sqrt(2))
    plain = mass - _ROOT * t * np.exp(-(t**2) / 2) + _ROOT * centre(t) * np.expm1(-(t**2) / 2)
    return np.where(t < 0.5, _by_quadrature(t), plain)


def _by_quadrature(tau: np.ndarray) -> np.ndarray:
    """The same norm as an integral of squares, which does not cancel."""
    # The plain form subtracts terms of order tau to get one of order tau^3, while this sums squares.
    nodes, weights = np.polynomial.legendre.leggauss(12)
    t = np.multiply.outer(tau, (nodes + 1) / 2)
    density = _ROOT * np.exp(-(t**2) / 2)
    return ((t - centre(tau)[..., None]) ** 2 * density) @ weights * tau / 2


def with_absolute(phi: np.ndarray, tau: np.ndarray | float) -> np.ndarray:
    r"""A(phi) = <|w*.x|, |w.x|>_S for units at the angle phi (Zhou et al. 2021, eq. 9, whose integral is Owen's T).

    .. math::
        \tfrac{2}{\pi} s (1 - e^{-\tau^2/(2 s^2)}) + 2c\,(\tfrac12 - \tfrac{\varphi}{\pi} - 2 T(\tau, \cot\varphi))
        - \sqrt{2/\pi}\, \tau e^{-\tau^2/2} c\, \mathrm{erf}(\tau \cot\varphi / \sqrt2)
    """
    s, c, cot = _turned(phi)
    first = -2 / math.pi * s * np.expm1(-np.square(tau) / (2 * s * s))
    second = 2 * c * (0.5 - phi / math.pi - 2 * owens_t(tau, cot))
    return first + second - _ROOT * tau * np.exp(-np.square(tau) / 2) * c * erf(tau * cot / math.sqrt(2))


def with_one(phi: np.ndarray, tau: np.ndarray | float) -> np.ndarray:
    r"""B(phi) = <1, |w.x|>_S = sqrt(2/pi) (erf(tau / (sqrt2 s)) - c e^{-tau^2/2} erf(tau cot / sqrt2)), eq. 10."""
    s, c, cot = _turned(phi)
    inner = c * np.exp(-np.square(tau) / 2) * erf(tau * cot / math.sqrt(2))
    return _ROOT * (erf(tau / (math.sqrt(2) * s)) - inner)


def with_test(phi: np.ndarray, tau: np.ndarray | float) -> np.ndarray:
    """H(phi) = <h, |w.x|>_S = A - g B; ||h||^2 at 0 and pi."""
    phi = np.asarray(phi, dtype=float)
    value = with_absolute(phi, tau) - centre(tau) * with_one(phi, tau)
    return np.where(np.sin(phi) < _SMALL, squared_norm(tau), value)


def slope(phi: np.ndarray, tau: np.ndarray | float) -> np.ndarray:
    """dH/dphi, at most 0 on (0, pi/2] (Zhou et al. 2021, Lemma 8)."""
    s, _, cot = _turned(phi)
    bell, mass, tilted = np.exp(-np.square(tau) / 2), erf(tau / math.sqrt(2)), erf(tau * cot / math.sqrt(2))
    first = (2 * bell * (bell - 1) + math.sqrt(2 * math.pi) * bell * tau * mass) * tilted / (math.pi * mass)
    return s * (first + 4 * owens_t(tau, cot) - 1 + 2 * phi / math.pi)


def helper(tau: np.ndarray | float, phi: np.ndarray) -> np.ndarray:
    """h2 = 4 T(tau, cot phi) - 1 + 2 phi / pi + tau erf(tau cot / sqrt2) / sqrt(2 pi): at most 0 up to arccot 3.

    (Zhou et al. 2021, technical Lemma C.3, which closes with phi <= pi/4; it is positive beyond pi/6 for small tau.)
    """
    _, _, cot = _turned(phi)
    term = tau / math.sqrt(2 * math.pi) * erf(tau * cot / math.sqrt(2))
    return 4 * owens_t(tau, cot) - 1 + 2 * np.asarray(phi) / math.pi + term


def _turned(phi: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sine, cosine and cotangent, the sine kept off 0."""
    s, c = np.maximum(np.sin(phi), _SMALL), np.cos(phi)
    return s, c, c / s


@dataclass(frozen=True, eq=False)
class SlabBound:
    """Lower bounds of the loss by slabs: value [S], with the teacher [S] and tau [S] that gave it; each [S, r]."""

    value: Tensor
    teacher: Tensor
    tau: Tensor
    each: Tensor


def lower_bound(setting: LocalSetting, taus: np.ndarray | None = None) -> SlabBound:
    """The best <h, R>^2 / (2 ||h||^2) over teachers and thresholds, below the loss of every member.

    taus [G]: thresholds to try; by default 64 between a hundredth of the angle at which half of the mass is met and 3.
    <h, R> = sum_j |w_j|^2 H(angle of j) - sum_k |w*_k| H(angle of k), angles with the teacher of the slab; what
    rounding may have made of it is taken off first, so a bound of a loss near rounding is 0 and never too large.
    """
    grouping = groups(setting)
    if taus is None:
        low = max(1e-3, 0.01 * float(grouping.half_mass_angle().min()))
        taus = np.geomspace(low, 3.0, 64)
    between = pairs(setting.teachers, setting.teachers).angle
    taught = torch.minimum(between, math.pi - between).expand(setting.members, -1, -1).numpy()
    heights, lengths, angles = grouping.weight.numpy(), setting.lengths.numpy(), grouping.angles.numpy()
    rounding = _ROUNDING * (heights.sum(1) + lengths.sum(1))[:, None]
    bounds = np.empty((len(taus), setting.members, setting.r))
    # Any tau gives a valid bound; the grid decides only how tight the best is. Its lowest value follows the students,
    # since a slab much wider than their angles averages what it should see.
    for g, tau in enumerate(taus):
        met = np.einsum("sj,sji->si", heights, with_test(angles, tau))
        met -= np.einsum("sk,ski->si", lengths, with_test(taught, tau))
        sure = np.maximum(np.abs(met) - rounding, 0)
        bounds[g] = sure**2 / (2 * squared_norm(tau))
    each = bounds.max(0)
    best = torch.from_numpy(bounds.transpose(1, 0, 2).reshape(setting.members, -1).argmax(1))
    tau = torch.from_numpy(np.asarray(taus, dtype=float))[best // setting.r]
    return SlabBound(torch.from_numpy(each.max(1)), best % setting.r, tau, torch.from_numpy(each))
