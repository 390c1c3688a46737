"""Intervals agree with scipy and with enumeration, and equal values give none."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tutelage.studies.claims import ANY, SHARE, SIGNED
from tutelage.studies.intervals import binomial_interval, largest_share, mean_interval


@pytest.mark.parametrize(("successes", "trials"), [(0, 5), (3, 8), (8, 8), (21, 21), (48, 48), (500, 1000)])
def test_binomial_interval_is_scipys_exact_one(successes, trials):
    expected = stats.binomtest(successes, trials).proportion_ci(0.95, method="exact")
    assert binomial_interval(successes, trials) == pytest.approx((expected.low, expected.high))


@given(st.integers(1, 12), st.floats(0.01, 0.99))
def test_binomial_interval_covers_by_enumeration(trials, share):
    """Summed over all outcomes, the interval contains the true share with at least 95 % probability."""
    covered = sum(
        stats.binom.pmf(k, trials, share)
        for k in range(trials + 1)
        if binomial_interval(k, trials)[0] <= share <= binomial_interval(k, trials)[1]
    )
    assert covered >= 0.95 - 1e-9


@given(st.integers(1, 40))
def test_no_exception_in_n_bounds_their_share(trials):
    """At the limit, no exception has exactly the probability 5 %."""
    assert (1 - largest_share(0, trials)) ** trials == pytest.approx(0.05)


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=12))
def test_means_have_students_interval(values):
    if np.std(values) < 1e-9:
        return
    expected = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
    found = mean_interval(np.array(values), ANY)
    assert found.method == "Student"
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


def test_outcomes_have_the_exact_interval():
    found = mean_interval(np.array([1.0, 1.0, 0.0, 1.0]), SHARE)
    assert found.method == "exact binomial"
    assert (found.low, found.high) == binomial_interval(3, 4)


def test_differences_of_outcomes_have_the_sign_test():
    values = np.array([1.0] * 9 + [-1.0] + [0.0] * 10)
    found = mean_interval(values, SIGNED)
    assert found.method == "exact sign test"
    assert (found.low > 0) == (stats.binomtest(9, 10).pvalue < 0.05)
    assert mean_interval(np.zeros(5), SIGNED) is None


def test_equal_values_of_an_unbounded_statistic_give_no_interval():
    assert mean_interval(np.full(30, 2.0), ANY) is None
    assert mean_interval(np.full(30, 0.1) + 1e-18, (0.0, np.inf)) is None


def test_equal_values_of_a_bounded_statistic_count_members_only():
    """The share of members with that value is bounded exactly; the others may lie anywhere."""
    found = mean_interval(np.full(200, -1.0), (-1.0, 3.0))
    share = 0.025 ** (1 / 200)
    assert found.low == pytest.approx(-1.0)
    assert found.high == pytest.approx(-share + 3 * (1 - share))


@pytest.mark.parametrize("values", [[], [1.0]])
def test_one_value_gives_no_interval(values):
    assert mean_interval(np.array(values), ANY) is None
