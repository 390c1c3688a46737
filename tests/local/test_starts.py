"""Teachers and students to begin with."""

import math

import pytest
import torch

from tutelage import TutelageError
from tutelage.local.exact import loss, loss_and_gradient
from tutelage.local.grouping import groups
from tutelage.local.setting import LocalSetting
from tutelage.local.starts import (
    lazy_students,
    local_students,
    normal_students,
    opposite_pair,
    plane_teachers,
    separated_teachers,
    split_students,
)


def test_separated_teachers_are_separated_and_a_members_own():
    many = separated_teachers(4, 3, range(20), separation=0.6, lengths=(0.5, 2.0))
    found = LocalSetting(many, many)
    assert found.separation.min() >= 0.6
    assert found.shortest.min() >= 0.5
    assert found.longest.max() <= 2.0
    assert torch.equal(separated_teachers(4, 3, [7], separation=0.6, lengths=(0.5, 2.0))[0], many[7])
    with pytest.raises(TutelageError, match="lower the separation"):
        separated_teachers(5, 2, [0], separation=0.7)


def test_local_students_share_each_teachers_mass():
    teachers = separated_teachers(3, 4, range(5), lengths=(0.5, 2.0))
    students = local_students(teachers, 8, range(5), spread=0.05)
    found = groups(LocalSetting(teachers, students))
    assert torch.allclose(found.mass(), LocalSetting(teachers, students).lengths)
    assert found.angle.max() < 0.3
    assert len(set(found.sign.flatten().tolist())) == 2
    with pytest.raises(TutelageError, match="at least as many"):
        local_students(teachers, 2, range(5))


def test_split_students_have_no_loss():
    teachers = separated_teachers(2, 3, range(4), lengths=(0.5, 2.0))
    students = split_students(teachers, [[0.25, 0.75], [0.1, 0.2, 0.7]])
    assert students.shape == (4, 5, 3)
    assert loss(LocalSetting(teachers, students)).max() < 1e-28


def test_an_opposite_pair_averages_to_its_teacher():
    found = groups(opposite_pair(0.2, 3))
    assert found.error.abs().max() < 1e-15
    assert found.angle.flatten().tolist() == pytest.approx([0.2, 0.2])


def test_lazy_students_start_at_zero():
    students, top = lazy_students(20, 2, range(3), 10.0)
    teachers = plane_teachers([20, 80, 140])
    value, _ = loss_and_gradient(LocalSetting(teachers, students), top)
    nothing = LocalSetting(teachers, torch.zeros(1, 3, 2))
    assert torch.allclose(value, loss(nothing).expand(3))
    with pytest.raises(TutelageError, match="odd"):
        lazy_students(5, 2, [0], 1.0)


def test_normal_students_and_plane_teachers():
    students = normal_students(50, 40, range(3), scale=0.3)
    assert students.std().item() == pytest.approx(0.3, rel=0.05)
    assert plane_teachers([0, 60], [1, 2]).norm(dim=2).tolist() == [[1.0, 2.0]]
    assert plane_teachers([0, 60])[0, 1, 0].item() == pytest.approx(math.cos(math.pi / 3))


@pytest.mark.parametrize("shares", [[[1.5, -0.5], [1.0]], [[0.5, 0.4], [1.0]], [[0.5, 0.5], []]])
def test_shares_that_do_not_give_loss_0_are_errors(shares):
    with pytest.raises(TutelageError, match="must not be negative and must add up to 1"):
        split_students(plane_teachers([0, 90]), shares)


def test_shares_are_one_list_per_teacher():
    for shares in ([[1.0]], [[1.0], [0.5, 0.5], [1.0]]):
        with pytest.raises(TutelageError, match="give one list for each"):
            split_students(plane_teachers([0, 90]), shares)


def test_teachers_and_seeds_that_do_not_fit_are_errors():
    with pytest.raises(TutelageError, match=r"\[3, r, d\] for 3 seeds, got \[2, 2, 2\]"):
        local_students(plane_teachers([0, 90]).expand(2, -1, -1), 4, range(3))
    with pytest.raises(TutelageError, match="seeds must be a list of whole numbers"):
        local_students(plane_teachers([0, 90]), 4, 0)
    with pytest.raises(TutelageError, match="zero vector"):
        local_students(torch.zeros(1, 2, 3), 4, [0])
    array = plane_teachers([0, 90]).numpy()
    assert torch.equal(local_students(array, 4, [0]), local_students(plane_teachers([0, 90]), 4, [0]))


def test_numbers_of_units_and_lengths():
    with pytest.raises(TutelageError, match="m must be a whole number of at least 1, got 0"):
        normal_students(0, 3, [0])
    with pytest.raises(TutelageError, match="r must be a whole number of at least 1, got 0"):
        separated_teachers(0, 3, [0])
    with pytest.raises(TutelageError, match="lengths must be positive and in order"):
        separated_teachers(2, 3, [0], lengths=(-1.0, 0.0))
