"""Stored verdicts belong to the claims that the studies have now."""

import json
from pathlib import Path

import pytest

from tutelage.studies import STUDIES
from tutelage.studies.claims import MISSED, STANDINGS, WHYS

RESULTS = Path(__file__).parents[2] / "docs" / "results"
OLDER: set[str] = set()
"""Studies whose claims were reworded after the stored run, and which take long to run again, or need a GPU."""
FIELDS = ("statistic", "expected", "reason", "published", "standing", "place")


@pytest.mark.skipif(not RESULTS.is_dir(), reason="the packed sources hold no results")
def test_stored_claims_are_those_of_the_studies_but_for_a_list():
    stored = {f"{path.parent.parent.name}/{path.parent.name}": path for path in RESULTS.glob("*/*/claims.json")}
    assert {name for name, path in stored.items() if not _same(json.loads(path.read_text()))} == OLDER


def _same(verdicts) -> bool:
    """Whether the sentences are those of the study, in any order, each with the same words and the same bound."""
    claims = STUDIES[verdicts[0]["study"]].plan(verdicts[0]["scale"]).claims
    now = {claim.sentence: tuple(getattr(claim, name) for name in FIELDS) for claim in claims}
    then = {verdict["claim"]: tuple(verdict.get(name) for name in FIELDS) for verdict in verdicts}
    return now == then


@pytest.mark.skipif(not RESULTS.is_dir(), reason="the packed sources hold no results")
def test_every_stored_verdict_says_whose_statement_it_is_about_and_every_miss_why():
    for path in RESULTS.glob("*/*/claims.json"):
        for verdict in json.loads(path.read_text()):
            assert verdict["standing"] in STANDINGS, path
            assert (verdict["standing"] == "paper") == bool(verdict["place"]), path
            assert (verdict["why"] in WHYS) == (verdict["verdict"] in MISSED), path
