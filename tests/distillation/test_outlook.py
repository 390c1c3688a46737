"""What is expected of a last layer is what the closed forms say of its features."""

from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from tutelage import TutelageError
from tutelage.distillation import (
    Distillation,
    HardTarget,
    Polynomial,
    TransferSet,
    Weakened,
    learned,
    monotonicity,
    outcome,
    outlook,
)
from tutelage.distillation.bounds import risk_bound
from tutelage.distillation.learners import unsigned_angle
from tutelage.distillation.tasks import reverse_distribution


def module(*widths, bias=True, seed=0):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        layers = []
        for a, b in pairwise(widths):
            layers += [nn.Linear(a, b, bias=bias).double(), nn.ReLU()]
        return nn.Sequential(*layers[:-1])


def points(count, size, seed=1):
    return torch.randn(count, size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_two_classes_are_one_line_of_log_odds():
    teacher, x, fresh = module(6, 2, bias=False), points(4, 6), points(300, 6, seed=2)
    found = outlook(teacher, x, fresh)
    weight = teacher[0].weight.detach()
    odds = weight[1] - weight[0]
    w = learned(TransferSet(x, odds))
    (line,) = found.lines
    assert (found.count, found.dimension, found.rank, found.biased, found.held_out) == (4, 6, 4, False, True)
    assert line.angle == pytest.approx(float(torch.rad2deg(unsigned_angle(w, odds.unsqueeze(0)))), rel=1e-9)
    soft = teacher(fresh).softmax(1)[:, 1].detach()
    assert line.disagreement == float(((fresh @ w[0] >= 0) != (soft >= 0.5)).double().mean())
    grid = torch.linspace(0, torch.pi / 2, 5001, dtype=torch.float64)
    counted = risk_bound(reverse_distribution(x, odds), 4, grid)
    assert line.bound <= float(counted.min().clamp_max(1)) + 1e-12
    assert line.tighter <= line.bound


def test_one_output_is_the_same_teacher_as_two():
    two, one = module(5, 2), nn.Sequential(nn.Linear(5, 1).double())
    with torch.no_grad():
        one[0].weight.copy_(two[0].weight[1:] - two[0].weight[:1])
        one[0].bias.copy_(two[0].bias[1:] - two[0].bias[:1])
    x = points(3, 5)
    assert outlook(one, x).lines == outlook(two, x).lines


@settings(deadline=None, max_examples=20)
@given(count=st.integers(1, 12), classes=st.integers(1, 4), bias=st.booleans())
def test_enough_inputs_find_the_teacher_and_fewer_do_not_leave_the_possible(count, classes, bias):
    found = outlook(module(4, classes, bias=bias), points(count, 4))
    dimension = 4 + bias
    assert (found.dimension, found.rank) == (dimension, min(count, dimension))
    assert len(found.lines) == (classes if classes > 2 else 1)
    for line in found.lines:
        assert 0 <= line.angle <= 90
        assert 0 <= line.tighter <= line.bound <= 1
        if count >= dimension:
            assert (line.angle, line.disagreement, line.bound) == (0, 0, 0)


def test_a_shift_of_all_logits_changes_nothing():
    teacher, x = module(4, 3), points(3, 4)
    before = outlook(teacher, x)
    with torch.no_grad():
        teacher[0].weight.add_(points(1, 4, seed=5))
        teacher[0].bias.add_(2.0)
    for a, b in zip(before.lines, outlook(teacher, x).lines, strict=True):
        assert a.angle == pytest.approx(b.angle)


def test_features_of_a_hidden_layer_count_by_their_rank():
    teacher = module(2, 6, 3, bias=False)
    found = outlook(teacher, torch.cat([points(2, 2)] * 5))
    assert found.count == 10
    assert found.rank <= 2
    assert found.dimension == 6


def test_what_the_theory_does_not_speak_of_is_refused():
    with pytest.raises(TutelageError, match="about a linear last layer"):
        outlook(nn.Sequential(nn.Linear(2, 2), nn.ReLU()), torch.zeros(1, 2))
    blank = nn.Sequential(nn.Linear(2, 1))
    with torch.no_grad():
        blank[0].weight.zero_()
        blank[0].bias.zero_()
    with pytest.raises(TutelageError, match="tells no class"):
        outlook(blank, torch.ones(3, 2))


def test_other_modules_and_inputs_are_errors():
    from tutelage.errors import TutelageError

    with pytest.raises(TutelageError, match=r"must be a torch\.nn\.Sequential, got Linear"):
        outlook(nn.Linear(3, 2), torch.eye(3))
    with pytest.raises(TutelageError, match="inputs must be a tensor"):
        outlook(nn.Sequential(nn.Linear(3, 2)), torch.eye(3).numpy())


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
