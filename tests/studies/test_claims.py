"""Verdicts follow from the interval over members, and from nothing else."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tutelage.lab import Results
from tutelage.studies import Claim, judge


def verdict(values, expected="> 0"):
    claim = Claim("a sentence", "a statistic", expected, "its opposite", lambda _: {"here": np.asarray(values)})
    (judged,) = judge(claim, Results([]))
    return judged


def test_clear_cases_hold_and_fail():
    assert verdict([1.0, 1.1, 0.9, 1.0]).verdict == "holds"
    assert verdict([-1.0, -1.1, -0.9, -1.0]).verdict == "fails"
    assert verdict([1.0, 1.1, 0.9, 1.0], "< 0").verdict == "fails"


def test_an_interval_that_straddles_the_threshold_is_undecided():
    assert verdict([1.0, -1.0, 0.5, -0.4]).verdict == "undecided"


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=12))
def test_holding_agrees_with_students_test(values):
    """Holds exactly when the one-sample t interval lies above the threshold."""
    judged = verdict(values, "> 0.25")
    spread = np.std(values)
    if spread < 1e-9:
        return
    interval = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
    if min(abs(interval.low - 0.25), abs(interval.high - 0.25)) < 1e-9:
        return
    wanted = "holds" if interval.low > 0.25 else "fails" if interval.high < 0.25 else "undecided"
    assert judged.verdict == wanted
    assert judged.stderr == pytest.approx(stats.sem(values))


def test_members_without_the_statistic_do_not_count():
    judged = verdict([1.0, np.nan, 1.2, 0.8])
    assert judged.n == 3
    assert judged.measured == pytest.approx(1.0)


@pytest.mark.parametrize("values", [[], [np.nan, np.nan], [3.0]])
def test_too_few_members_decide_nothing(values):
    assert verdict(values).verdict == "undecided"
    assert verdict(values).stderr is None


def test_the_threshold_itself_does_not_meet_a_strict_bound():
    assert verdict([0.0, 0.0, 0.0]).verdict == "fails"


def test_an_expectation_must_be_a_bound():
    with pytest.raises(ValueError, match="expected must be"):
        verdict([1.0, 2.0], "about 3")


def test_each_setting_is_judged_by_itself():
    claim = Claim("s", "t", "> 0", "r", lambda _: {"a": np.ones(3), "b": -np.ones(3)})
    assert [(v.setting, v.verdict) for v in judge(claim, Results([]))] == [("a", "holds"), ("b", "fails")]
