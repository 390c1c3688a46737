"""Theorem 2: perfect students, a neuron off the lines, and zero students, which are named."""

import torch

from tutelage.local.certificates.zero_loss import zero_loss
from tutelage.local.setting import LocalSetting
from tutelage.local.starts import separated_teachers, split_students


def test_perfect_students_and_one_turned_away():
    teachers = separated_teachers(2, 3, [0])
    students = split_students(teachers, [[0.4, 0.6], [1.0]])
    assert zero_loss(LocalSetting(teachers, students))[0].verdict == "holds"
    students[0, 0] += torch.tensor([0.0, 0.01, 0.0])
    [turned] = zero_loss(LocalSetting(teachers, students))
    assert turned.verdict == "not applicable"
    assert turned.parts[0].conclusion.holds is False


def test_zero_students_are_named():
    teachers = separated_teachers(2, 3, [0])
    students = torch.cat([split_students(teachers, [[1.0], [1.0]]), torch.zeros(1, 2, 3, dtype=torch.float64)], 1)
    [found] = zero_loss(LocalSetting(teachers, students))
    assert found.verdict == "holds"
    assert "2 students are zero" in found.parts[0].conclusion.witness
