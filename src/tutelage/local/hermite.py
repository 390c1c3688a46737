r"""The Hermite test function, which sees every direction that is no teacher's (Zhou et al. 2021, Lemma C.4).

.. math:: |t| = \sum_k \sigma_k h_k(t), \qquad
    h(x) = \sqrt{\pi/2} - \sum_{k \le r} h_\ell(\bar w^*_k \cdot x) / \sigma_\ell

with normalised Hermite polynomials h_k and an even l. <h, |w.x|> = |w| (1 - sum_k cos^l angle_k), which is small only
near a teacher. (The paper's norm of h leaves out the r equal pairs, and its sigma_k^2 decays like k^{-3/2}; it is
k^{-5/2}.)
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from scipy.special import gammaln
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.local.exact import loss
from tutelage.local.setting import LocalSetting
from tutelage.population.kernels import pairs

_ROUNDING = 1e-14  # of the masses of all units: what <h, R> may be off by
# The bound holds for every even degree. Low ones have the smallest norm, high ones see only what is far from all
# teachers; from 16 on they are spaced by ratios, since neighbours hardly differ.
_DEGREES = (2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)


def coefficients(k: np.ndarray | int) -> np.ndarray:
    r"""sigma_k: 0 for odd k, sqrt(2/pi) at 0, else (-1)^{k/2-1} sqrt(2/(pi k!)) (k-3)!! (Zhou et al. 2021, Lemma C.6).

    >>> coefficients(np.array([0, 1, 2])).round(7).tolist()
    [0.7978846, 0.0, 0.5641896]
    """
    k = np.asarray(k)
    n = np.maximum(k - 2, 0) / 2
    # (2n - 1)!! = (2n)! / (2^n n!), by logarithms, so that no degree overflows.
    double = gammaln(2 * n + 1) - n * math.log(2) - gammaln(n + 1)
    size = np.exp((math.log(2 / math.pi) - gammaln(k + 1)) / 2 + double)
    signed = np.where(k % 4 == 2, size, -size)
    return np.where(k % 2 == 1, 0.0, np.where(k == 0, math.sqrt(2 / math.pi), signed))


def squared_norm(setting: LocalSetting, degree: int) -> Tensor:
    """||h||^2 = pi / 2 + sum_{k, j} cos^l(angle of teachers k and j) / sigma_l^2: [S]."""
    _even(degree)
    cosine = pairs(setting.teachers, setting.teachers).cosine
    total = (cosine**degree).sum((1, 2)).expand(setting.members)
    return math.pi / 2 + total / float(coefficients(degree)) ** 2


def with_residual(setting: LocalSetting, degree: int) -> Tensor:
    """<h, R>: [S]."""
    _even(degree)
    overlap = (pairs(setting.students, setting.teachers).cosine ** degree).sum(2)
    taught = (pairs(setting.teachers, setting.teachers).cosine ** degree).sum(2).expand(setting.members, -1)
    terms = setting.students.square().sum(2) * (1 - overlap)
    return terms.sum(1) - (setting.lengths * (1 - taught)).sum(1)


@dataclass(frozen=True, eq=False)
class HermiteBound:
    """Lower bounds of the loss by Hermite functions: the best value [S] and its degree [S], and each [S, degrees]."""

    value: Tensor
    degree: Tensor
    each: Tensor


def lower_bound(setting: LocalSetting, degrees: tuple[int, ...] = _DEGREES) -> HermiteBound:
    """The best max(<h, R>, 0)^2 / (2 ||h||^2) over even degrees, below the loss of every member, rounding included."""
    # What rounding may have added is taken off before squaring, so that a bound is never above the loss for that
    # reason.
    rounding = _ROUNDING * (1 + setting.r) * (setting.mass + setting.total)
    met = [(with_residual(setting, n) - rounding).clamp_min(0) for n in degrees]
    each = torch.stack([sure**2 / (2 * squared_norm(setting, n)) for sure, n in zip(met, degrees, strict=True)], 1)
    value, place = each.max(1)
    return HermiteBound(value, torch.tensor(degrees)[place], each)


def angle_energy_bound(
    setting: LocalSetting, degrees: tuple[int, ...] = _DEGREES, value: Tensor | None = None
) -> Tensor:
    r"""The least over l of pi^2 (||h|| sqrt(2 L) + (r - 1) cos^l(Delta/2) sum |w_j|^2): [S].

    It is above sum_j |w_j|^2 delta_j^2, for every even l (Zhou et al. 2021, Lemma C.4 with its constants). value: L,
    where known.
    """
    residual = (2 * (loss(setting) if value is None else value)).sqrt()
    shrunk = (setting.separation / 2).cos()
    bounds = [squared_norm(setting, n).sqrt() * residual + (setting.r - 1) * shrunk**n * setting.mass for n in degrees]
    return math.pi**2 * torch.stack(bounds).amin(0)


def _even(degree: int) -> None:
    if degree < 2 or degree % 2:
        raise TutelageError(f"degree must be even and at least 2, got {degree}")
