"""LaTeX for a paper: one figure and one table per study, with nothing in it that LaTeX would misread."""

import json
import re

import pytest
from PIL import Image

from tutelage import TutelageError
from tutelage.studies.report import write_latex
from tutelage.studies.report.latex import tex

CLAIM = {
    "study": "l-shape",
    "paper": "tian2020",
    "figure": "5",
    "scale": "quick",
    "claim": "50 % of units & more_so",
    "setting": "p = 0, 5x",
    "statistic": "share #1 of $units$",
    "expected": "> 0.3",
    "measured": 0.41234,
    "stderr": 0.0123,
    "n": 8,
    "verdict": "holds",
}


@pytest.fixture
def folder(tmp_path):
    study = tmp_path / "quick" / "l-shape"
    study.mkdir(parents=True)
    (study / "claims.json").write_text(
        json.dumps([CLAIM, CLAIM | {"setting": "p = 1", "stderr": None, "measured": None}])
    )
    (study / "provenance.json").write_text(json.dumps({"version": "0", "written": "today", "seconds": 1.0}))
    Image.new("RGB", (2, 2)).save(study / "figure.png")
    (study / "figure.pdf").write_bytes(b"%PDF")
    return tmp_path


def test_figure_and_table_of_a_study(folder):
    text = write_latex(folder).read_text()
    assert r"\includegraphics[width=\linewidth]{quick/l-shape/figure.pdf}" in text
    assert r"\label{fig:l-shape-quick}" in text
    assert r"\cite{tian2020}" in text
    assert r"p = 0, 5x & \ensuremath{>} 0.3 & 0.412 $\pm$ 0.0123 & 8 & holds \\" in text
    assert r"p = 1 & \ensuremath{>} 0.3 & - & 8 & holds \\" in text
    assert r"50 \% of units \& more\_so (share \#1 of \$units\$)" in text


def test_environments_and_braces_are_closed(folder):
    text = re.sub(r"^%.*$", "", write_latex(folder).read_text(), flags=re.M)
    assert re.findall(r"\\begin\{(\w+)\}", text) == ["figure", "table", "tabular"]
    assert sorted(re.findall(r"\\end\{(\w+)\}", text)) == ["figure", "table", "tabular"]
    bare = re.sub(r"\\[{}\\]", "", text)
    assert bare.count("{") == bare.count("}")


def test_special_characters_are_written_out():
    assert tex(r"a\b{c}~^|") == r"a\textbackslash{}b\{c\}\textasciitilde{}\textasciicircum{}\textbar{}"


def test_a_study_without_its_figure_is_one_sentence(folder):
    (folder / "quick" / "l-shape" / "figure.pdf").unlink()
    with pytest.raises(TutelageError, match=r"lacks figure.pdf: reproduce it again"):
        write_latex(folder)
