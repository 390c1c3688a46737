"""The loss of two logits against exact arithmetic, at every size."""

import math

import mpmath
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tutelage.distillation.cross_entropy import (
    excess,
    log_curvature,
    log_excess,
    logits_of,
    reach,
    slope,
    softplus,
)
from tutelage.errors import TutelageError

LOGITS = st.floats(-700, 700)


def tensor(value):
    return torch.tensor(value, dtype=torch.float64)


def precise(u, t):
    with mpmath.workdps(700):
        u, t = mpmath.mpf(u), mpmath.mpf(t)
        y = 1 / (1 + mpmath.exp(-t))
        return mpmath.log(1 + mpmath.exp(u)) - mpmath.log(1 + mpmath.exp(t)) - y * (u - t)


@settings(max_examples=60, deadline=None)
@given(LOGITS, LOGITS)
def test_excess_and_its_log_for_any_two_logits(u, t):
    truth = precise(u, t)
    if truth == 0:
        return
    found, log = float(excess(tensor(u), tensor(t))), float(log_excess(tensor(u), tensor(t)))
    if abs(u - t) > 1e-6 * (1 + abs(t)):
        assert found == pytest.approx(float(truth), rel=1e-12, abs=1e-307)
        assert log == pytest.approx(float(mpmath.log(truth)), rel=1e-12, abs=1e-9)
    assert found >= 0


@pytest.mark.parametrize("t", [-500.0, -40.0, -3.0, 0.0, 0.7, 25.0, 300.0])
@pytest.mark.parametrize("gap", [1e-7, 1e-3, 0.0099, 0.0101, 0.5, 29.0, 31.0])
def test_excess_is_accurate_near_the_teacher(t, gap):
    for u in (t + gap, t - gap):
        truth = precise(u, t)
        exact_gap = abs(u - t)
        assert float(log_excess(tensor(u), tensor(t))) == pytest.approx(
            float(mpmath.log(truth)), abs=1e-9 + 4e-16 * abs(t) / exact_gap
        )


@settings(max_examples=40, deadline=None)
@given(LOGITS, LOGITS)
def test_slope_is_the_difference_of_two_sigmoids(u, t):
    with mpmath.workdps(700):
        truth = 1 / (1 + mpmath.exp(-mpmath.mpf(u))) - 1 / (1 + mpmath.exp(-mpmath.mpf(t)))
    assert float(slope(tensor(u), tensor(t))) == pytest.approx(float(truth), rel=1e-12, abs=1e-300)


def test_the_least_value_is_zero_and_signs_do_not_matter():
    u, t = torch.randn(2, 50, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * 10
    assert (excess(t, t) == 0).all()
    assert torch.equal(excess(u, t), excess(-u, -t))
    plain = softplus(u) - t.sigmoid() * u
    least = softplus(t) - t.sigmoid() * t
    assert torch.allclose(excess(u, t), plain - least, atol=1e-12)


def test_reach_is_where_the_level_is_met():
    t, level = tensor([-3.0, 0.0, 2.0]), tensor([0.5, 0.01, 4.0])
    far = reach(t, level)
    ends = torch.maximum(excess(far, t), excess(-far, t))
    assert ((excess(far, t) - level).abs().minimum((excess(-far, t) - level).abs()) < 1e-9).all()
    assert (ends >= level - 1e-12).all()


def test_log_curvature():
    assert float(log_curvature(tensor(1000.0))) == -1000.0
    assert float(log_curvature(tensor(0.3)).exp()) == pytest.approx(
        float(tensor(0.3).sigmoid() * tensor(-0.3).sigmoid())
    )


@pytest.mark.parametrize("bad", [-0.1, 1.1, math.nan, 0.0, 1.0])
def test_labels_that_are_none(bad):
    with pytest.raises(TutelageError, match="soft label"):
        logits_of(torch.tensor([0.5, bad]))
