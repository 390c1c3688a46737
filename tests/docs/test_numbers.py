"""Numbers that the pages quote are those of the stored results."""

import json
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
QUOTED = yaml.safe_load((Path(__file__).parent / "numbers.yaml").read_text())


def stored(study: str, name: str):
    return json.loads((ROOT / "docs/results/paper" / study / name).read_text())


def rounds_to(value: float, printed: str) -> bool:
    """Whether a number, rounded, is what is printed.

    >>> rounds_to(0.50001, "0.50"), rounds_to(-2.9862, "-2.99"), rounds_to(0.52, "0.51")
    (True, True, False)
    """
    exponent = Decimal(printed).as_tuple().exponent
    return abs(value - float(printed)) <= 0.5000001 * 10.0 ** int(exponent)


@pytest.mark.parametrize("quoted", QUOTED, ids=lambda q: f"{Path(q['page']).stem}: {q['text']}")
def test_a_quoted_number_is_the_stored_one(quoted):
    assert quoted["text"] in (ROOT / quoted["page"]).read_text()
    if "seconds" in quoted:
        assert rounds_to(stored(quoted["study"], "provenance.json")["seconds"], quoted["seconds"])
        return
    claims = stored(quoted["study"], "claims.json")
    if "counts" in quoted:
        assert Counter(claim["verdict"] for claim in claims) == quoted["counts"]
        return
    (claim,) = [c for c in claims if c["claim"].startswith(quoted["claim"]) and c["setting"] == str(quoted["setting"])]
    assert rounds_to(quoted.get("times", 1) * claim["measured"], quoted["value"]), claim["measured"]


def test_the_page_of_the_studio_says_how_many_pages_a_server_bears():
    stored = json.loads((ROOT / "docs/results/speed/studio-tabs-cpu.json").read_text())
    page = (ROOT / "docs/studio.md").read_text()
    assert len(stored["many"]) > 3
    assert "dirty" not in stored["provenance"]["commit"]
    for row in stored["many"]:
        assert f"\n| {row['connections']} | {row['median']:.0f} |\n" in page


def test_the_page_of_the_studio_says_the_limit_of_a_server():
    server = pytest.importorskip("tutelage.studio.server", reason="needs the extra 'studio'")
    assert f"takes {server._CONNECTIONS} pages at once" in (ROOT / "docs/studio.md").read_text()


def test_the_page_on_comparing_has_the_times_of_other_tools():
    stored = json.loads((ROOT / "docs/results/speed/peers-cpu.json").read_text())
    page = (ROOT / "docs/compare.md").read_text()
    assert "dirty" not in stored["provenance"]["commit"]
    rows = {(r["part"], r["question"], r["tool"]): r for r in stored["rows"]}
    for (part, _, tool), row in rows.items():
        if part == "train":
            assert f"{row['microseconds']:.2g} µs with" in page
            continue
        seconds = f"{row['seconds']:.{2 if row['seconds'] < 0.1 or row['seconds'] > 1 else 1}g}"
        said = {
            "regions": f"{row.get('regions', 0):,}",
            "match": f"barrier {row.get('barrier', 0):.3g}",
            "prune": f"accuracy {100 * row.get('accuracy', 0):.2f} %",
        }[part]
        found = [line for line in page.splitlines() if f"| {tool}" in line and said in line]
        assert any(_close(line.rsplit("|", 2)[1], seconds) for line in found), (part, tool, seconds)


def _close(cell, seconds):
    return abs(float(cell) - float(seconds)) <= 0.05 * float(seconds)


def test_the_page_on_comparing_has_the_answers_to_public_pairs():
    page, rows = (ROOT / "docs/compare.md").read_text(), []
    for name in ("pairs-cpu", "splitter-cpu"):
        stored = json.loads((ROOT / f"docs/results/speed/{name}.json").read_text())
        rows += stored["results"]
        assert stored["commit"] in page
        assert "dirty" not in stored["commit"]
        for line in stored["table"][2:]:
            assert line.replace("| none | 0 of 0 | 0.0 |", "| none | | |") in page
    counts = Counter(r["judged"] for r in rows)
    assert counts["yes"] + counts["no"] == len(rows), "a wrong answer"
    assert f"{counts['yes']} of {len(rows)} questions are decided, none wrongly" in page


def test_the_page_on_comparing_has_the_answers_to_pairs_with_noise():
    stored = json.loads((ROOT / "docs/results/speed/isomorphic-cpu.json").read_text())
    rows = [r for r in stored["results"] if r["family"] == "isomorphic-acas-rebuilt"]
    counts, walls = Counter(r["verdict"] for r in rows), sorted(r["wall"] for r in rows)
    decided = counts["holds"] + counts["violated"]
    assert all(not r["judged"].startswith("wrong") for r in rows)
    assert "dirty" not in stored["commit"]
    page = (ROOT / "docs/compare.md").read_text()
    said = (
        f"{len(rows)} pairs made by the rule",
        f"{decided} are decided ({counts['holds']} hold, {counts['violated']} are violated)",
    )
    assert all(words in page for words in (*said, f"median of {walls[len(walls) // 2]:.1f} s", stored["commit"]))


def test_the_page_on_comparing_has_what_other_tools_answered():
    stored = json.loads((ROOT / "docs/results/speed/peers-pairs-cpu.json").read_text())
    assert "dirty" not in stored["provenance"]["commit"]
    page = (ROOT / "docs/compare.md").read_text()
    for tool in ("tutelage", "vibecheck", "marabou"):
        rows = [r for r in stored["rows"] if r["tool"] == tool]
        decided = sum(r["verdict"] in ("sat", "unsat") for r in rows)
        wall, cpu = (sum(r[k] for r in rows) for k in ("wall", "cpu"))
        assert f"| {tool} | {decided} of {len(rows)} | {wall:.0f} | {cpu:.0f} |" in page
    each = [
        {r["verdict"] for r in stored["rows"] if r["question"] == q} for q in {r["question"] for r in stored["rows"]}
    ]
    assert not any({"sat", "unsat"} <= verdicts for verdicts in each), "two tools contradict one another"


def test_the_page_on_comparing_has_the_proofs_that_were_checked():
    stored = json.loads((ROOT / "docs/results/speed/proofs-cpu.json").read_text())
    page = (ROOT / "docs/compare.md").read_text()
    assert all(line in page for line in stored["proofs"])
    holds = [r for r in stored["results"] if r["verdict"] == "holds"]
    proved = [r for r in holds if r.get("verified")]
    assert all(len(r["sha256"]) == 64 for r in proved)
    assert all(r.get("verified", True) for r in holds), "a proof that was written is not verified"
    assert all("dirty" not in r["commit"] for r in stored["results"])
    assert f"{len(holds)} held and {len(proved)} of these came with a proof that verifies" in page
