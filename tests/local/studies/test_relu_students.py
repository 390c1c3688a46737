"""Relu students: the loss against Monte Carlo, its gradient against differences, Claim 1 as the paper has it."""

import math

import pytest
import torch

from tutelage.local import LocalSetting, loss
from tutelage.local.setting import ineffective
from tutelage.local.starts import local_students, plane_teachers, separated_teachers
from tutelage.local.studies.relu_students import (
    balanced_teachers,
    linear_part,
    relu_gradient,
    relu_loss,
    to_teachers,
)


@pytest.fixture
def setting():
    teachers = separated_teachers(3, 4, range(2), lengths=(0.5, 1.5))
    return LocalSetting(teachers, local_students(teachers, 5, range(2)))


def residual(setting, x, slope=None):
    student = ((x @ setting.students.mT).clamp_min(0) * setting.students.norm(dim=2)[:, None]).sum(2)
    off = student - (x @ setting.teachers.mT).clamp_min(0).sum(2)
    return off if slope is None else off + (x @ slope.unsqueeze(2)).squeeze(2)


@pytest.mark.parametrize("slope", [None, 0.3])
def test_the_loss_is_that_of_gaussian_inputs(setting, slope):
    term = None if slope is None else slope * torch.arange(8, dtype=torch.float64).view(2, 4)
    x = torch.randn(2, 400_000, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    each = residual(setting, x, term).square() / 2
    error = each.std(1) / each.shape[1] ** 0.5
    assert ((each.mean(1) - relu_loss(setting, term)).abs() < 5 * error).all()


def test_the_best_linear_term_leaves_a_quarter_of_the_loss_of_absolute_values(setting):
    beta = linear_part(setting)
    assert torch.allclose(relu_loss(setting, -beta), loss(setting) / 4, rtol=1e-10)
    assert torch.allclose(relu_loss(setting), loss(setting) / 4 + beta.square().sum(1) / 2, rtol=1e-10)
    other = relu_loss(setting, -beta + 0.1)
    assert torch.allclose(other, loss(setting) / 4 + 4 * 0.1**2 / 2, rtol=1e-10)


def test_the_gradient_is_that_of_the_loss(setting):
    step, exact = 1e-6, relu_gradient(setting)
    for place in [(0, 0, 0), (1, 3, 2), (1, 4, 3)]:
        more, less = (setting.students.clone() for _ in range(2))
        more[place] += step
        less[place] -= step
        slope = (relu_loss(setting.moved(more)) - relu_loss(setting.moved(less)))[place[0]] / (2 * step)
        assert float(slope) == pytest.approx(float(exact[place]), rel=1e-6, abs=1e-9)


def test_three_teachers_at_120_degrees_and_their_opposites():
    teachers = plane_teachers([0, 120, 240])
    opposite = LocalSetting(teachers, ineffective(-teachers))
    assert float(relu_loss(opposite)) < 1e-14
    assert to_teachers(teachers, opposite.students).ravel() == pytest.approx([math.pi / 3] * 3)
    assert to_teachers(teachers, opposite.students, folded=True).max() < 1e-7


def test_balanced_teachers_add_up_to_0():
    assert balanced_teachers(3, 4, range(5)).sum(1).abs().max() < 1e-15
