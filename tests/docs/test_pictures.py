"""Pictures of the site: thumbnails, strips of verdicts, maps of subjects, and what is folded away."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sphinx", reason="the documentation needs the extra 'docs'")

from docutils import nodes
from docutils.utils import new_document
from PIL import Image, ImageDraw
from tutelage_docs import fold, maps, strip, thumbs
from tutelage_docs.stored import StoredStudy, gallery_studies

from tutelage.studies import STUDIES

DOCS = Path(__file__).parents[2] / "docs"
SUBJECTS = sorted(path.stem for path in (DOCS / "subjects").glob("*.md") if path.stem != "index")


def drawn(*rects, size=(1000, 500)):
    picture = Image.new("RGB", size, "white")
    for rect, colour in rects:
        ImageDraw.Draw(picture).rectangle(rect, outline="black", fill=colour)
    return picture


def test_panels_are_found_in_reading_order_and_titles_are_none():
    picture = drawn(((400, 5, 600, 20), "black"), ((50, 60, 450, 450), None), ((550, 60, 950, 450), None))
    ink = np.asarray(picture).min(axis=2) < 250
    assert thumbs.panels(ink) == [(50, 60, 451, 451), (550, 60, 951, 451)]


def test_an_empty_picture_is_one_panel():
    assert thumbs.panels(np.zeros((50, 80), bool)) == [(0, 0, 80, 50)]


def test_the_thumbnail_is_the_panel_with_the_most_colour():
    small = thumbs.thumbnail(drawn(((50, 60, 450, 450), None), ((550, 60, 950, 450), "#0072b2"))).convert("RGB")
    assert small.size[0] <= 2 * thumbs.SIZE[0]
    assert np.asarray(small)[small.size[1] // 2, small.size[0] // 2].tolist() == [0, 114, 178]


def test_a_strip_is_that_of_the_report_or_a_sentence():
    claim = {"claim": "it", "setting": "", "verdict": "fails", "why": "not found", "expected": "< 1", "measured": 2.0}
    assert '<i class="v-missed"' in strip.strip(StoredStudy("paper", DOCS, [claim], {}))
    assert "no stored results" in strip.strip(None)


def test_every_study_stands_once_in_the_maps_and_every_subject_page_has_one():
    rows = [row for group in maps.read(DOCS).values() for row in group]
    names = [name for row in rows for name in row["studies"]]
    assert sorted(names) == sorted(STUDIES)
    without = [name for name in SUBJECTS if "```{map}" not in (DOCS / "subjects" / f"{name}.md").read_text()]
    assert without == ["certificates"]  # it is about all subjects


def test_a_map_links_statements_to_studies():
    studies = {study.name: study for study in gallery_studies(DOCS)}
    text = maps.picture([{"says": "a & b", "source": "somewhere", "studies": ["l-shape"]}], studies)
    assert "a &amp; b" in text
    assert "../gallery/l-shape.html" in text
    assert "thumbs/l-shape.png" in text


def test_what_follows_a_fold_in_its_section_is_between_its_tags():
    document = new_document("page")
    section = nodes.section()
    section += [nodes.title("", "T"), fold.fold_start(summary="more <of> it"), nodes.paragraph("", "inside")]
    document += [section, nodes.paragraph("", "outside")]
    fold.Fold(document).apply()
    texts = [node.astext() for node in section.children]
    assert texts == ["T", '<details class="fold"><summary>more &lt;of&gt; it</summary>', "inside", "</details>"]
    assert document.children[-1].astext() == "outside"
