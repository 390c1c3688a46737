"""The inequalities of Zhou et al. 2021 whose proofs give a constant, written out: both sides for every member, [S]
each.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from scipy.special import betainc, erf
from torch import Tensor

from tutelage.local.directions import direction
from tutelage.local.exact import gradient, loss, loss_and_gradient
from tutelage.local.grouping import groups
from tutelage.local.residuals import least_eigenvalue, second_moments
from tutelage.local.setting import LocalSetting
from tutelage.population.kernels import pairs

KAPPA = 1 / math.sqrt(6)
"""The constant of Theorem 3 that its proof gives: |D|^2 <= 2 sum |w_j|^2 + 4 sum |w*_i|, about 6 sum |w*_i|."""


@dataclass(frozen=True, eq=False)
class Sides:
    """value <= bound is what is claimed: [S] each, or with more axes after the member."""

    value: Tensor
    bound: Tensor

    @property
    def kept(self) -> Tensor:
        """Whether it is so."""
        return self.value <= self.bound


def lojasiewicz(setting: LocalSetting) -> Tensor:
    """|grad L|_F sqrt(r w_max) / L: [S]; Theorem 3 says it is above a constant near the optimum. inf at L = 0."""
    value, slope = loss_and_gradient(setting)
    ratio = slope.flatten(1).norm(dim=1) / torch.where(value > 0, value, 1)
    return torch.where(value > 0, ratio * (setting.r * setting.longest).sqrt(), torch.inf)


def polyak(setting: LocalSetting) -> Tensor:
    """|grad L|_F^2 / L: [S]; above a constant only where m = r (PL; Zhou et al. 2021, Claim 2). inf at L = 0."""
    value, slope = loss_and_gradient(setting)
    ratio = slope.square().sum((1, 2)) / torch.where(value > 0, value, 1)
    return torch.where(value > 0, ratio, torch.inf)


def mass_gap(setting: LocalSetting) -> Sides:
    """| sum |w_j|^2 - sum |w*_i| | <= sqrt(pi L), since E f = sqrt(2/pi) sum |w_j|^2 (Zhou et al. 2021, Lemma C.3)."""
    return Sides((setting.mass - setting.total).abs(), (math.pi * loss(setting)).sqrt())


def gradient_size(setting: LocalSetting) -> Sides:
    """|grad_{w_k} L| <= 2 |w_k| (sum |w_j|^2 + sum |w*_i|), of every student: [S, m] (Zhou et al. 2021, Lemma 13)."""
    size = (setting.mass + setting.total).unsqueeze(1)
    return Sides(gradient(setting).norm(dim=2), 2 * setting.students.norm(dim=2) * size)


def average_error(setting: LocalSetting) -> Sides:
    """|v| <= (sqrt(2 L) + ||R2||) / sqrt(lambda_min(M)) (Zhou et al. 2021, Lemma 9)."""
    flat, mixed, spiky = second_moments(setting)
    residual = (flat + 2 * mixed + spiky).clamp_min(0).sqrt()
    bound = (residual + spiky.clamp_min(0).sqrt()) / least_eigenvalue(setting).sqrt()
    return Sides(groups(setting).error.flatten(1).norm(dim=1), bound)


def spikes(setting: LocalSetting) -> Sides:
    """||R2||^2 <= r (8 / (3 pi)) sum_i (sum over T_i of |w_j|^2 delta_j^{3/2})^2 (Zhou et al. 2021, Lemma 11, section
    5.4).
    """
    grouping = groups(setting)
    each = torch.zeros(setting.members, setting.r, dtype=torch.float64)
    each = each.scatter_add(1, grouping.teacher, grouping.weight * grouping.angle**1.5)
    return Sides(second_moments(setting)[2], setting.r * 8 / (3 * math.pi) * each.square().sum(1))


def descent_loss(setting: LocalSetting, angle: Tensor | float | None = None) -> Sides:
    """2 L - (6 / pi) (sum |w*_i|) (sum |v_i|) delta_max^2 <= <grad L, D> (Zhou et al. 2021, Lemma C.1); inf where there
    is no D.
    """
    d = direction(setting, angle)
    lost = 6 / math.pi * setting.total * d.found.error.norm(dim=2).sum(1) * d.angle**2
    return Sides(torch.where(d.met, 2 * d.loss - lost, torch.inf), d.inner)


def separation_bound(setting: LocalSetting) -> Tensor:
    r"""A proved lower bound of lambda_min(M), pi p^3 / (64 sqrt e): [S] (Zhou et al. 2021, Lemma 10, a factor 2 put
    right).

    :math:`p = \min_i \tfrac12 \mathrm{erf}(\tfrac{\delta}{2\sqrt2}) (1 - \sum_{j \ne i} \mathrm{erf}(\tfrac{\delta (1 +
    |\cos\varphi_{ij}|)}{\sqrt2 \sin\varphi_{ij}}))`, the best over delta in (0, 1]. Very loose, and never too large.
    """
    p = pairs(setting.teachers, setting.teachers)
    off = 1 - torch.eye(setting.r, dtype=torch.float64)
    wide = ((1 + p.cosine.abs()) / torch.where(off == 0, torch.inf, p.sine)).numpy()
    # The bound holds for every delta, so a grid is enough: a missed maximum only makes it looser.
    best = np.zeros(len(wide))
    for delta in np.geomspace(1e-8, 1.0, 400):
        inside = 0.5 * erf(delta / math.sqrt(8)) * (1 - erf(delta * wide / math.sqrt(2)).sum(2))
        best = np.maximum(best, inside.min(1))
    return torch.from_numpy(math.pi * best**3 / (64 * math.sqrt(math.e))).expand(setting.members)


def smoothness(setting: LocalSetting, step: Tensor) -> Sides:
    r"""L(W + U) - L - <grad L, U> against the three terms of Lemma 12 with constants 1, for a step U [S, m, d].

    :math:`(r w_{max})^{1/4} L^{1/2} \|U\|^{3/2} + r w_{max} \|U\|^2 + \|U\|^4` (Zhou et al. 2021, Lemma 12 up to a
    constant).
    """
    value, slope = loss_and_gradient(setting)
    after = loss(setting.moved(setting.students + step))
    size, scale = step.flatten(1).norm(dim=1), setting.r * setting.longest
    rest = after - value - (slope * step).sum((1, 2))
    return Sides(rest, scale**0.25 * value.sqrt() * size**1.5 + scale * size**2 + size**4)


def cover_probability(angle: float, dimension: int) -> float:
    """P(a random line is within the angle of a given one) = I_{sin^2}((d - 1) / 2, 1/2) (Zhou et al. 2021, Lemma
    E.1).
    """
    return float(betainc((dimension - 1) / 2, 0.5, math.sin(min(angle, math.pi / 2)) ** 2))
