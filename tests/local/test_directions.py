"""The descent direction: identity (12) against samples, Lemma 7 on local students, and where there is none."""

import pytest
import torch
from torch import Tensor

from tutelage.local.directions import _share, direction
from tutelage.local.residuals import residual
from tutelage.local.setting import LocalSetting
from tutelage.local.starts import local_students, separated_teachers


def identity_at(setting: LocalSetting, x: Tensor, angle: Tensor | float | None = None) -> Tensor:
    r"""What identity (12) averages over x, at points [N, d]: [S, N]; its mean is <grad L, D>.

    .. math:: R^2 + R \sum_i \sum_j q_{ij} |w_j|\, w^*_i \cdot x\, (\mathrm{sgn}(w^*_i \cdot x) -
        \mathrm{sgn}(w_j \cdot x))
    """
    d = direction(setting, angle)
    share = _share(d.found, d.angle) * d.found.weight.sqrt().unsqueeze(2)
    taught = x.double() @ setting.teachers.mT
    gate = (x.double() @ d.found.students.mT).sign()
    pulled = (share.sum(1).unsqueeze(1) * taught.abs()).sum(2) - ((gate @ share) * taught).sum(2)
    value = residual(setting, x)
    return value**2 + value * pulled


def test_identity_12_against_samples():
    teachers = separated_teachers(3, 3, [1])
    setting = LocalSetting(teachers, local_students(teachers, 7, [2], spread=0.8))
    x = torch.randn(500_000, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    sample = identity_at(setting, x)[0]
    assert abs(sample.mean() - direction(setting).inner[0]) < 4 * sample.std() / len(x) ** 0.5


@pytest.mark.parametrize(("spread", "least"), [(1e-3, 1.98), (0.1, 1.6), (0.4, 1.3)])
def test_lemma_7_near_the_optimum(spread, least):
    seeds = range(40)
    teachers = separated_teachers(3, 4, seeds)
    found = direction(LocalSetting(teachers, local_students(teachers, 9, seeds, spread=spread)))
    assert bool(found.met.all())
    assert found.ratio.min() > least
    assert bool((found.norm <= found.norm_bound).all())
    assert bool((found.certified_constant <= found.gradient / found.loss + 1e-12).all())


def test_a_flipped_student_has_a_flipped_direction():
    teachers = separated_teachers(2, 3, [0])
    students = local_students(teachers, 4, [0])
    one, other = (direction(LocalSetting(teachers, s * students)) for s in (1, -1))
    assert torch.allclose(one.vectors, -other.vectors)
    assert torch.allclose(one.inner, other.inner)


def test_no_direction_without_students_near_and_none_needed_at_the_optimum():
    teachers = torch.eye(2, dtype=torch.float64)
    lonely = direction(LocalSetting(teachers, torch.tensor([[1.0, 0.0], [0.7, 0.0]])))
    assert lonely.met.tolist() == [False]
    assert lonely.certified_constant.item() == 0
    perfect = direction(LocalSetting(teachers, teachers))
    assert perfect.ratio.item() == 0
    assert perfect.norm.item() == 0
