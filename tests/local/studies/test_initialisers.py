"""Bounds and powers of starts, and zero students left out without changing anything."""

import numpy as np
import torch

from tutelage.local import LocalSetting, loss, random_start, separated_teachers
from tutelage.local.initialise import random_directions
from tutelage.local.studies import initialisers as study
from tutelage.studies import judge


def test_the_covering_bound_lies_above_the_loss_and_is_0_where_directions_are_the_teachers():
    seeds = range(4)
    teachers = separated_teachers(3, 3, seeds)
    value = loss(LocalSetting(teachers, random_start(teachers, 20, seeds))).numpy()
    assert (value <= study.covering_bound(teachers, random_directions(20, 3, seeds))).all()
    assert np.allclose(study.covering_bound(teachers, -2 * teachers), 0)


def test_zero_students_are_left_out_and_the_loss_stays():
    seeds = range(3)
    teachers = separated_teachers(3, 2, seeds)
    students = random_start(teachers, 30, seeds)
    assert bool((students.norm(dim=2) == 0).any())
    start = study._followed(teachers, students, 5)
    assert np.allclose(start["loss"], loss(LocalSetting(teachers, students)).numpy(), rtol=1e-6)
    assert (start["end_loss"] < start["loss"]).all()
    assert np.array_equal(start["live"], (students.norm(dim=2) > 0).sum(1).numpy())


def test_a_loss_that_falls_like_the_theory_has_minus_1():
    found = [
        study.InitialisedStart(d, m, 0, np.full(2, m ** (-2 / d)), *(np.zeros(2),) * 4)
        for d in (2, 3, 5)
        for m in (5, 20)
    ]
    assert all(np.allclose(v, -1) for v in study._falling(found).values())


def test_a_bound_that_no_students_meet_as_well_is_vacuous():
    def start(bound):
        ones = np.full(40, 1.0)
        return study.InitialisedStart(2, 5, 0, np.linspace(0.1, 0.2, 40), ones, bound * ones, ones, 0.7 * ones)

    verdicts = [judge(study.covered, [start(bound)])[0].verdict for bound in (0.9, 0.5, 0.15)]
    assert verdicts == ["vacuous", "holds", "fails"]


def test_the_loss_without_students_is_that_of_the_teachers():
    """E |w.x|^2 / 2 = |w|^2 / 2 for one teacher."""
    assert np.allclose(study._zero_loss(2 * torch.eye(1, 3, dtype=torch.float64).unsqueeze(0)), 2.0)
