"""Verdicts follow from the values and the declared rules, and from nothing else."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tutelage.errors import TutelageError
from tutelage.lab import Results
from tutelage.studies import Check, Claim, Measured, judge
from tutelage.studies.claims import SHARE, SIGNED, compared
from tutelage.studies.judging import undecidable

REASON = "a reason that is no measurement"


def claim(values, expected="> 0", **settings):
    return Claim("a sentence", "a statistic", expected, lambda _: {"here": values}, REASON, **settings)


def verdict(values, expected="> 0", **settings):
    values = values if isinstance(values, Measured) else np.asarray(values, float)
    (judged,) = judge(claim(values, expected, **settings), Results([]))
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
    if np.std(values) < 1e-9:
        return
    judged = verdict(values, "> 0.25")
    interval = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
    if min(abs(interval.low - 0.25), abs(interval.high - 0.25)) < 1e-9:
        return
    wanted = "holds" if interval.low > 0.25 else "fails" if interval.high < 0.25 else "undecided"
    assert judged.verdict == wanted
    assert judged.stderr == pytest.approx(stats.sem(values))
    assert judged.interval == pytest.approx((interval.low, interval.high))


@pytest.mark.parametrize(("n", "share", "wanted"), [(8, 0.9, "undecided"), (8, 0.6, "holds"), (48, 0.999, "undecided")])
def test_outcomes_are_judged_by_the_exact_interval(n, share, wanted):
    """8 of 8 show more than 0.63, not more than 0.9; 48 of 48 show more than 0.93."""
    assert verdict(np.ones(n), f"> {share}", possible=SHARE, kind="outcome").verdict == wanted


def test_equal_values_decide_nothing_without_a_range():
    judged = verdict(np.full(500, 2.0), "< 2.5")
    assert (judged.verdict, judged.interval, judged.method) == ("undecided", None, "equal values, no interval")


def test_members_without_the_statistic_do_not_count():
    judged = verdict([1.0, np.nan, 1.2, 0.8])
    assert judged.n == 3
    assert judged.measured == pytest.approx(1.0)


@pytest.mark.parametrize("values", [[], [np.nan, np.nan], [3.0]])
def test_too_few_members_decide_nothing(values):
    assert verdict(values).verdict == "undecided"
    assert verdict(values).stderr is None


def test_an_expectation_must_be_a_bound():
    with pytest.raises(TutelageError, match="expected must be"):
        verdict([1.0, 2.0], "about 3")


def test_values_outside_the_declared_range_are_an_error():
    with pytest.raises(TutelageError, match="outside the possible"):
        verdict([0.5, 1.5], "> 0.1", possible=SHARE)


def test_each_setting_is_judged_by_itself():
    both = Claim("s", "t", "> 0", lambda _: {"a": np.arange(8, 12), "b": -np.arange(8, 12)}, REASON)
    assert [(v.setting, v.verdict) for v in judge(both, Results([]))] == [("a", "holds"), ("b", "fails")]


def test_an_infinite_value_leaves_a_mean_undecided():
    """Without it the others would make the claim hold."""
    judged = verdict(np.append(np.linspace(0.1, 0.2, 30), np.inf), "< 1")
    assert (judged.verdict, judged.n, judged.measured, judged.interval) == ("undecided", 31, None, None)
    assert verdict(np.append(np.linspace(0.1, 0.2, 30), np.nan), "< 1").verdict == "holds"  # not defined: left out


def test_a_value_that_is_no_outcome_is_an_error():
    with pytest.raises(TutelageError, match="no outcomes of 0 and 1"):
        verdict([0.5, 1.0], "> 0.1", possible=SHARE, kind="outcome")


def test_exactly_0_is_no_worse_than_nearly_0():
    """A share of wrong pairs, counted among a million: none in four members holds where a few in one do."""
    few, none = np.array([0.0, 0.0, 0.0, 1e-6]), np.zeros(4)
    for values in (few, none):
        assert verdict(Measured(values, step=1e-6), "< 0.01", possible=SHARE, kind="share").verdict == "holds"
    assert verdict(none, "< 0.01", possible=SHARE, kind="share").verdict == "undecided"  # nothing known of a step


class TestPremise:
    values = np.array([1.0, 1.1, 0.9, 1.0, -5.0, -6.0])

    def test_only_members_that_meet_it_are_judged(self):
        judged = verdict(Measured(self.values, premise=self.values > 0))
        assert (judged.verdict, judged.n, judged.members) == ("holds", 4, 6)
        assert judged.measured == pytest.approx(1.0)

    @pytest.mark.parametrize("about", ["mean", "every"])
    def test_with_fewer_than_three_it_is_not_applicable(self, about):
        judged = verdict(Measured(self.values, premise=self.values < 0), about=about)
        assert (judged.verdict, judged.n, judged.measured, judged.why) == ("not applicable", 2, None, "")

    def test_a_claim_may_ask_for_more(self):
        measured = Measured(self.values, premise=self.values > 0)
        assert verdict(measured, fewest=4).verdict == "holds"
        assert verdict(measured, fewest=5).verdict == "not applicable"

    def test_what_is_known_of_a_member_goes_with_it(self):
        at_limit = np.array([True, True, True, True, False, False])
        values = np.where(at_limit, 0.0, self.values)
        judged = verdict(Measured(values, at_limit=at_limit, premise=at_limit), possible=SIGNED)
        assert judged.verdict == "saturated"


class TestWhy:
    @pytest.mark.parametrize("failure", ["refuted", "premise not met", "not found"])
    def test_a_miss_says_why_and_nothing_else_does(self, failure):
        assert verdict([-1.0, -1.1, -0.9], failure=failure).why == failure
        assert verdict([1.0, 1.1, 0.9], failure=failure).why == ""
        check = Check("s", "t", "<= 0", lambda _: {"a": 1.0, "b": -1.0}, REASON, failure=failure)
        assert [v.why for v in judge(check, None)] == [failure, ""]

    def test_the_verdict_carries_the_words_of_the_claim(self):
        judged = verdict([1.0, 1.1, 0.9], place="Thm 2", kind="share")
        assert (judged.standing, judged.place, judged.kind) == ("paper", "Thm 2", "share")


class TestUndecidable:
    """Whether some outcome of n members decides, for or against."""

    @pytest.mark.parametrize(
        ("n", "possible", "expected", "wanted"),
        [(3, SIGNED, "> 0", True), (5, SIGNED, "> 0", True), (6, SIGNED, "> 0", False), (3, SHARE, "> 0.5", True),
         (3, SHARE, "> 0.9", False), (6, SHARE, "> 0.5", False)],
    )  # fmt: skip
    def test_of_outcomes_it_depends_on_their_number(self, n, possible, expected, wanted):
        assert undecidable(claim(None, expected, possible=possible, kind="outcome"), n) is wanted

    def test_a_mean_or_an_exception_may_decide_with_any_number(self):
        assert not undecidable(claim(None), 3)
        assert not undecidable(claim(None, possible=SIGNED, kind="outcome", about="every"), 3)


class TestUniversal:
    def test_one_exception_refutes_whatever_the_mean(self):
        values = np.append(np.full(999, 5.0), -0.1)
        judged = verdict(values, about="every")
        assert (judged.verdict, judged.measured, judged.exceptions) == ("fails", -0.1, 1)

    @pytest.mark.parametrize(("n", "wanted"), [(28, "undecided"), (29, "holds")])
    def test_it_holds_when_the_exact_limit_of_exceptions_is_small(self, n, wanted):
        """0.95^n falls below 1 - 0.1 confidence at 29 members: 0.9^29 < 0.05 < 0.9^28."""
        assert 0.9**29 < 0.05 < 0.9**28
        assert verdict(np.arange(1, n + 1), about="every").verdict == wanted

    def test_infinite_values_count(self):
        assert verdict(np.append(np.full(99, -np.inf), 0.0), "< -10", about="every").verdict == "fails"


class TestSaturated:
    def test_both_sides_at_the_ceiling_show_nothing(self):
        ones = np.ones(20)
        assert verdict(compared(ones, ones), possible=SIGNED).verdict == "saturated"
        assert verdict(compared(0 * ones, 0 * ones), possible=SIGNED).verdict == "saturated"

    def test_a_difference_below_the_ceiling_is_judged(self):
        first, second = np.linspace(0.7, 0.9, 20), np.linspace(0.1, 0.2, 20)
        assert verdict(compared(first, second), possible=SIGNED).verdict == "holds"
        assert verdict(compared(second, first), possible=SIGNED).verdict == "fails"

    def test_few_members_below_the_ceiling_may_still_show_it(self):
        first, second = np.ones(20), np.where(np.arange(20) < 8, np.linspace(0.2, 0.4, 20), 1.0)
        assert verdict(compared(first, second), possible=SIGNED).verdict == "holds"

    def test_the_opposite_effect_is_not_called_saturated(self):
        first, second = np.where(np.arange(20) < 8, np.linspace(0.2, 0.4, 20), 1.0), np.ones(20)
        assert verdict(compared(first, second), possible=SIGNED).verdict == "fails"

    def test_a_fail_among_the_members_below_the_limit_is_a_fail(self):
        """Ten members see nothing, six have a rank correlation near 0.1 where more than 0.3 is claimed."""
        values = np.append(np.full(10, np.nan), np.linspace(0.05, 0.15, 6))
        assert verdict(Measured(values, at_limit=np.isnan(values)), "> 0.3", possible=SIGNED).verdict == "fails"

    def test_members_without_a_statistic_may_be_at_a_limit(self):
        """A rank correlation is not defined where all units are alike."""
        judged = verdict(Measured(np.full(9, np.nan), at_limit=np.full(9, True)), "> 0.3")
        assert judged.verdict == "saturated"


class TestBounded:
    """A statistic known between two numbers: the worse decides whether it holds, the better whether it fails."""

    worse = np.array([0.3, 0.32, 0.29, 0.31])

    def test_fails_only_if_the_better_end_fails(self):
        assert verdict(Measured(self.worse), "< 0.1").verdict == "fails"
        assert verdict(Measured(self.worse, at_best=self.worse - 0.1), "< 0.1").verdict == "fails"
        assert verdict(Measured(self.worse, at_best=self.worse - 0.28), "< 0.1").verdict == "undecided"
        assert verdict(Measured(self.worse, at_best=np.zeros(4)), "< 0.1").verdict == "undecided"

    def test_holds_only_if_the_worse_end_holds(self):
        assert verdict(Measured(self.worse, at_best=np.zeros(4)), "< 0.4").verdict == "holds"
        assert verdict(Measured(self.worse, at_best=np.zeros(4)), "< 0.31").verdict == "undecided"


class TestVacuous:
    def test_a_bound_that_the_worst_value_meets_says_nothing(self):
        values = np.linspace(-9, -8, 10)
        assert verdict(Measured(values, baseline=-0.5), "< 0").verdict == "vacuous"
        assert verdict(Measured(values, baseline=0.5), "< 0").verdict == "holds"

    def test_what_untrained_networks_meet_says_nothing(self):
        trained, untrained = np.linspace(0.9, 1.0, 10), np.linspace(0.5, 0.6, 10)
        assert verdict(Measured(trained, baseline=untrained), "> 0.3").verdict == "vacuous"
        assert verdict(Measured(trained, baseline=untrained), "> 0.7").verdict == "holds"

    def test_few_or_equal_untrained_members_are_judged_by_their_mean(self):
        trained = np.array([0.99, 1.0, 0.98])
        assert verdict(Measured(trained, baseline=np.ones(3)), "> 0.5", possible=(0.0, 1.0)).verdict == "vacuous"
        assert verdict(Measured(trained, baseline=np.array([0.9])), "> 0.5").verdict == "vacuous"
        assert verdict(Measured(trained, baseline=np.zeros(3)), "> 0.5", possible=(0.0, 1.0)).verdict == "holds"
        assert verdict(Measured(trained, baseline=np.full(3, np.nan)), "> 0.5").verdict == "holds"

    def test_of_a_universal_claim_every_untrained_member_must_meet_it(self):
        values = np.full(40, 0.5)
        assert verdict(Measured(values, baseline=np.full(40, 0.9)), "<= 1", about="every").verdict == "vacuous"
        assert (
            verdict(Measured(values, baseline=np.r_[np.full(39, 0.9), 1.1]), "<= 1", about="every").verdict == "holds"
        )


class TestCheck:
    @pytest.mark.parametrize(
        ("values", "wanted"),
        [(0.0, "passes"), ([0.0, -1.0], "passes"), ([0.0, 1.0], "does not pass"), ([], "does not pass"),
         (np.nan, "does not pass")],
    )  # fmt: skip
    def test_it_passes_when_every_number_does(self, values, wanted):
        (judged,) = judge(Check("s", "t", "<= 0", lambda _: {"here": values}, REASON), None)
        assert judged.verdict == wanted
        assert (judged.stderr, judged.interval, judged.method) == (None, None, "check")

    def test_it_shows_the_worst_number(self):
        (judged,) = judge(Check("s", "t", "> 0.9", lambda _: {"here": [1.2, 0.3, 2.0]}, REASON), None)
        assert (judged.measured, judged.n) == (0.3, 3)
