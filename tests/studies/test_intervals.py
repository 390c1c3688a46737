"""Intervals agree with scipy and with enumeration, and equal values give none."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from tutelage.lab import TrainedStudents
from tutelage.measures import Report
from tutelage.studies.claims import ANY, SHARE, SIGNED
from tutelage.studies.intervals import (
    above_chance,
    binomial_interval,
    fan_out_by_likeness,
    largest_share,
    likeness,
    mean_interval,
    mean_where,
    p_value,
    rank_correlations,
    recovered_share,
    recovery_steps,
)


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


@given(st.integers(0, 12), st.integers(1, 12), st.floats(0.05, 0.95), st.floats(0.5, 0.999))
def test_p_value_of_a_share_is_where_its_interval_meets_the_threshold(successes, trials, threshold, confidence):
    successes = min(successes, trials)
    low, high = binomial_interval(successes, trials, confidence)
    p = p_value("exact binomial", successes / trials, None, trials, threshold)
    if abs(p - (1 - confidence)) > 1e-9:
        assert (p < 1 - confidence) == (threshold < low or threshold > high)


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=12), st.floats(-5, 5))
def test_p_value_of_a_mean_is_scipys(values, threshold):
    if np.std(values) < 1e-3:
        return
    stderr = np.std(values, ddof=1) / len(values) ** 0.5
    expected = stats.ttest_1samp(values, threshold).pvalue
    assert p_value("Student", float(np.mean(values)), stderr, len(values), threshold) == pytest.approx(expected)


def test_methods_whose_interval_does_not_follow_from_mean_and_error_have_no_p_value():
    assert p_value("exact sign test", 0.5, 0.1, 8, 0.0) is None
    assert p_value("Student", 0.5, None, 8, 0.0) is None


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
    found = mean_interval(np.array([1.0, 1.0, 0.0, 1.0]), SHARE, "outcome")
    assert found.method == "exact binomial"
    assert (found.low, found.high) == binomial_interval(3, 4)


def test_differences_of_outcomes_have_the_sign_test():
    values = np.array([1.0] * 9 + [-1.0] + [0.0] * 10)
    found = mean_interval(values, SIGNED, "outcome")
    assert found.method == "exact sign test"
    assert (found.low > 0) == (stats.binomtest(9, 10).pvalue < 0.05)
    assert mean_interval(np.zeros(5), SIGNED, "outcome") is None


@pytest.mark.parametrize("members", [2, 5, 12, 30])
def test_zero_is_outside_exactly_where_the_sign_test_rejects(members):
    for plus, minus in np.ndindex(members + 1, members + 1):
        if 0 < plus + minus <= members:
            found = mean_interval(differences(plus, minus, members), SIGNED, "outcome")
            rejects = stats.binomtest(plus, plus + minus).pvalue < 0.05
            assert (found.low > 0 or found.high < 0) == rejects


@given(st.integers(2, 14), st.floats(0.01, 1), st.floats(0, 1))
def test_the_mean_of_differences_is_covered_by_enumeration(members, differ, positive):
    """Summed over all outcomes, the mean lies below the interval, and above it, with at most 2.5 % probability each."""
    assert max(missed(members, differ, positive)) <= 0.025 + 1e-9


def test_the_mean_of_differences_is_covered_where_limits_are_reached():
    """The same at means just beyond an end of some interval, where the probability to miss them is largest."""
    members, largest = 20, 0.0
    for plus, minus in [(20, 0), (18, 0), (17, 3), (12, 2), (9, 1), (6, 0), (3, 0), (10, 6)]:
        found = mean_interval(differences(plus, minus, members), SIGNED, "outcome")
        for mean in (found.low * (1 - 1e-9), found.high * (1 + 1e-9)):
            for differ in np.linspace(abs(mean), 1, 40):
                if abs(mean) <= differ <= 1:
                    largest = max(largest, *missed(members, differ, (1 + mean / differ) / 2))
    assert 0.02 < largest <= 0.025 + 1e-9


@pytest.mark.parametrize(("plus", "minus"), [(0.03, 0.0), (0.06, 0.02), (0.5, 0.4), (0.3, 0.3), (0.97, 0.02)])
def test_the_mean_of_differences_is_covered_in_samples(plus, minus):
    """A mean of 0 and others are covered in 95 % of the samples of 300 members, less three standard errors."""
    generator = np.random.default_rng(0)
    samples = generator.choice([1.0, -1.0, 0.0], size=(2000, 300), p=[plus, minus, 1 - plus - minus])
    found = [mean_interval(values, SIGNED, "outcome") for values in samples]
    covered = [one is None or one.low <= plus - minus <= one.high for one in found]
    assert np.mean(covered) >= 0.95 - 3 * (0.95 * 0.05 / len(samples)) ** 0.5


def differences(plus: int, minus: int, members: int) -> np.ndarray:
    return np.repeat([1.0, -1.0, 0.0], [plus, minus, members - plus - minus])


def missed(members: int, differ: float, positive: float) -> tuple[float, float]:
    """Probabilities that the interval lies above, and below, the mean of so many differences.

    differ: probability that a member's outcomes differ; positive: that they differ by +1 where they do.
    """
    plus, minus, low, high = outcomes(members)
    chance = stats.binom.pmf(plus + minus, members, differ) * stats.binom.pmf(plus, plus + minus, positive)
    mean = differ * (2 * positive - 1)
    return float(chance[low > mean + 1e-12].sum()), float(chance[high < mean - 1e-12].sum())


@cache
def outcomes(members: int) -> np.ndarray:
    """All numbers of +1 and of -1 with the ends of their interval: [4, outcomes]."""
    counts = [(p, m) for p, m in np.ndindex(members + 1, members + 1) if 0 < p + m <= members]
    found = [mean_interval(differences(p, m, members), SIGNED, "outcome") for p, m in counts]
    return np.array([(*count, one.low, one.high) for count, one in zip(counts, found, strict=True)]).T


def test_equal_values_of_an_unbounded_statistic_give_no_interval():
    assert mean_interval(np.full(30, 2.0), ANY) is None
    assert mean_interval(np.full(30, 0.1) + 1e-18, (0.0, np.inf)) is None


def test_equal_values_of_a_bounded_statistic_count_members_only():
    """The share of members with that value is bounded exactly; the others may lie anywhere."""
    found = mean_interval(np.full(200, -1.0), (-1.0, 3.0))
    share = 0.025 ** (1 / 200)
    assert found.low == pytest.approx(-1.0)
    assert found.high == pytest.approx(-share + 3 * (1 - share))


def test_shares_that_happen_to_be_0_or_1_are_no_outcomes():
    """Four members with a share of 0, 0, 1 and 1 of their units: their spread counts, not a number of successes."""
    found = mean_interval(np.array([0.0, 0.0, 1.0, 1.0]), SHARE, "share")
    assert found.method == "Student"


@given(st.integers(2, 40), st.floats(0.0, 1.0))
def test_a_better_value_never_says_less(members, value):
    """All members at one value are judged as members of which one is a step worse: Student's interval of those."""
    step = 1e-3
    assume(value + step <= 1)
    equal = mean_interval(np.full(members, value), SHARE, "share", step)
    worse = mean_interval(np.append(np.full(members - 1, value), value + step), SHARE, "share", step)
    assert (equal.low, equal.high) == pytest.approx((worse.low, worse.high))


@pytest.mark.parametrize("values", [[], [1.0]])
def test_one_value_gives_no_interval(values):
    assert mean_interval(np.array(values), ANY) is None


def result_of(**values):
    steps = tuple(range(0, 10 * len(next(iter(values.values()))), 10))
    return TrainedStudents(None, Report(steps, {name: np.asarray(v, float) for name, v in values.items()}), Path())


def test_rank_correlations_are_spearmans():
    draw = np.random.default_rng(0)
    x, y = draw.integers(0, 5, (6, 12)).astype(float), draw.normal(size=(6, 12))
    measured = rank_correlations(x, y)
    for s in range(6):
        assert measured[s] == pytest.approx(stats.spearmanr(x[s], y[s]).statistic)


def test_rank_correlations_of_constants_and_gaps_are_undefined():
    x = np.array([[1.0, 1.0, 1.0], [1.0, 2.0, np.nan], [1.0, 2.0, 3.0]])
    y = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [1.0, np.inf, np.inf]])
    assert np.isnan(rank_correlations(x, y)).tolist() == [True, True, False]


def test_recovery_is_the_first_step_above_the_threshold():
    best = [[[0.1, 0.96], [0.2, 0.2]], [[0.97, 0.9], [0.3, 0.3]], [[0.9, 0.99], [0.99, 0.4]]]  # [T, S, m]
    steps = recovery_steps(result_of(best_correlation=best))
    assert steps.tolist() == [[10.0, 0.0], [20.0, np.inf]]


def test_recovered_share_counts_units_and_leaves_out_diverged_members():
    best = [[[0.96, 0.2, 0.99, 0.95], [np.nan] * 4]]
    share = recovered_share(result_of(best_correlation=best))
    assert share[0] == 0.5
    assert np.isnan(share[1])


def test_mean_where_nothing_is_chosen_is_undefined():
    values, chosen = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]), np.array([[True, False, True], [False] * 3])
    measured = mean_where(values, chosen)
    assert measured[0] == 2.0
    assert np.isnan(measured[1])


def test_chance_counts_as_0_and_a_full_match_as_1():
    """Wider untrained students resemble a teacher more by chance: equal progress from there is equal."""
    values, chance = np.array([0.2, 0.5, 1.0, 0.6]), np.array([0.2, 0.0, 0.7, 0.2])
    assert np.allclose(above_chance(values, chance), [0.0, 0.5, 1.0, 0.5])


class TestFanOutByLikeness:
    """An order of units that rounding cannot move."""

    @staticmethod
    def students(members=4, units=40):
        """Nine units in ten are specialised up to 1e-6 to 1e-3, as in trained students; others have no fan-out."""
        rng = np.random.default_rng(0)
        rho = 1 - 10 ** rng.uniform(-6, -3, (members, units))
        rho[:, : units // 10] = rng.uniform(0.1, 0.6, (members, units // 10))
        fan_out = np.where(rho > 0.9, rng.uniform(0.3, 1, rho.shape), rng.uniform(0, 1e-6, rho.shape))
        return rho, fan_out

    def test_it_is_the_same_at_another_precision(self):
        rho, fan_out = self.students()
        noise = np.random.default_rng(1).normal(size=rho.shape)
        rounded = (rho + 3e-5 * noise).clip(max=1), (fan_out + 1e-6 * noise).clip(min=0)
        assert np.allclose(fan_out_by_likeness(rho, fan_out), fan_out_by_likeness(*rounded), atol=1e-12)
        moved = rank_correlations(rho, fan_out) - rank_correlations(*rounded)
        assert np.abs(moved).max() > 0.01  # a plain rank correlation moves in its second digit

    def test_it_sees_the_l(self):
        rho, fan_out = self.students()
        assert np.allclose(fan_out_by_likeness(rho, fan_out), 1)
        assert (fan_out_by_likeness(rho, 1 / (fan_out + 0.1)) < -0.9).all()  # the foot has classes of its own

    def test_pairs_are_counted_as_by_hand(self):
        """Classes 4, 4, 2 and 0: of the five pairs that differ in likeness four are in order."""
        rho, fan_out = np.array([[0.99, 0.98, 0.8, 0.1]]), np.array([[1.0, 0.5, 0.7, 0.2]])
        assert fan_out_by_likeness(rho, fan_out) == pytest.approx((4 - 1) / 5)

    def test_few_units_at_the_foot_do_not_cap_it(self):
        """One unit of fifty is not specialised and has no fan-out: a perfect L."""
        rho, fan_out = np.full((1, 50), 0.99), np.linspace(0.5, 1, 50)[None]
        rho[0, 0], fan_out[0, 0] = 0.2, 0.0
        assert fan_out_by_likeness(rho, fan_out) == 1
        assert rank_correlations(likeness(rho), fan_out) < 0.3

    def test_where_all_units_are_specialised_there_is_no_rank(self):
        rho = np.full((2, 5), 0.99)
        assert np.isnan(fan_out_by_likeness(rho, np.arange(10.0).reshape(2, 5))).all()
