"""Bounds at any beta, at the best one, and their special cases."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tutelage.distillation.bounds import (
    best_bound,
    margin_bound,
    miss,
    polynomial_bound,
    polynomial_step,
    risk_bound,
)
from tutelage.distillation.tasks import Isotropic, LargeMargin, Polynomial
from tutelage.errors import TutelageError


@given(st.floats(0.1, 4), st.integers(1, 100))
def test_the_best_beta_is_no_worse_than_any_other(kappa, count):
    task = Polynomial(10, kappa=kappa)
    best, tighter = best_bound(task.p, count), best_bound(task.p, count, tighter=True)
    grid = torch.linspace(0, math.pi / 2, 500, dtype=torch.float64)
    assert best.value <= float(risk_bound(task.p, count, grid).min()) + 1e-12
    assert tighter.value <= best.value <= 1 + 1e-12
    assert float(risk_bound(task.p, count, torch.tensor(best.beta))) == pytest.approx(best.value)


def test_the_proofs_beta_gives_the_step_before_the_last():
    for kappa, count in ((0.5, 3), (1.0, 20), (2.0, 100)):
        beta = torch.tensor(math.pi / 2 * count ** (-1 / count), dtype=torch.float64)
        found = float(risk_bound(Polynomial(9, kappa=kappa).p, count, beta))
        assert found == pytest.approx(polynomial_step(kappa, count))
        assert found <= polynomial_bound(kappa, count)


def test_bounds_of_the_setting_of_figure_5_3():
    p = Polynomial(1000, kappa=1.0).p
    assert best_bound(p, 20).value == pytest.approx(0.189, abs=5e-4)
    assert best_bound(p, 20, tighter=True).value == pytest.approx(0.182, abs=5e-4)
    table = {0.05: 1.77, 0.1: 1.57, 0.2: 1.23, 0.5: 0.611, 1.0: 0.200, 2.0: 0.025, 3.0: 0.0035}
    for kappa, value in table.items():
        assert polynomial_bound(kappa, 20) == pytest.approx(value, rel=0.02)


def test_a_delta_pushes_the_bound_up():
    p = Polynomial(9).p
    values = [best_bound(p, 10, delta=delta).value for delta in (0.0, 0.1, 0.5, 1.5)]
    assert values == sorted(values)


def test_margins():
    task = LargeMargin(9, limit=1.0)
    gamma = float(task.p(torch.tensor(math.pi / 2 - 1.0, dtype=torch.float64)))
    assert margin_bound(task.p, 7, 1.0) == pytest.approx(gamma**7)
    assert best_bound(task.p, 7).value <= gamma**7 + 1e-12
    with pytest.raises(TutelageError, match="no margin"):
        margin_bound(Isotropic(9).p, 7, 1.0)


def test_what_is_refused():
    with pytest.raises(TutelageError, match="count must be a whole number of at least 1"):
        risk_bound(Polynomial(9).p, 0, torch.tensor(0.1))
    with pytest.raises(TutelageError, match="beta must lie"):
        risk_bound(Polynomial(9).p, 3, torch.tensor(1.6))
    with pytest.raises(TutelageError, match="kappa must be finite"):
        polynomial_bound(-1.0, 3)
    with pytest.raises(TutelageError, match="closer to 0"):
        miss(torch.tensor(0.6), torch.tensor(1.0))


def test_bounds_of_high_degrees_and_many_inputs_do_not_overflow():
    assert polynomial_bound(60.0, 10**6) == pytest.approx((math.log(10**6) / 10**6) ** 60)
    assert polynomial_bound(1e3, 10**6) == 0


def test_numbers_that_no_bound_can_have_are_errors():
    p = LargeMargin(5, limit=1.0).p
    for call in (lambda: margin_bound(p, -1, 1.2), lambda: risk_bound(p, 2.5, 0.1), lambda: polynomial_bound(1.0, 0)):
        with pytest.raises(TutelageError, match="count must be a whole number of at least 1"):
            call()
    with pytest.raises(TutelageError, match="kappa must be finite and not negative, got nan"):
        polynomial_bound(math.nan, 20)
    with pytest.raises(TutelageError, match="beta must lie in"):
        risk_bound(p, 20, math.nan)


@pytest.mark.parametrize("task", [Polynomial(3), LargeMargin(3), Isotropic(3)])
def test_p_of_a_plain_number(task):
    assert float(task.p(0.3)) == float(task.p(torch.tensor(0.3, dtype=torch.float64)))
