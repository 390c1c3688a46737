"""A table of statements: what is registered is held against a scene, and what is not is named."""

import pytest

from tutelage.certificates.records import Finding, Part, check
from tutelage.certificates.statements import Statements
from tutelage.errors import Refusal

NUMBERS = Statements("numbers")


@NUMBERS.add("small", source="Lemma 9", needs="numbers")
def small(scene, *, most=3.0):
    """Every number is small.

    More words, which are not part of the statement.
    """
    return [Finding([Part("the number", (), check("number", float(n), "<=", most))]) for n in scene]


def test_every_finding_becomes_a_certificate():
    low, high = NUMBERS.certify("small", [1, 5], {})
    assert (low.verdict, high.verdict) == ("holds", "fails")
    assert (low.statement, low.source) == ("Every number is small.", "seed 004, Lemma 9")
    assert (low.member, high.member) == (0, 1)
    assert low.settings == {"most": 3.0}
    assert [c.verdict for c in NUMBERS.certify("small", [1, 5], {"most": 6.0})] == ["holds", "holds"]
    assert NUMBERS["small"].needs == "numbers"


def test_unknown_names_and_options_are_refused():
    with pytest.raises(Refusal, match="no statement about numbers 'smal': did you mean 'small'"):
        NUMBERS.certify("smal", [], {})
    with pytest.raises(Refusal, match="'small' has no option 'least': it takes most"):
        NUMBERS.certify("small", [], {"least": 1})
