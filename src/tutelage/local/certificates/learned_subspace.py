r"""A subspace learned from samples holds the teachers, so directions in it give a small loss (Zhou et al. 2021, Lemmas
E.3 to E.5).

With M = sqrt(2/pi) sum |w*_i| u_i u_i^T, of rank at most r, Q the top r eigenvectors of a sampled M^, and
eps = ||M^ - M||_2, no unit x across to Q has x^T M x > 2 eps. So for the projections v_i = Q Q^T w*_i

.. math:: \Bigl(\sum_i |v_i - w^*_i|\Bigr)^2 \le \sqrt{2\pi}\, r \sum_i |w^*_i|\, \epsilon
"""

import math

import torch
from torch import Tensor

from tutelage.certificates.records import Certificate, Part, check
from tutelage.local.certificates._local import ROUNDING, signed, size
from tutelage.local.exact import loss
from tutelage.local.initialise import fit_lengths, second_moment, subspace
from tutelage.local.setting import LocalSetting, ineffective
from tutelage.population.kernels import pairs


def learned_subspace(
    teachers: Tensor, moment: Tensor, directions: Tensor, number: int, *, chance: float = 0.9
) -> list[Certificate]:
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

    statement = "Directions in a subspace learned from samples give a loss that falls with samples and directions."
    source = "Theorem 5, Lemmas E.3, E.4 and E.5"
    return signed(start, "learned subspace", source, statement, parts, number=number, chance=chance)
