"""What a claim must declare, and what its bound means."""

import numpy as np
import pytest

from tutelage.errors import TutelageError
from tutelage.studies import Check, Claim
from tutelage.studies.claims import SIGNED, met, refutes

REASON = "a reason that is no measurement"


def claim(expected="> 0", **settings):
    return Claim("s", "t", expected, lambda _: {}, REASON, **settings)


@pytest.mark.parametrize(
    ("expected", "value", "wanted"),
    [("> 1", 1.0, False), (">= 1", 1.0, True), ("<= 1", 1.0, True), ("< 1e-3", 0.0, True), (">= 1", np.nan, False)],
)
def test_bounds_are_strict_unless_they_say_otherwise(expected, value, wanted):
    assert met(expected, value) is wanted


def test_a_claim_needs_a_reason_and_must_be_able_to_fail():
    with pytest.raises(TutelageError, match="needs a reason"):
        Claim("s", "t", "> 0", lambda _: {}, " ")
    with pytest.raises(TutelageError, match="cannot fail"):
        claim("> -2", possible=SIGNED)


def test_outcomes_lie_between_0_and_1_or_are_differences_of_such():
    with pytest.raises(TutelageError, match="outcomes lie in"):
        claim(kind="outcome", possible=(0.0, 2.0))


class TestStanding:
    """A sentence of the paper has a place there, and no other claim has one."""

    @pytest.mark.parametrize("make", [claim, lambda **s: Check("s", "t", "> 0", lambda _: {}, REASON, **s)])
    def test_it_follows_from_the_place(self, make):
        assert make(place="Thm 2").standing == "paper"
        assert make().standing == "consequence"
        assert make(standing="own").standing == "own"

    @pytest.mark.parametrize("wrong", [{"standing": "paper"}, {"standing": "own", "place": "Thm 2"}])
    def test_a_place_and_another_standing_contradict_each_other(self, wrong):
        with pytest.raises(TutelageError, match="has the standing"):
            claim(**wrong)

    def test_only_a_refuted_sentence_of_the_paper_refutes_it(self):
        miss = {"verdict": "fails", "standing": "paper", "why": "refuted"}
        assert refutes(miss)
        assert not refutes(miss | {"standing": "own"})
        assert not refutes(miss | {"why": "not found"})
        assert not refutes({"verdict": "fails"})  # stored before claims had a standing
