r"""Starts with a small loss: directions that cover every teacher (Zhou et al. 2021, Theorem 5, Lemmas E.1, E.3 to E.5).

They may be random, or lie in a subspace that is learned from samples and holds the teachers nearly.

With M = sqrt(2/pi) sum |w*_i| u_i u_i^T, of rank at most r, Q the top r eigenvectors of a sampled M^, and
eps = ||M^ - M||_2, no unit x across to Q has x^T M x > 2 eps. So for the projections v_i = Q Q^T w*_i

.. math:: \Bigl(\sum_i |v_i - w^*_i|\Bigr)^2 \le \sqrt{2\pi}\, r \sum_i |w^*_i|\, \epsilon
"""

import math

import torch
from torch import Tensor

from tutelage.certificates.records import Finding, Part, check
from tutelage.local.bounds import cover_probability
from tutelage.local.certificates._local import ROUNDING, certificate, findings, size
from tutelage.local.exact import loss
from tutelage.local.initialise import (
    fit_lengths,
    sampled_second_moment,
    samples,
    second_moment,
    subspace,
    subspace_directions,
)
from tutelage.local.setting import LocalSetting, ineffective
from tutelage.population.kernels import pairs


@certificate("covering-start", "Theorem 5, Lemma E.1")
def covering_start(setting: LocalSetting, *, chance: float = 0.9) -> list[Finding]:
    """The best lengths in directions that cover every teacher give a loss that falls with the angle squared.

    L(W') <= (sum |w*_i| 2 sin(gamma / 2))^2 / 2, gamma the greatest angle from a teacher to the nearest direction.

    The directions are those of the students; lengths are fitted exactly. ``chance``: the settings tell how
    many random directions would cover every teacher within this gamma with that probability (Zhou et al. 2021, Lemma
    E.1 with the probability exact; the paper's denominator has another limit).
    """
    start = LocalSetting(setting.teachers, fit_lengths(setting.students, setting.teachers))
    angle = pairs(setting.students, start.teachers).angle
    apart = angle.minimum(math.pi - angle).amin(1)
    gamma, value, off = apart.amax(1), loss(start), ROUNDING * size(start)
    bound = (start.total * 2 * (gamma / 2).sin()) ** 2 / 2

    def parts(s: int) -> tuple[Part, ...]:
        teacher = int(apart[s].argmax())
        hit = cover_probability(float(gamma[s]), start.d)
        wanted = math.log((1 - chance) / start.r) / math.log1p(-hit) if 0 < hit < 1 else 1.0
        witness = f"gamma {float(gamma[s]):.3g} at teacher {teacher}; {math.ceil(wanted)} directions for {chance:.0%}"
        return (Part("loss", (), check("loss", float(value[s]), "<=", float(bound[s] + off[s] ** 2), witness)),)

    return findings(start, parts, chance=chance)


@certificate("learned-subspace", "Theorem 5, Lemmas E.3, E.4 and E.5")
def learned_subspace(setting: LocalSetting, *, number: int = 10_000, chance: float = 0.9) -> list[Finding]:
    """Directions in a subspace learned from samples give a loss that falls with samples and directions.

    The samples, ``number`` per member, and as many directions as there are students are drawn with seeds 0, 1, ...
    """
    seeds = range(setting.members)
    moment = sampled_second_moment(*samples(setting.teachers, number, seeds))
    directions = subspace_directions(setting.m, subspace(moment, setting.r), seeds)
    return in_subspace(setting.teachers, moment, directions, number, chance)


def in_subspace(
    teachers: Tensor, moment: Tensor, directions: Tensor, number: int, chance: float = 0.9
) -> list[Finding]:
    """Three parts: the sampled moment is near the true one, the projected teachers are near the teachers, and the best
    lengths in directions near those give a small loss.

    teachers [S, r, d] or [1, r, d]; moment [S, d, d] of ``number`` samples; directions [S, m, d]. The first part
    is true of samples with probability ``chance``, by Chebyshev's inequality and
    E||M^ - M||_F^2 <= (d + 1) (d + 4) (sum |w*_i|)^2 / N; the others of every moment, with the eps it has (the paper
    gives all three up to constants).
    """
    start = LocalSetting(teachers, fit_lengths(directions, teachers))
    r, d, total = start.r, start.d, start.total
    eps = torch.linalg.matrix_norm(moment.double() - second_moment(start.teachers), ord=2)
    likely = ((d + 1) * (d + 4) / (number * (1 - chance))) ** 0.5 * total
    basis = subspace(moment.double(), r)
    projected = start.teachers @ basis @ basis.mT
    lost = 2 * loss(LocalSetting(start.teachers, ineffective(projected.expand(start.members, -1, -1))))
    allowed = math.sqrt(2 * math.pi) * r * total * eps
    angle = pairs(directions.double(), projected).angle
    gamma = angle.minimum(math.pi - angle).amin(1).amax(1)
    covered = projected.norm(dim=2).sum(1) * 2 * (gamma / 2).sin()
    bound = (allowed.sqrt() + covered) ** 2 / 2
    value, off = loss(start), ROUNDING * size(start) ** 2

    def parts(s: int) -> tuple[Part, ...]:
        near = check("||M^ - M||", float(eps[s]), "<=", float(likely[s]), f"{number} samples, probability {chance:.0%}")
        kept = check("E(sum |v.x| - sum |w*.x|)^2", float(lost[s]), "<=", float(allowed[s] + off[s]), "projections")
        small = check("loss", float(value[s]), "<=", float(bound[s] + off[s]), f"gamma {float(gamma[s]):.3g}")
        return Part("moment", (), near), Part("projections", (), kept), Part("start", (), small)

    return findings(start, parts, number=number, chance=chance)
