"""Every claim of every study: a reason, a range that its bound divides, and values that make it fail."""

import re
from dataclasses import replace

import numpy as np
import pytest

from tutelage.studies import STUDIES, Check, Claim, judge
from tutelage.studies.claims import met
from tutelage.studies.study import SCALES

SIGHTINGS = re.compile(r"seen before|measured before|had (been|shown)|rehearsal", re.IGNORECASE)

REHEARSED = [
    "batch-size", "bias-contrasts", "images", "optimisation-bias", "orthogonal-limits", "orthogonal-residual",
    "orthogonal-two-layer", "overparameterised-committee", "planted-baselines", "sentences",
    "splitting-the-categorical", "splitting-the-normal", "test-functions",
    "width-independence",
]  # fmt: skip
"""Studies whose thresholds were fixed after a rehearsal."""


def claims():
    return [(name, claim) for name, study in STUDIES.items() for claim in study.plan("smoke").claims]


def identity(pair):
    return f"{pair[0]}: {pair[1].sentence[:60]}"


@pytest.mark.parametrize("pair", claims(), ids=identity)
def test_the_threshold_has_a_reason_that_is_no_sighting(pair):
    _, claim = pair
    assert len(claim.reason.split()) > 1
    assert not SIGHTINGS.search(f"{claim.reason} {claim.statistic}")


@pytest.mark.parametrize("pair", claims(), ids=identity)
def test_adverse_values_within_the_possible_make_it_fail(pair):
    _, claim = pair
    adverse = _adverse(claim)
    (judged,) = judge(replace(claim, values=lambda _: {"adverse": adverse}), None)
    assert judged.verdict == ("does not pass" if isinstance(claim, Check) else "fails")


def _adverse(claim: Claim | Check) -> np.ndarray:
    """A thousand values, all possible and all on the wrong side of the bound: different ones, unless outcomes."""
    if getattr(claim, "kind", "") == "outcome":
        return np.full(1000, claim.possible[0 if ">" in claim.expected else 1])
    bound = float(re.search(r"[-+\d.][\d.eE+-]*", claim.expected)[0])
    low, high = getattr(claim, "possible", (-np.inf, np.inf))
    low, high = max(low, bound - 2 - abs(bound)), min(high, bound + 2 + abs(bound))
    wrong = (low, bound) if ">" in claim.expected else (bound, high)
    values = np.linspace(*wrong, 1002)[1:-1]
    assert not any(met(claim.expected, value) for value in values)
    return values


@pytest.mark.parametrize("name", sorted(STUDIES))
def test_its_members_can_decide_every_claim_at_paper_scale(name):
    """Otherwise the plan is an error."""
    assert STUDIES[name].plan("paper").claims


def test_studies_with_rehearsed_thresholds_are_judged_on_fresh_seeds():
    """No member of the study at paper scale has a seed that smaller scales use."""
    for name in REHEARSED:
        used = {scale: _seeds(STUDIES[name].plan(scale).experiments) for scale in SCALES}
        assert used["paper"], name
        assert not used["paper"] & (used["smoke"] | used["quick"]), name
        assert min(used["paper"]) >= 10_000, name


def _seeds(experiments) -> set[int]:
    """Seeds of all members, whether an experiment has one or many."""
    own = [getattr(e, "seeds", None) or (e.seed,) for e in experiments]
    return {seed for seeds in own for seed in seeds}
