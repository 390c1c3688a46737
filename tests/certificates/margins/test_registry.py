"""Statements by name."""

import json

import pytest

from tutelage.certificates.margins import STATEMENTS, MarginScene, certify_margins
from tutelage.errors import Refusal


def test_every_statement_gives_a_certificate_for_every_member_in_any_setting(good, merely_linear, impossible):
    for course in (good, merely_linear, impossible):
        scene = MarginScene(course)
        for name in STATEMENTS:
            found = certify_margins(name, scene)
            assert [c.member for c in found] == list(range(course.data.members))
            for certificate in found:
                assert certificate.verdict in ("holds", "not applicable", "not decided")
                json.dumps(certificate.plain(), allow_nan=False)
                assert str(certificate).startswith(name)


def test_the_whole_of_the_chapter_is_there():
    sources = " ".join(s.source for s in STATEMENTS.values())
    for part in ("3.1", "3.2", "3.3", "B.1", "B.2", "B.3", "B.4", "B.5", "B.6", "Theorem 3.1", "Corollary 3.1"):
        assert part in sources


def test_unknown_names_and_options_are_refused(good):
    with pytest.raises(Refusal, match="did you mean 'balance'"):
        certify_margins("balanc", good)
    with pytest.raises(Refusal, match="no option 'wish'"):
        certify_margins("balance", good, wish=1)
