"""One entry per claim, its worst setting with what was measured, and the whole table on request."""

from pathlib import Path

import pytest

from tutelage.cli.claims import claims_details, claims_summary, closing, colour, failed, worst
from tutelage.studies import STUDIES, Verdict
from tutelage.studies.reproduce import Reproduction


def verdict(claim, setting, measured, verdict, expected="> 0.5"):
    interval = measured and (measured - 0.1, measured + 0.1)
    return Verdict(claim, setting, "share of recovered units", expected, measured, 0.05, 8, verdict, interval=interval)


VERDICTS = [
    verdict("strong units are found", "p = 0", 0.9, "holds"),
    verdict("strong units are found", "p = 1", 0.55, "undecided"),
    verdict("strong units are found", "p = 2", 0.2, "fails"),
    verdict("strong units are found", "p = 3", 0.3, "fails"),
    verdict("weak units are not", "", 0.1, "holds", "< 0.5"),
    verdict("a new kind of verdict", "p = 0", None, "saturated"),
]
OUTCOME = Reproduction(STUDIES["l-shape"], "quick", Path(), VERDICTS)


@pytest.mark.parametrize("width", [80, 160])
def test_each_claim_has_one_entry_with_its_worst_setting(on_terminal, width):
    text = on_terminal(claims_summary(OUTCOME), width)
    assert max(map(len, text.splitlines())) <= width
    words = " ".join(text.split())
    assert "holds 1, undecided 1, fails 2: strong units are found" in words
    assert "worst: p = 2: share of recovered units: 0.2 (95 % interval 0.1 to 0.3), expected > 0.5" in words
    assert "p = 3" not in words
    assert "holds: weak units are not share of recovered units: 0.1 (95 % interval 0 to 0.2), expected < 0.5" in words
    assert "saturated: a new kind of verdict" in words
    assert words.startswith("l-shape (Tian 2020, Fig. 5; scale quick)")


def test_a_rehearsal_has_no_verdicts(on_terminal):
    rehearsal = Reproduction(OUTCOME.study, "smoke", Path(), VERDICTS)
    for text in (on_terminal(claims_summary(rehearsal), 160), on_terminal(claims_details(rehearsal), 160)):
        assert "ran" in text
        assert not any(word in text for word in ("holds", "fails", "undecided", "saturated"))


def test_the_whole_table_has_every_setting(on_terminal):
    text = on_terminal(claims_details(OUTCOME), 160)
    assert all(f"p = {p}" in text for p in range(4))
    assert text.count("strong units are found") == 1
    assert "measured: share of recovered units" in text


def test_the_worst_is_by_verdict_then_by_distance_from_the_threshold():
    assert worst(VERDICTS[:4]).setting == "p = 2"
    assert worst(VERDICTS[:2]).setting == "p = 1"
    below = [verdict("x", str(m), m, "holds", "< 0.5") for m in (0.1, 0.4, 0.2)]
    assert worst(below).measured == 0.4


def test_the_closing_lines_say_what_was_found():
    assert closing([OUTCOME]) == [
        "Unspecialised students end with small fan-out: of 6 verdicts 2 hold, 2 fail, 1 saturated, 1 undecided"
    ]
    assert closing([OUTCOME] * 4) == ["4 studies: of 24 verdicts 8 hold, 8 fail, 4 saturated, 4 undecided"]
    rehearsal = Reproduction(OUTCOME.study, "smoke", Path(), VERDICTS)
    assert closing([rehearsal, rehearsal]) == ["rehearsed: l-shape, l-shape"]


def test_verdicts_that_are_new_decide_nothing():
    assert [colour(v) for v in ("holds", "passes", "fails", "does not pass", "vacuous", "anything")] == [
        "green",
        "green",
        "red",
        "red",
        "yellow",
        "yellow",
    ]
    assert failed([OUTCOME]) == 2
