"""What the chapter says of the end, held and broken."""

import math

import pytest

from tutelage.certificates import certify
from tutelage.margins.datasets import cones
from tutelage.margins.flow import balanced_start, flow
from tutelage.margins.limits import fit
from tutelage.margins.max_margin import max_margins

LIMITS = ["max-margin-limit", "two-neuron-function", "sharper-limits", "end-is-kkt"]


def test_smoothed_margins_grow(good, merely_linear, spoilt, verdicts):
    assert verdicts("smoothed-margin", good) == ["holds"] * 3
    assert verdicts("smoothed-margin", merely_linear) == ["not applicable"] * 3
    w = good.w.clone()
    w[-1] = w[-1].roll(1, 2)  # off its direction: less margin for its length
    assert "fails" in verdicts("smoothed-margin", spoilt(good, w=w))


@pytest.mark.parametrize("name", LIMITS)
def test_limits_hold_where_the_theorem_applies(spanned, merely_linear, impossible, verdicts, name):
    assert verdicts(name, spanned) == ["holds"] * 2
    assert verdicts(name, merely_linear) == ["not applicable"] * 3
    assert verdicts(name, impossible) == ["not applicable"] * 2


@pytest.mark.parametrize("name", LIMITS)
def test_a_network_elsewhere_fails(spanned, spoilt, verdicts, name):
    w = spanned.w.clone()
    w[-1] += 0.5 * w[-1].roll(1, 2)
    assert verdicts(name, spoilt(spanned, w=w)) == ["fails"] * 2


def test_the_span_of_the_support_is_a_condition_that_can_be_dropped(good, verdicts):
    for name in ("max-margin-limit", "two-neuron-function"):
        [first, *_] = certify(name, good)
        assert first.verdict == "not applicable"
        assert all("rank of the support" in name for name in first.unmet)
        assert verdicts(name, good, need_span=False) == ["holds"] * 3


def test_an_empty_group_leaves_the_sharper_limits_out(verdicts):
    start = balanced_start(range(2), 6, 3)
    one_sign = start.map(lambda v: v.abs() if v.shape[2] == 1 else v)
    course = flow(cones(range(2)), one_sign, [-math.inf, 0.0, 5.0, 100.0, 300 * math.log(10)])
    assert verdicts("sharper-limits", course) == ["not applicable"] * 2
    assert verdicts("max-margin-limit", course, need_span=False) == ["holds"] * 2  # one group is enough


def test_a_power_tail_is_left_out(verdicts):
    course = flow(cones(range(2)), balanced_start(range(2), 6, 3), [-math.inf, 0.0, 5.0, 50.0], loss="polynomial")
    for name in ("smoothed-margin", *LIMITS, "two-neuron-pruning"):
        assert verdicts(name, course) == ["not applicable"] * 2
    assert verdicts("balance", course) == verdicts("absorbing-sectors", course) == ["holds"] * 2


def test_the_network_can_be_pruned_to_two_units(good, merely_linear, spoilt, verdicts):
    assert verdicts("two-neuron-pruning", good) == ["holds"] * 3
    assert verdicts("two-neuron-pruning", merely_linear) == ["not applicable"] * 3
    w = good.w.clone()
    w[-1, :, ::2] = w[-1, :, ::2].roll(1, 2)
    assert verdicts("two-neuron-pruning", spoilt(good, w=w)) == ["fails"] * 3


def test_a_large_start_is_slow_to_forget(lazy, good):
    """Far from zero units keep their directions: at t = 1e300 more is left of the theorem than from a small start."""
    left = [fit(course.w[-1], course.a[-1], max_margins(course.data)).first.mean() for course in (lazy, good)]
    assert left[0] > 3 * left[1]
