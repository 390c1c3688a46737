"""Risk and monotonicity of learners, with both readings of the paper's open choice."""

import pytest

from tutelage.distillation import Distillation, HardTarget, Polynomial, Weakened, monotonicity, outcome
from tutelage.errors import TutelageError

TASK = Polynomial(30, kappa=1.0)


def test_distillation_always_gains_by_one_more_input():
    found = monotonicity(Distillation(), TASK, range(200), 5)
    assert found.index == (1.0, 0.0)
    assert not found.worse.any()


def test_a_weaker_bias_means_less_monotone_and_more_risk():
    learners = [Distillation(), Weakened(1 / 16), Weakened(1.0)]
    risks = [outcome(learner, TASK, range(300), 5).mean_risk for learner in learners]
    assert risks[0][0] < risks[1][0] < risks[2][0]
    indices = [monotonicity(learner, TASK, range(300), 5).index[0] for learner in learners]
    assert indices[0] > indices[1] > indices[2]


def test_the_two_readings_differ_for_learners_that_draw_alone():
    learner = Weakened(0.25)
    redrawn, reused = (monotonicity(learner, TASK, range(400), 5, reading) for reading in ("redrawn", "reused"))
    assert reused.index[0] > redrawn.index[0]
    hard = [monotonicity(HardTarget(50), TASK, range(50), 5, reading) for reading in ("redrawn", "reused")]
    assert hard[0].after.equal(hard[1].after)
    with pytest.raises(TutelageError, match="'redrawn' or 'reused'"):
        monotonicity(learner, TASK, range(2), 5, "kept")


def test_max_margin_students_stand_still_where_the_input_is_no_support():
    found = monotonicity(HardTarget(None), TASK, range(200), 5)
    still = ~(found.better | found.worse)
    assert still.any()
    assert found.worse.any()
    assert found.better.any()


def test_an_outcome_holds_angle_and_risk():
    found = outcome(Distillation(), TASK, range(20), 5)
    assert found.w.shape == (20, 30)
    assert (found.risk > 0).all()
    mean, error = found.mean_risk
    assert 0 < error < mean < 0.2
