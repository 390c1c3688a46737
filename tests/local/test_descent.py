"""Descent: against plain steps, to losses of 1e-25, its refusals, and with samples."""

import math

import pytest
import torch

from tutelage import TutelageError
from tutelage.local import descend_on_set, descent
from tutelage.local.exact import gradient, gradient_norm, loss
from tutelage.local.grouping import groups
from tutelage.local.setting import LocalSetting
from tutelage.local.starts import (
    lazy_students,
    local_students,
    opposite_pair,
    plane_teachers,
    separated_teachers,
)


def local(r=3, m=6, d=4, members=3, spread=0.4):
    teachers = separated_teachers(r, d, range(members), lengths=(0.7, 1.5))
    return LocalSetting(teachers, local_students(teachers, m, range(members), spread=spread))


def test_against_steps_taken_one_by_one():
    setting = local()
    run = descent.descend(setting, [0, 3, 10], levels=[1e-3, 1e-2])
    w, losses = setting.students, []
    for _ in range(11):
        losses.append(loss(setting.moved(w)))
        last, w = w, w - run.rate[:, None, None] * gradient(setting.moved(w))
    assert torch.allclose(run.losses, torch.stack([losses[i] for i in (0, 3, 10)]), rtol=1e-10)
    assert torch.allclose(run.end.students, last, rtol=1e-10)
    assert torch.allclose(run.at(2).students, last, rtol=1e-10)
    assert torch.allclose(run.gradients[2], gradient_norm(run.end), rtol=1e-8)
    assert run.levels == (1e-2, 1e-3)
    for s in range(3):
        for e, level in enumerate(run.levels):
            passed = [i for i in range(11) if losses[i][s] <= level]
            assert run.reached[s, e].item() == (passed[0] if passed else -1)


def test_one_student_a_teacher_converges_linearly_to_1e_25():
    run = descent.descend(local(m=3, members=6), range(0, 6001, 50), keep=False)
    assert run.losses[-1].max() < 1e-25
    for s in range(6):
        now = run.losses[:, s]
        passing = ((now > 1e-25) & (now < 1e-9)).nonzero().flatten()
        falls = now[passing[1:]].log() - now[passing[:-1]].log()
        assert falls.max() < 0
        assert falls.min() > 1.5 * falls.median()  # one rate all the way down, no floor and no stall


def test_over_parameterised_students_converge_at_least_like_one_over_t():
    run = descent.descend(local(m=12), [0, *range(1, 3001)], keep=False)
    steps = torch.arange(1, 3001).double()[:, None]
    assert bool((run.losses[1:] <= run.losses[:-1]).all())
    allowed = run.rate * run.constant**2 / 4
    assert bool((run.losses[1:] * steps * allowed <= 1).all())
    fall = run.losses[:-1] - run.losses[1:]
    assert bool((fall >= allowed * run.losses[:-1] ** 2 - 1e-15).all())


def test_an_opposite_pair_slows_descent_to_a_cube():
    run = descent.descend(opposite_pair(0.5), [3000, 30_000], rate=0.1)
    slope = math.log(run.losses[1, 0] / run.losses[0, 0]) / math.log(10)
    assert slope == pytest.approx(-2.985, abs=0.02)


def test_the_lazy_model_stays_and_the_other_moves():
    teachers = plane_teachers([20, 80, 140])
    students, top = lazy_students(20, 2, range(3), 100.0)
    run = descent.descend(LocalSetting(teachers, students), [0, 1000], top=top)
    assert run.unit_displacement.max() < 0.01
    assert torch.allclose(4 * 100**2 * run.rate, 1 / students.square().sum((1, 2)))
    assert bool((run.losses[1] < 0.1 * run.losses[0]).all())
    mean_field = descent.descend(LocalSetting(teachers, 0.3 * students), [0, 4000], rate=0.05)
    assert mean_field.displacement.min() > 0.1
    assert groups(mean_field.end).angle_energy().max() < 1e-2


def test_zero_students_stay():
    setting = local(members=1)
    students = torch.cat([setting.students, torch.zeros(1, 1, 4, dtype=torch.float64)], 1)
    run = descent.descend(setting.moved(students), [0, 50])
    assert bool((run.end.students[:, -1] == 0).all())
    assert run.unit_displacement[0, -1] == 0


def test_rates():
    setting = local()
    assert torch.allclose(2 * descent.usual_rate(setting), descent.greatest_rate(setting))
    limit = float(descent.greatest_rate(setting).max())
    with pytest.raises(TutelageError, match="is beyond"):
        descent.descend(setting, [10], rate=1.01 * limit)
    assert descent.descend(setting, [1], rate=1.01 * limit, beyond=True).steps == (1,)
    with pytest.raises(TutelageError, match="diverged"):
        descent.descend(setting, [5000], rate=100 * limit, beyond=True)
    with pytest.raises(TutelageError, match="above 0"):
        descent.descend(setting, [1], rate=0.0)
    with pytest.raises(TutelageError, match="at least one"):
        descent.descend(setting, [])
    with pytest.raises(TutelageError, match="keep=True"):
        descent.descend(setting, [1], keep=False).at(0)


def test_the_stochastic_gradient_is_unbiased_with_the_half_and_not_as_printed():
    setting = local(members=1)
    x = torch.randn(40, 1, 4000, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    drawn = torch.stack([descent.stochastic_gradient(setting, part) for part in x])
    error = drawn.std(0) / 40**0.5
    assert bool(((drawn.mean(0) - gradient(setting)).abs() < 4.5 * error).all())
    assert not bool(((2 * drawn.mean(0) - gradient(setting)).abs() < 4.5 * 2 * error).all())


def test_descent_on_samples_follows_and_repeats():
    setting = local(members=2)
    run = descent.descend_on_samples(setting, [0, 100, 400], 200, [3, 4])
    assert bool((run.losses[1:] < run.losses[:-1]).all())
    alone = descent.descend_on_samples(setting.member(1), [400], 200, [4])
    assert torch.allclose(alone.end.students[0], run.end.students[1], rtol=1e-9)
    exact = descent.descend(setting, [400])
    assert torch.allclose(run.losses[-1].log(), exact.losses[-1].log(), atol=0.5)
    with pytest.raises(TutelageError, match="seeds for 2 members"):
        descent.descend_on_samples(setting, [1], 10, [0])
    with pytest.raises(TutelageError, match="batch must be a whole number"):
        descent.descend_on_samples(setting, [1], 0, [0, 1])


def test_the_printed_rate_with_kappa_for_its_square_is_exceeded():
    """4 / (t eta kappa) has other units than a loss: with long teachers a descent stays above it."""
    setting = local(m=12, members=1)
    long = LocalSetting(1e6 * setting.teachers, 1e3 * setting.students)
    run = descent.descend(long, range(1, 200), keep=False)
    steps = torch.arange(1, 200).double()
    value, kappa = run.losses[:, 0] * steps * run.rate / 4, run.constant
    assert bool((value * kappa**2 <= 1).all())
    assert bool((value * kappa > 1).any())


@pytest.mark.parametrize("record", [5, [2.7], [math.nan]])
def test_recorded_steps_are_whole_numbers(record):
    with pytest.raises(TutelageError, match="recorded steps must be"):
        descent.descend(local(), record)
    with pytest.raises(TutelageError, match="recorded steps must be"):
        descent.descend_on_samples(local(), record, 4, range(3))


def test_rates_factors_batches_and_seeds_that_do_not_fit_are_errors():
    setting = local()
    with pytest.raises(TutelageError, match="rate has 2 values for 3 members"):
        descent.descend(setting, [1], rate=[0.01, 0.01])
    for call in (lambda top: descent.descend(setting, [1], top=top), lambda top: descent.lazy_rate(setting, top)):
        with pytest.raises(TutelageError, match=r"one factor per student, \[6\], got \[5\]"):
            call([1.0] * 5)
        with pytest.raises(TutelageError, match="finite factors"):
            call([math.nan] * 6)
    assert descent.lazy_rate(setting, [1.0] * 6).equal(descent.lazy_rate(setting, torch.ones(6)))
    with pytest.raises(TutelageError, match=r"batch must be a whole number of at least 1, got 2\.5"):
        descent.descend_on_samples(setting, [1], 2.5, range(3))
    with pytest.raises(TutelageError, match="seeds must be a list of whole numbers"):
        descent.descend_on_samples(setting, [1], 2, 0)


def test_descent_on_a_set_follows_the_gradient_of_its_loss():
    """Against automatic differentiation of the loss on the set, with noise, step by step."""
    seeds = range(3)
    teachers = separated_teachers(2, 3, seeds)
    start = LocalSetting(teachers, local_students(teachers, 5, seeds))
    draw = torch.Generator().manual_seed(0)
    x = torch.rand(3, 40, 3, generator=draw, dtype=torch.float64) - 0.5
    noise = 0.1 * torch.randn(3, 40, generator=draw, dtype=torch.float64)

    def on_set(w):
        student = ((x @ w.mT).abs() * w.norm(dim=2)[:, None]).sum(2)
        return (student - (x @ teachers.mT).abs().sum(2) - noise).square().mean(1) / 2

    run = descend_on_set(start, [0, 1, 20], x, noise, rate=0.05)
    w = start.students
    for step in range(20):
        if step < 2:
            assert torch.allclose(run.training[step], on_set(w), rtol=1e-12)
        w = w.clone().requires_grad_()
        on_set(w).sum().backward()
        w = (w - 0.05 * w.grad).detach()
    assert torch.allclose(run.end.students, w, rtol=1e-10)
    assert torch.allclose(run.training[-1], on_set(w), rtol=1e-10)
    assert torch.allclose(run.losses[-1], loss(start.moved(w)), rtol=1e-10)


def test_descent_on_a_set_that_does_not_fit_is_an_error():
    start = LocalSetting(torch.eye(2), 0.9 * torch.eye(2))
    with pytest.raises(TutelageError, match=r"x must have shape \[1, N, 2\], got \[3, 2\]"):
        descend_on_set(start, [1], torch.ones(3, 2))
    with pytest.raises(TutelageError, match=r"noise must have shape \[1, 3\], got \[1, 2\]"):
        descend_on_set(start, [1], torch.ones(1, 3, 2), torch.ones(1, 2))
    with pytest.raises(TutelageError, match="at least one"):
        descend_on_set(start, [], torch.ones(1, 3, 2))
    with pytest.raises(TutelageError, match="has diverged"):
        descend_on_set(start, [300], 30 * torch.ones(1, 3, 2), rate=0.2)
