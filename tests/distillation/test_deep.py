"""Balanced starts, the guarantee, and the exact end held to the flow."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tutelage.distillation.deep import (
    balanced_start,
    end_to_end,
    guaranteed,
    imbalance,
    largest_start,
    limit,
    norm_cap,
)
from tutelage.distillation.flows import descent, settle
from tutelage.distillation.learners import learned
from tutelage.distillation.tasks import Isotropic
from tutelage.errors import TutelageError
from tutelage.networks import Network


@pytest.fixture(scope="module")
def few():
    return Isotropic(20).transfer(range(4), 8)


@pytest.mark.parametrize("layers", [1, 2, 3, 4])
def test_starts_are_balanced_and_better_than_zero(few, layers):
    start = balanced_start(few, range(4), layers, scale=0.01, width=5)
    assert imbalance(start.network).max() < 1e-15
    assert torch.allclose(start.w.norm(dim=1), start.scale)
    assert (few.loss(start.w) < few.loss(torch.zeros(4, 20, dtype=torch.float64))).all()
    assert start.network.widths == (20, *[5] * (layers - 1), 1)
    assert torch.equal(start.w[2:], balanced_start(few[2:], [2, 3], layers, scale=0.01, width=5).w)


@pytest.mark.parametrize("scale", [100.0, 1e20, 1e308])
def test_a_start_that_is_too_long_is_halved(few, scale):
    start = balanced_start(few, range(4), 2, scale=scale)
    assert (start.scale < 100).all()
    assert (start.asked == scale).all()
    assert (few.loss(start.w) < few.loss(0 * start.w)).all()


@given(st.floats(1e-6, 0.99), st.floats(0.1, 10), st.integers(1, 6))
def test_the_guarantee_is_the_condition_turned_round(share, goal, layers):
    start, goal = torch.tensor(share * goal, dtype=torch.float64), torch.tensor(goal, dtype=torch.float64)
    eps = guaranteed(start, goal, layers)
    assert float(largest_start(eps, goal, layers)) == pytest.approx(float(start), rel=1e-9)
    printed = eps**layers * (eps**2 * goal ** (-2 / layers) + goal ** (2 - 2 / layers)) ** (-layers / 2)  # (5.11)
    assert float(printed) == pytest.approx(float(start), rel=1e-8)
    if layers > 1:
        cap = norm_cap(start, goal, layers)
        assert float((goal / cap) ** 2 + (start / cap) ** (2 / layers)) <= 1 + 1e-12
        rest = start ** (2 / layers) * cap ** (2 - 2 / layers)  # (D.33) at the cap gives (D.40)
        assert float(rest) == pytest.approx(float(eps**2), rel=1e-9)


def test_nothing_is_guaranteed_from_a_long_start():
    assert torch.isinf(guaranteed(torch.tensor(2.0), torch.tensor(1.0), 2))
    with pytest.raises(TutelageError, match="two layers"):
        norm_cap(torch.tensor(0.1), torch.tensor(1.0), 1)


@pytest.mark.parametrize("layers", [1, 2, 3, 4])
def test_the_exact_limit_is_where_the_flow_goes(few, layers):
    start = balanced_start(few, range(4), layers, scale=0.01).w
    end, _ = settle(few, start, layers, tolerance=1e-7)
    goal = learned(few)
    assert (end - limit(few, start, layers)).norm(dim=1).max() <= 1e-7
    assert ((end - goal).norm(dim=1) <= guaranteed(start.norm(dim=1), goal.norm(dim=1), layers)).all()


def test_descent_ends_near_it_in_proportion_to_its_step(few):
    start = balanced_start(few, range(4), 2, scale=0.1, width=2).network
    goal = limit(few, end_to_end(start), 2)
    off = [(descent(few, start, [int(600 / r)], r).w[-1] - goal).norm(dim=1) for r in (0.4, 0.2)]
    assert ((off[0] / off[1] - 2).abs() < 0.3).all()


def test_with_enough_inputs_the_limit_is_the_teacher():
    many = Isotropic(3).transfer(range(2), 5)
    start = balanced_start(many, range(2), 3).w
    assert torch.equal(limit(many, start, 3), many.teacher)


def test_what_is_refused(few):
    with pytest.raises(TutelageError, match="stays there"):
        limit(few, torch.zeros(4, 20, dtype=torch.float64), 2)
    with pytest.raises(TutelageError, match="a seed for each"):
        balanced_start(few, range(3), 2)
    with pytest.raises(TutelageError, match="scale must be positive"):
        balanced_start(few, range(4), 2, scale=0.0)
    with pytest.raises(TutelageError, match="linear students"):
        end_to_end(Network((torch.ones(1, 2, 1),)))


@pytest.mark.parametrize("scale", [1e-20, 1e-300])
def test_a_start_of_tiny_length_keeps_it(few, scale):
    """The losses at the start and at 0 then differ by less than rounding."""
    assert balanced_start(few, range(few.members), 2, scale=scale).scale.tolist() == [scale] * few.members


def test_what_does_not_fit_a_deep_student_is_an_error(few):
    seeds = range(few.members)
    with pytest.raises(TutelageError, match=r"layers must be a whole number of at least 1, got 2\.5"):
        balanced_start(few, seeds, 2.5)
    with pytest.raises(TutelageError, match="scale must be positive and finite, got inf"):
        balanced_start(few, seeds, 2, scale=float("inf"))
    with pytest.raises(TutelageError, match="seeds must be a list of whole numbers"):
        balanced_start(few, 0, 2)
    with pytest.raises(TutelageError, match="start must have the shape"):
        limit(few, torch.ones(few.dimension), 2)
    with pytest.raises(TutelageError, match="layers must be a whole number of at least 1, got 0"):
        limit(few, torch.ones_like(few.teacher), 0)
    start = torch.ones_like(few.teacher)
    assert limit(few, start.float(), 2).equal(limit(few, start, 2))
    assert float(guaranteed(0.1, 1.0, 1)) == pytest.approx(0.1 / 0.99**0.5)
    with pytest.raises(TutelageError, match="lengths of at least 0"):
        guaranteed(-0.1, 1.0, 3)


def test_steps_and_rates_of_descent(few):
    start = balanced_start(few, range(few.members), 2).network
    for records in (5, [2.5], []):
        with pytest.raises(TutelageError, match=r"recorded steps must be|steps to record at must grow"):
            descent(few, start, records)
    with pytest.raises(TutelageError, match="give one, or one per member"):
        descent(few, start, [1], rate=torch.ones(few.members + 2))
