"""Students of Claim 2: one is off by its angle alone, two have the teacher as their average."""

import math

import numpy as np
import pytest
import torch

from tutelage.local import LocalSetting, groups, loss, separated_teachers
from tutelage.local.studies.pl_fails import ANGLES, LossByAngle, cube, square, students


@pytest.mark.parametrize("r", [1, 3])
def test_two_students_have_the_teacher_as_their_average_and_one_has_not(r):
    seeds = range(5)
    teachers = separated_teachers(r, 4, seeds, lengths=(0.5, 1.5))
    one, two = (LocalSetting(teachers, students(teachers, 0.1, seeds, pair)) for pair in (False, True))
    assert (one.m, two.m) == (r, r + 1)
    assert groups(two).error.abs().max() < 1e-14
    assert groups(one).error[:, 0].norm(dim=1).min() > 0.02
    angle = groups(one).angle[:, 0]
    assert ((angle > 0.05 - 1e-12) & (angle < 0.1)).all()
    length = one.lengths[:, 0]
    kernel = 2 / math.pi * (angle.sin() + (math.pi / 2 - angle) * angle.cos())
    assert torch.allclose(loss(one), length**2 * (1 - kernel), rtol=1e-9)
    assert np.all(loss(two).numpy() < loss(one).numpy())


def test_powers_of_the_loss_are_judged_once():
    """Further teachers have perfect students: their losses are those of the first, and no evidence of their own."""
    made = [
        LossByAngle(r, r + pair, ANGLES, ANGLES[:, None] ** (2 + pair) * np.ones(3), np.ones((9, 3)), np.ones(3))
        for r in (1, 2, 3)
        for pair in (0, 1)
    ]
    assert {name: values.max() < 1e-9 for name, values in square.values(made).items()} == {"r = 1, m = 1": True}
    assert {name: values.max() < 1e-9 for name, values in cube.values(made).items()} == {"r = 1, m = 2": True}
