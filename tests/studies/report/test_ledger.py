"""The ledger is written from claims files alone, and the stored one is what the command writes."""

import json
import re
import shutil
from pathlib import Path

import pytest

from tutelage import TutelageError
from tutelage.studies.report import write_ledger

ROOT = Path(__file__).parents[3]


def claim(**changes):
    return {
        "study": "l-shape", "paper": "tian2020", "figure": "5", "scale": "quick", "claim": "a sentence",
        "setting": "p = 1",
        "statistic": "s", "expected": "> 0", "measured": 0.5, "stderr": None, "n": 8, "verdict": "holds",
    } | changes  # fmt: skip


def test_every_claim_of_every_study_is_listed(tmp_path):
    for name, verdict in (("one", "holds"), ("deeper/two", "fails")):
        (tmp_path / name).mkdir(parents=True)
        claims = [
            claim(study=name, verdict=verdict),
            claim(study=name, setting="p = 2", verdict="undecided", measured=None),
        ]
        (tmp_path / name / "claims.json").write_text(json.dumps(claims))
    text = write_ledger(tmp_path).read_text()
    assert "| [one](one/) | Tian 2020, Fig. 5 | quick | 1 | 0 | 0 | 1 | 0 | 0 | 0 | 0 | - |" in text
    assert "| [deeper/two](deeper/two/) | Tian 2020, Fig. 5 | quick | 0 | 0 | 1 | 1 | 0 | 0 | 0 | 0 | - |" in text
    assert "| p = 1 | > 0 | 0.5 | - | 8 | fails |  |" in text
    assert "| p = 2 | > 0 | - | - | 8 | undecided |  |" in text
    assert text.count("**a sentence**") == 2


def test_checks_saturated_and_vacuous_verdicts_are_counted_apart(tmp_path):
    about = {"reason": "a round number", "method": "Student", "interval": [0.25, 1.0]}
    claims = [claim(verdict=verdict, **about) for verdict in ("holds", "saturated", "vacuous")]
    claims += [claim(claim="exact", verdict=verdict, method="check") for verdict in ("passes", "does not pass")]
    (tmp_path / "claims.json").write_text(json.dumps(claims))
    text = write_ledger(tmp_path).read_text()
    assert "| quick | 1 | 0 | 1 | 0 | 1 | 1 | 0 | 0 | 1 of 2 |" in text
    assert "| p = 1 | > 0 | 0.5 | 0.25 to 1 | 8 | vacuous | Student |" in text
    assert "**Check: exact**" in text
    assert "Threshold: a round number." in text


def test_misses_are_counted_by_whose_statement_they_are_about_and_by_reason(tmp_path):
    about = {"verdict": "fails", "place": "Thm 2", "standing": "paper"}
    claims = [claim(why="refuted", **about), claim(why="premise not met", **about)]
    claims += [claim(standing="own", verdict="fails", why="not found", claim="ours"), claim(standing="own")]
    (tmp_path / "claims.json").write_text(json.dumps(claims))
    text = write_ledger(tmp_path).read_text()
    rows = {line.split(" |")[0]: line.split(" | ")[1:6] for line in text.splitlines() if line.startswith("| a ")}
    assert rows["| a sentence of the paper"] == ["0", "0", "1", "1", "0"]
    assert rows["| a statement of our own"] == ["1", "0", "0", "0", "1"]
    assert "| quick | 1 | 1 | 2 |" in text
    assert "| 8 | fails: premise not met |" in text
    assert "A sentence of the paper, Thm 2." in text


def test_a_universal_claim_shows_one_quantity(tmp_path):
    """How many are exceptions, the exact limit of their share and the worst value, and no interval of a mean."""
    about = {"exceptions": 2, "n": 1443, "measured": 0.0, "interval": [0.0, 0.00436], "verdict": "fails"}
    (tmp_path / "claims.json").write_text(json.dumps([claim(**about)]))
    row = "| > 0 | 2 of 1,443 are exceptions, the worst has 0 | at most 0.44 % are | 1443 | fails | exact |"
    assert row in write_ledger(tmp_path).read_text()


def test_the_reason_that_is_known_stands_with_the_study(tmp_path):
    folder = tmp_path / "results" / "quick" / "l-shape"
    folder.mkdir(parents=True)
    (folder / "claims.json").write_text(json.dumps([claim()]))
    (tmp_path / "explained.yaml").write_text("l-shape: >-\n  Too few <b> units.\n")
    text = write_ledger(tmp_path / "results").read_text()
    assert "Why some claims do not hold: Too few &lt;b> units." in text


def test_close_verdicts_are_marked_and_counted(tmp_path):
    """With 8 members Student's t has to exceed 2.36 for 95 %, 3.50 for 99 % and 5.41 for 99.9 %."""
    about = {"method": "Student", "measured": 1.0, "interval": [0.1, 1.9]}
    claims = [claim(setting=f"t = {t}", stderr=1 / t, **about) for t in (2.5, 3.4, 3.6, 5.3, 5.5)]
    claims.append(claim(setting="never", verdict="undecided", stderr=1.0, **about))
    (tmp_path / "claims.json").write_text(json.dumps(claims))
    text = write_ledger(tmp_path).read_text()
    assert re.findall(r"\| (t = [\d.]+|never) \|.*\| (\w+ \(close\)) \|", text) == [
        ("t = 2.5", "holds (close)"), ("t = 3.4", "holds (close)"),
    ]  # fmt: skip
    assert "| quick | 5 | 0 | 0 | 1 | 0 | 0 | 0 | 2 | - |" in text
    assert "Of 5 claims that hold or fail" in text
    assert "2 with 99 % and 4 with 99.9 % instead of 95 % would be undecided" in text


def test_nothing_stored_is_refused(tmp_path):
    with pytest.raises(TutelageError, match="holds no stored study"):
        write_ledger(tmp_path)


def test_words_of_claims_are_text_and_no_html(tmp_path):
    words = "<script>alert(1)</script> &lt; <!-- a | b\n# c"
    (tmp_path / "claims.json").write_text(json.dumps([claim(study=words, claim=words, setting=words)]))
    text = write_ledger(tmp_path).read_text()
    assert not re.search(r"<[A-Za-z/!]", text)
    assert text.count("&lt;script>alert(1)&lt;/script> &amp;lt; &lt;!-- a &#124; b\\n# c") == 3


@pytest.mark.parametrize("content", ["{", "[{}]", "3", "[]", "[" * 100_000, "\udcff", '[{"study": "a"}]'])
def test_a_damaged_file_is_refused_by_name(tmp_path, content):
    (tmp_path / "claims.json").write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(TutelageError, match=r"claims\.json is damaged"):
        write_ledger(tmp_path)


@pytest.mark.skipif(not (ROOT / "docs" / "results").is_dir(), reason="the packed sources hold no results")
def test_the_stored_ledger_is_what_the_command_writes(tmp_path):
    """docs/results/ledger.md was not edited by hand and is up to date, with the explanations beside the folder."""
    shutil.copy(ROOT / "docs" / "explained.yaml", tmp_path)
    tmp_path = tmp_path / "results"
    for path in (ROOT / "docs" / "results").rglob("claims.json"):
        copy = tmp_path / path.relative_to(ROOT / "docs" / "results")
        copy.parent.mkdir(parents=True)
        copy.write_text(path.read_text())
    assert write_ledger(tmp_path).read_text() == (ROOT / "docs" / "results" / "ledger.md").read_text()


def test_a_study_on_other_images_than_the_papers_says_so(tmp_path):
    (tmp_path / "one").mkdir()
    claims = [claim(figure="6.2, ImageNet(100)", setting="distilled, digits(20)"), claim(setting="exits(3)")]
    (tmp_path / "one" / "claims.json").write_text(json.dumps(claims))
    assert "Fig. 6.2, ImageNet(100), here on digits | quick" in write_ledger(tmp_path).read_text()
