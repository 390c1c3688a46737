"""Verdicts follow from the conditions, and a condition that was not evaluated is never true."""

import json
import math

import pytest

from tutelage import TutelageError
from tutelage.certificates import Certificate, check
from tutelage.certificates.records import Part, unknown

YES, NO, OPEN = check("a", 1, "<=", 2), check("b", 3, "<=", 2), check("c", 1, "<=", 2, decided=False)


def certificate(*parts, shared=()):
    return Certificate("name", "Tian 2020, Theorem 0", "What it says.", 4, tuple(shared), parts, {"epsilon": 0.5})


@pytest.mark.parametrize(
    ("conditions", "conclusion", "verdict"),
    [
        ((), YES, "holds"),
        ((YES, YES), YES, "holds"),
        ((YES,), NO, "fails"),
        ((YES, NO), YES, "not applicable"),
        ((NO, OPEN), NO, "not applicable"),
        ((YES, OPEN), YES, "not decided"),
        ((YES, OPEN), NO, "not decided"),
        ((YES, unknown("d", "too large")), YES, "not decided"),
        ((YES,), OPEN, "not decided"),
    ],
)
def test_the_verdict_of_a_part(conditions, conclusion, verdict):
    assert certificate(Part("it", conditions, conclusion)).verdict == verdict
    assert certificate(Part("it", (), conclusion), shared=conditions).verdict == verdict


def test_a_certificate_is_as_good_as_its_worst_part_and_says_how_many_share_it():
    good, bad, moot = Part("x", (YES,), YES), Part("y", (YES,), NO), Part("z", (NO,), YES)
    assert certificate(good, moot).verdict == "not applicable"
    assert certificate(good, moot, bad).verdict == "fails"
    assert certificate(good, moot, good).summary == "not applicable (not applicable: 1, holds: 2)"
    assert certificate(good, moot).unmet == ("b",)


@pytest.mark.parametrize(
    ("relation", "met"), [("<=", [True, True, False]), ("<", [True, False, False]), (">", [False, False, True])]
)
def test_relations_and_margins(relation, met):
    checks = [check("v", value, relation, 2) for value in (1, 2, 3)]
    assert [c.holds for c in checks] == met
    assert [c.margin for c in checks] == ([1, 0, -1] if relation != ">" else [-1, 0, 1])


def test_plain_data_is_json_without_infinities():
    part = Part("it", (check("v", math.inf, "<=", 1, x=math.inf, y=[1.0, math.inf]), unknown("w", "why")), YES)
    plain = certificate(part).plain()
    again = json.loads(json.dumps(plain, allow_nan=False))
    assert again == plain
    first, second = again["parts"][0]["conditions"]
    assert first["value"] is None
    assert first["data"] == {"x": None, "y": [1.0, None]}
    assert second["holds"] is None
    assert again["verdict"] == "not applicable"


def test_text_names_the_theorem_the_member_and_every_condition():
    found = certificate(Part("teacher unit 3", (NO,), NO), shared=(YES,))
    text = str(found)
    assert text.splitlines()[0] == "name (Tian 2020, Theorem 0), member 4: not applicable"
    assert 'Not applicable: condition "b" is not met (measured 3, needed <= 2)' in text
    assert "epsilon 0.5" in text
    assert "met: a (measured 1, needed <= 2)" not in text
    details = found.details()
    assert "met: a (measured 1, needed <= 2)" in details
    assert "teacher unit 3: not applicable" in details
    assert "conclusion not met: b" in details
    assert "refute" in str(certificate(Part("it", (YES,), NO)))


def test_a_number_that_is_none_is_an_error():
    with pytest.raises(TutelageError, match="'v' is not a number"):
        check("v", math.nan, "<=", 1)
