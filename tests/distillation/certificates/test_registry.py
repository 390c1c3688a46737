"""Statements are found by name, and what they cannot look at is refused."""

import pytest

from tutelage.certificates import certify, theorems
from tutelage.distillation.deep import balanced_start
from tutelage.distillation.flows import induced_flow
from tutelage.errors import TutelageError

OWN = {name: t for name, t in theorems().items() if t.subject.name == "distillation"}


def test_every_statement_has_a_source_and_words():
    assert len(OWN) >= 21
    for statement in OWN.values():
        assert statement.source.startswith("Phuong 2021, ")
        assert statement.statement.endswith(".")


def test_certificates_are_plain_data(few):
    [first, *_] = certify("strong-convexity", few, probes=4)
    assert first.plain()["verdict"] == "holds"
    assert first.settings == {"probes": 4, "factor": 1.0}
    assert "strong-convexity" in str(first)


def test_what_is_not_there_is_refused(few):
    with pytest.raises(TutelageError, match="did you mean 'risk-bound'"):
        certify("risk-bounds", few)
    with pytest.raises(TutelageError, match="unknown option 'colour'"):
        certify("risk-bound", few, colour=1)
    with pytest.raises(TutelageError, match="needs a flow"):
        certify("linear-rate", few)
    product = induced_flow(few, balanced_start(few, range(3), 2).w, 2, [0.0, 1.0])
    with pytest.raises(TutelageError, match="every layer"):
        certify("balance-kept", product)
