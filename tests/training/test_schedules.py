"""Schedules give the factor on the learning rate at every step."""

import numpy as np
import pytest

from tutelage import TutelageError
from tutelage.training import Constant, Cosine, Drops, Schedule, Settle, Stages


def test_constant_is_one_everywhere():
    assert (Constant().factors(np.arange(7), 7) == 1).all()


def test_drops_multiply_at_their_steps_in_any_order():
    factors = Drops(at=(6, 3), factor=0.1).factors(np.arange(8), 8)
    np.testing.assert_allclose(factors, [1, 1, 1, 0.1, 0.1, 0.1, 0.01, 0.01])


def test_stages_have_a_value_each():
    factors = Stages(at=(3, 6), values=(1, 0.1, 2.5)).factors(np.arange(8), 8)
    assert factors.tolist() == [1, 1, 1, 0.1, 0.1, 0.1, 2.5, 2.5]


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"at": [3], "values": [1]}, "one value more than there are steps in 'at', got 1 for 1"),
        ({"at": [3, 3], "values": [1, 2, 3]}, "'at' must increase"),
        ({"at": [3], "values": [1, -1]}, "greater than or equal to 0"),
    ],
)
def test_stages_that_make_no_sense_are_an_error(settings, why):
    with pytest.raises(TutelageError, match=why):
        Schedule.parse({"kind": "stages", **settings})


def test_cosine_starts_at_one_and_ends_near_zero():
    factors = Cosine().factors(np.arange(1000), 1000)
    assert factors[0] == 1
    assert factors[500] == pytest.approx(0.5)
    assert 0 < factors[-1] < 1e-5
    assert (np.diff(factors) < 0).all()


@pytest.mark.parametrize("schedule", [Constant(), Drops(at=(4,)), Cosine(), Settle(), Stages(at=(4,), values=(1, 3))])
def test_factors_do_not_depend_on_how_the_steps_are_cut(schedule):
    whole = schedule.factors(np.arange(10), 10)
    parts = [schedule.factors(np.arange(a, b), 10) for a, b in ((0, 3), (3, 4), (4, 10))]
    np.testing.assert_array_equal(whole, np.concatenate(parts))


def test_an_unknown_schedule_is_refused_with_the_nearest_name():
    with pytest.raises(TutelageError, match="did you mean 'cosine'"):
        Schedule.parse({"kind": "cosin"})


def test_drops_at_epochs_are_drops_at_their_first_steps():
    schedule = Drops(at=(1, 3), factor=0.5, unit="epochs")
    np.testing.assert_array_equal(
        schedule.in_steps(4).factors(np.arange(16), 16).reshape(4, 4)[:, 0], [1, 0.5, 0.5, 0.25]
    )
    assert schedule.in_steps(4) == Drops(at=(4, 12), factor=0.5)
    assert Cosine().in_steps(4) == Cosine()


def test_settling_falls_to_a_tenth_over_the_last_share():
    factors = Settle().factors(np.arange(101), 100)
    assert (factors[:76] == 1).all()
    assert factors[100] == pytest.approx(0.1)
    np.testing.assert_allclose(np.diff(factors[75:]), -0.9 / 25)
