"""What a setting says of itself, and what it refuses."""

import math

import pytest
import torch

from tutelage import TutelageError
from tutelage.local.setting import LocalSetting, effective, ineffective

EYE = torch.eye(3, dtype=torch.float64)


def test_numbers_of_a_setting():
    teachers = torch.tensor([[2.0, 0.0], [0.0, -3.0]])
    found = LocalSetting(teachers, torch.ones(4, 5, 2))
    assert (found.members, found.r, found.m, found.d) == (4, 2, 5, 2)
    assert found.total.tolist() == [5.0] * 4
    assert (found.longest[0], found.shortest[0], found.mass[0]) == (3, 2, 10)
    assert found.separation.tolist() == pytest.approx([math.pi / 2] * 4)
    assert found.students.dtype == torch.float64


@pytest.mark.parametrize("angle", [0.3, math.pi - 0.3])
def test_separation_is_that_of_lines(angle):
    teachers = torch.tensor([[1.0, 0.0], [math.cos(angle), math.sin(angle)]], dtype=torch.float64)
    assert LocalSetting(teachers, teachers).separation.item() == pytest.approx(0.3)


def test_one_teacher_is_as_separated_as_can_be():
    assert LocalSetting(EYE[:1], EYE).separation.item() == pytest.approx(math.pi / 2)


def test_the_seeds_threshold_for_equal_teachers_in_the_plane():
    angles = torch.tensor([0, math.pi / 3, 2 * math.pi / 3], dtype=torch.float64)
    teachers = torch.stack([angles.cos(), angles.sin()], 1)
    assert LocalSetting(teachers, teachers).threshold_exponent.item() == pytest.approx(-76.6, abs=0.05)


def test_effective_neurons_and_back():
    w = torch.randn(3, 4, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    w[0, 0] = 0
    assert torch.allclose(effective(w).norm(dim=2), w.square().sum(2))
    assert torch.allclose(ineffective(effective(w)), w)


def test_a_member_alone():
    both = LocalSetting(torch.stack([EYE, 2 * EYE]), torch.stack([EYE, EYE]))
    assert both.member(1).total.tolist() == [6.0]


@pytest.mark.parametrize(
    ("teachers", "students", "said"),
    [
        (EYE, EYE[:2], "2 students for 3 teachers"),
        (EYE, torch.eye(4), "do not fit"),
        (torch.zeros(1, 3), EYE, "zero vector"),
        (torch.stack([EYE[0], -EYE[0] + 1e-9 * EYE[1]]), EYE, "two teachers are"),
        (EYE, EYE * math.nan, "not finite"),
        (EYE.expand(2, 3, 3), EYE.expand(3, 3, 3), "do not fit"),
    ],
)
def test_refusals(teachers, students, said):
    with pytest.raises(TutelageError, match=said):
        LocalSetting(teachers, students)


def test_the_least_separation_can_be_chosen():
    teachers = torch.tensor([[1.0, 0.0], [1.0, 0.01]])
    assert LocalSetting(teachers, teachers).separation.item() < 0.011
    with pytest.raises(TutelageError, match="merge them"):
        LocalSetting(teachers, teachers, least=0.1)


def test_zero_students_are_named():
    assert LocalSetting(EYE, torch.cat([EYE, 0 * EYE[:1]])).idle.tolist() == [[False, False, False, True]]


def test_arrays_and_tensors_with_gradients():
    from tutelage.local.exact import loss

    wanted = loss(LocalSetting(EYE, 1.1 * EYE))
    for students in (1.1 * EYE.numpy(), (1.1 * EYE).tolist(), (1.1 * EYE).requires_grad_()):
        assert loss(LocalSetting(EYE, students)).equal(wanted)


@pytest.mark.parametrize(("r", "m", "members"), [(0, 2, 1), (0, 0, 1), (1, 2, 0)])
def test_nothing_is_an_error(r, m, members):
    with pytest.raises(TutelageError, match="do not fit"):
        LocalSetting(torch.ones(1, r, 2), torch.ones(members, m, 2))
