"""What the statements share."""

import json

import pytest

from tutelage.certificates import certify, theorems
from tutelage.errors import TutelageError
from tutelage.margins.certificates.scene import MarginScene
from tutelage.margins.max_margin import MaxMargins


def test_conditions_carry_their_witnesses(good, merely_linear, impossible):
    assert all(c.holds for c in MarginScene(good).separable(0))
    acute = MarginScene(merely_linear).separable(0)[0]
    assert acute.holds is False
    assert "pair (" in acute.witness
    assert isinstance(MarginScene(good).margins, MaxMargins)
    [missing] = MarginScene(impossible).margins_exist()
    assert missing.holds is False
    assert "convex hull of samples" in missing.witness


def test_balance_and_groups_are_looked_up(good, merely_linear, spoilt):
    assert MarginScene(good).balanced(1).holds
    assert MarginScene(good).grouped(1).holds
    assert MarginScene(spoilt(good, a=1.1 * good.a)).balanced(0).holds is False
    assert MarginScene(merely_linear).grouped(0).holds is False


OWN = {name: t for name, t in theorems().items() if t.subject.name == "margins"}


def test_every_statement_gives_a_certificate_for_every_member_in_any_setting(good, merely_linear, impossible):
    for course in (good, merely_linear, impossible):
        scene = MarginScene(course)
        for name in OWN:
            found = certify(name, scene)
            assert [c.member for c in found] == list(range(course.data.members))
            for certificate in found:
                assert certificate.verdict in ("holds", "not applicable", "not decided")
                json.dumps(certificate.plain(), allow_nan=False)
                assert str(certificate).startswith(name)


def test_the_whole_of_the_chapter_is_there():
    sources = " ".join(s.source for s in OWN.values())
    for part in ("3.1", "3.2", "3.3", "B.1", "B.2", "B.3", "B.4", "B.5", "B.6", "Theorem 3.1", "Corollary 3.1"):
        assert part in sources


def test_unknown_names_and_options_are_refused(good):
    with pytest.raises(TutelageError, match="did you mean 'balance'"):
        certify("balanc", good)
    with pytest.raises(TutelageError, match="unknown option 'wish'"):
        certify("balance", good, wish=1)
