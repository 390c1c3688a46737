"""Algorithms 1 and 2: what they solve, how they find the subspace, and what they refuse."""

import math

import pytest
import torch
from scipy.optimize import minimize

from tutelage import TutelageError
from tutelage.local import initialise
from tutelage.local.exact import loss
from tutelage.local.setting import LocalSetting
from tutelage.local.starts import separated_teachers
from tutelage.population.kernels import kernel


def test_the_fit_is_the_best_and_its_loss_the_optimum():
    teachers = separated_teachers(3, 3, [0])
    directions = initialise.random_directions(8, 3, [0])
    students = initialise.fit_lengths(directions, teachers)
    gram, seen = kernel(directions, directions, "abs")[0].numpy(), kernel(directions, teachers, "abs").sum(2)[0].numpy()
    constant = kernel(teachers, teachers, "abs").sum().item() / 2

    def objective(z):
        return z @ gram @ z / 2 - seen @ z + constant, gram @ z - seen

    best = minimize(objective, seen * 0 + 0.1, jac=True, bounds=[(0, None)] * 8, options={"ftol": 1e-15, "gtol": 1e-10})
    assert loss(LocalSetting(teachers, students)).item() == pytest.approx(best.fun, abs=1e-9)
    z = (students.square().sum(2) / directions.norm(dim=2))[0].numpy()
    assert objective(z)[0] == pytest.approx(loss(LocalSetting(teachers, students)).item(), rel=1e-9)


def test_repeated_directions_do_no_harm():
    teachers = separated_teachers(2, 3, [0])
    directions = torch.cat([teachers, teachers, 2 * teachers], 1)
    assert loss(LocalSetting(teachers, initialise.fit_lengths(directions, teachers))).item() < 1e-20


def test_wider_is_better_and_samples_approach_the_exact_fit():
    seeds = range(6)
    teachers = separated_teachers(3, 2, seeds)
    values = [loss(LocalSetting(teachers, initialise.random_start(teachers, m, seeds))).median() for m in (5, 20, 80)]
    assert values[0] > values[1] > values[2]
    assert values[2] < 1e-3
    exact, few, many = (
        loss(LocalSetting(teachers, initialise.random_start(teachers, 10, seeds, n))).mean()
        for n in (None, 100, 10_000)
    )
    assert exact <= many <= few
    assert many < exact * 1.2 + 1e-3


def test_the_second_moment_and_its_constant():
    teachers = separated_teachers(2, 4, [0], lengths=(0.5, 2.0))
    x, y = initialise.samples(teachers, 400_000, [0])
    exact, sampled = initialise.second_moment(teachers)[0], initialise.sampled_second_moment(x, y)[0]
    assert (exact - sampled).abs().max() < 0.03
    assert torch.trace(exact).item() == pytest.approx(math.sqrt(2 / math.pi) * teachers.norm(dim=2).sum().item())


def test_the_subspace_start_beats_random_directions_in_many_dimensions():
    seeds = range(3)
    teachers = separated_teachers(2, 15, seeds)
    random = loss(LocalSetting(teachers, initialise.random_start(teachers, 40, seeds)))
    exact = loss(LocalSetting(teachers, initialise.subspace_start(teachers, 40, seeds)))
    sampled = loss(LocalSetting(teachers, initialise.subspace_start(teachers, 40, seeds, 20_000)))
    assert bool((exact < sampled).all())
    assert bool((sampled < random / 3).all())
    basis = initialise.subspace(initialise.second_moment(teachers), 2)
    inside = basis @ (basis.mT @ teachers.mT)
    assert torch.allclose(inside, teachers.mT, atol=1e-9)


def test_refusals():
    teachers = separated_teachers(3, 2, [0])
    with pytest.raises(TutelageError, match="no subspace of 3"):
        initialise.subspace_start(teachers, 5, [0])
    with pytest.raises(TutelageError, match="at least as many"):
        initialise.random_start(teachers, 2, [0])
    with pytest.raises(TutelageError, match="at least as many"):
        initialise.subspace_start(teachers, 2, [0])


def test_teachers_samples_and_seeds_that_do_not_fit_are_errors():
    from tutelage import TutelageError
    from tutelage.local.initialise import random_start, samples, subspace_start

    teachers = torch.eye(3).expand(2, -1, -1)
    for call in (samples, random_start, subspace_start):
        with pytest.raises(TutelageError, match="for 3 seeds"):
            call(teachers, 5, range(3))
    for call in (random_start, subspace_start):
        with pytest.raises(TutelageError, match="number must be a whole number of at least 1, got 0"):
            call(teachers, 5, range(2), 0)
