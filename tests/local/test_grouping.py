"""Who belongs to whom, and what follows from folding."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tutelage.local.exact import loss
from tutelage.local.grouping import groups
from tutelage.local.setting import LocalSetting, ineffective


def random_setting(seed, members=3):
    draw = torch.Generator().manual_seed(seed)
    teachers = torch.randn(members, 3, 4, generator=draw, dtype=torch.float64)
    return LocalSetting(teachers, torch.randn(members, 7, 4, generator=draw, dtype=torch.float64))


@given(st.integers(0, 10**6))
def test_against_a_loop(seed):
    setting = random_setting(seed)
    found = groups(setting)
    for s in range(3):
        average = torch.zeros(3, 4, dtype=torch.float64)
        for j in range(7):
            w = setting.students[s, j]
            cosines = (setting.teachers[s] @ w) / setting.teachers[s].norm(dim=1) / w.norm()
            i = int(cosines.abs().argmax())
            assert int(found.teacher[s, j]) == i
            assert found.angle[s, j].item() == pytest.approx(math.acos(abs(cosines[i].item())), abs=1e-7)
            average[i] += torch.sign(cosines[i]) * w.norm() * w
        assert torch.allclose(found.average[s], average)
        assert torch.allclose(found.error[s], average - setting.teachers[s])
    assert torch.allclose(found.mass().sum(1), setting.mass)
    assert torch.allclose(found.angle_energy(), (found.weight * found.angle**2).sum(1))


def test_without_folding_a_perfect_student_would_count_as_far():
    """The paper's partition by raw angles has delta = pi and v = -2 w* for the student -w*, whose loss is 0."""
    teacher = torch.tensor([[[1.0, 2.0]]], dtype=torch.float64)
    setting = LocalSetting(teacher, -ineffective(teacher))
    found = groups(setting)
    assert loss(setting).item() < 1e-30
    assert found.angle.item() < 1e-7
    assert found.error.abs().max() < 1e-14
    raw = (setting.students * setting.students.norm(dim=2, keepdim=True)).sum(1) - teacher[0]
    assert torch.allclose(raw, -2 * teacher[0])


@given(st.integers(0, 10**6))
def test_half_mass_angle_is_the_least_that_does(seed):
    setting = random_setting(seed)
    found = groups(setting)
    angle = found.half_mass_angle()
    enough = found.mass(angle) >= setting.lengths / 2
    below = found.mass(angle - 1e-9) >= setting.lengths / 2
    for s in range(3):
        if angle[s] < math.pi / 2:
            assert bool(enough[s].all())
            assert not bool(below[s].all())
        else:
            assert not bool((found.mass()[s] >= setting.lengths[s] / 2).all())


def test_a_zero_student_weighs_nothing():
    setting = LocalSetting(torch.eye(2), torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]))
    found = groups(setting)
    assert found.angle_energy().item() == 0
    assert found.mass().tolist() == [[1.0, 1.0]]
