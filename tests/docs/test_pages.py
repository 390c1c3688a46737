"""Pages of the gallery are written from the registry and stored results, whatever verdicts there are."""

import json
from pathlib import Path

import pytest
import yaml

pytest.importorskip("sphinx", reason="the documentation needs the extra 'docs'")

from PIL import Image
from tutelage_docs import api, front, pages, study_page, thumbs, verdicts
from tutelage_docs.stored import gallery_studies, summary

from tutelage.studies import STUDIES

DOCS = Path(__file__).parents[2] / "docs"


def claim(**changes):
    given = {
        "study": "l-shape", "paper": "tian2020", "figure": "5", "scale": "paper", "claim": "|w_*| falls",
        "setting": "p = 1", "statistic": "mean of |w|", "expected": "< 0.5", "measured": 0.25, "stderr": 0.01, "n": 8,
        "verdict": "holds",
    }  # fmt: skip
    return given | changes


@pytest.fixture
def stored(tmp_path):
    """A folder of docs with one study in it; returns a function that writes its claims and reads it as the pages do."""

    def write(*claims, **provenance):
        folder = tmp_path / "results" / "paper" / "l-shape"
        folder.mkdir(parents=True)
        (folder / "claims.json").write_text(json.dumps(claims))
        given = {"version": "1", "written": "2026-01-02T03:04:05", "seconds": 150.0} | provenance
        (folder / "provenance.json").write_text(json.dumps(given))
        Image.new("RGB", (1200, 600), "white").save(folder / "figure.png")
        return {study.name: study for study in gallery_studies(tmp_path)}

    return write


def test_every_study_has_a_page_and_a_card():
    written = pages(DOCS)
    index = written["gallery/index.md"]
    for name in STUDIES:
        assert f"gallery/{name}.md" in written
        assert f"href='{name}.html'" in index
        assert f"\n{name}\n" in index  # in the table of contents


def test_every_command_and_every_public_name_has_its_place():
    import tutelage
    from tutelage.cli.main import COMMANDS

    written = pages(DOCS)
    for name in COMMANDS:
        assert f"## tutelage {name}\n" in written["api/commands.md"]
    assert "Usage: tutelage store check" in written["api/commands.md"]
    packages = [name for name in tutelage.__all__ if f"api/{name}.md" in written]
    assert len(packages) == 18
    for package in packages:
        for name in getattr(getattr(tutelage, package), "__all__", ()):
            assert f":: tutelage.{package}.{name}\n" in written[f"api/{package}.md"]


def test_every_question_names_functions_that_have_an_entry():
    written = pages(DOCS)
    for questions in api.QUESTIONS.values():
        for name in (name for names in questions.values() for name in names):
            assert f"{{py:obj}}`~tutelage.{name}`" in written["api/index.md"]
            package = (
                "functions" if name.startswith("testing.") else name.rpartition(".")[0].split(".")[0] or "tutelage"
            )
            assert f":: tutelage.{name}\n" in written[f"api/{package}.md"]


def test_names_that_no_package_has_are_on_a_page_of_their_own():
    assert {"grid", "query", "results", "run"} <= set(api.only_at_the_top())
    assert ":: tutelage.grid\n" in pages(DOCS)["api/tutelage.md"]


def test_a_page_has_claims_figure_cost_citation_and_source(stored):
    experiments = [{"kind": "students", "device": "NVIDIA H200", "seconds": 1.0}]
    page = study_page.page(stored(claim(), commit="abc1234", experiments=experiments)["l-shape"], "Because of this.")
    assert "Because of this." in page
    assert "All 1 verdicts are as expected" in page
    assert "../results/paper/l-shape/figure.png" in page
    assert r"\|w\_\*\| falls" in page
    assert "| 0.25 |" in page
    assert "in 2 minutes on NVIDIA H200" in page
    assert "@inproceedings{tian2020," in page
    assert "../../src/tutelage/specialisation/studies/l_shape.py" in page
    assert "tutelage reproduce l-shape --scale paper" in page


def test_the_number_of_the_paper_stands_beside_ours(stored):
    page = study_page.page(stored(claim(published="0.31"))["l-shape"])
    assert "| setting | verdict | paper | expected |" in page
    assert "| 0.31 |" in page


def test_verdicts_that_are_not_known_yet_are_shown(stored):
    studies = stored(claim(), claim(setting="p = 2", verdict="saturated"), claim(setting="p = 3", verdict="odd"))
    study = studies["l-shape"]
    page = study_page.page(study)
    assert "verdict-saturated" in page
    assert "verdict-odd" in page
    assert "Of 3 verdicts 1 holds, 1 odd, 1 saturated" in page
    assert front.verdict_class(study) == "open"


def test_a_study_without_results_says_so(stored):
    studies = stored(claim())
    page = study_page.page(studies["success-rate"])
    assert "No stored results" in page
    assert "figure.png" not in page
    assert front.verdict_class(studies["success-rate"]) == "none"


def test_what_does_not_hold_is_listed_with_its_reason(stored):
    studies = stored(claim(), claim(setting="p = 2", verdict="fails", measured=0.75, stderr=None))
    page = verdicts.page([studies["l-shape"], studies["success-rate"]], {"l-shape": "Because of this."})
    assert "Of 2 verdicts in 1 stored runs, 1 holds, 1 fails." in page
    assert "**Why.** Because of this." in page
    assert "| p = 2 |" in page
    assert "| p = 1 |" not in page
    assert "No results are stored of `success-rate`." in page


def test_every_explanation_is_of_a_study_with_something_to_explain():
    reasons = yaml.safe_load((DOCS / "explained.yaml").read_text())
    studies = {study.name: study for study in gallery_studies(DOCS)}
    for name in reasons:
        assert not studies[name].stored or any(results.not_good for results in studies[name].stored), name


def test_every_failing_check_is_explained():
    reasons = yaml.safe_load((DOCS / "explained.yaml").read_text())
    failing = {
        s.name
        for s in gallery_studies(DOCS)
        for results in s.stored
        if set(results.counts) & {"fails", "does not pass"}
    }
    assert failing <= set(reasons)


def test_checks_intervals_and_reasons_are_shown(stored):
    check = claim(verdict="does not pass", stderr=None, n=1, reason="rounding", method="check")
    every = claim(setting="p = 2", interval=[0.2, 0.31], method="Student", reason="rounding")
    study = stored(check, every)["l-shape"]
    page = study_page.page(study)
    assert "| 0.2 to 0.31 |" in page
    assert "Interval: Student." in page
    assert "Threshold: rounding." in page
    assert "verdict-missed" in page
    assert "close" not in page
    assert front.verdict_class(study) == "missed"


def test_red_is_kept_for_a_refuted_sentence_of_the_paper(stored):
    about = {"verdict": "fails", "standing": "paper", "place": "Thm 2"}
    refuted, missed = claim(why="refuted", **about), claim(setting="p = 2", why="premise not met", **about)
    study = stored(refuted, missed)["l-shape"]
    page = study_page.page(study)
    assert "verdict-refuted" in page
    assert "fails: premise not met" in page
    assert "A sentence of the paper, Thm 2." in page
    assert "(1 of these misses refute the paper)" in page
    assert front.verdict_class(study) == "refuted"
    assert "| A sentence of the paper | 1 | 1 | 0 |" in verdicts.page([study], {})


def test_close_verdicts_say_so(stored):
    page = study_page.page(stored(claim(stderr=0.05, measured=0.14, expected="> 0", method="Student"))["l-shape"])
    assert "holds</span> close |" in page
    assert "*close*: an interval of 99 % would contain the threshold" in page


def test_thumbnails_are_small(stored, tmp_path):
    thumbs.write(tmp_path / "thumbs", list(stored(claim()).values()))
    (path,) = (tmp_path / "thumbs").iterdir()
    with Image.open(path) as small:
        assert small.size[0] <= 2 * thumbs.SIZE[0]
        assert small.size[1] <= 2 * thumbs.SIZE[1]


def test_counts_in_words():
    assert summary({"undecided": 2, "holds": 3, "fails": 2}) == "3 hold, 2 fail, 2 undecided"


def test_a_tenth_of_the_images_of_another_set_is_not_called_paper_scale(stored):
    """CIFAR-10 has ten of the hundred classes of the paper's set."""
    written = pages(DOCS)
    assert "## Claims: CIFAR-10, a tenth" in written["gallery/exits-budget.md"]
    assert "## Claims: paper scale" in written["gallery/exits-size-matched.md"]
    assert "## Claims: paper scale" in study_page.page(stored(claim())["l-shape"])
