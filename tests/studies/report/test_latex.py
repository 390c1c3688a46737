"""LaTeX for a paper: one figure and one table per study, with nothing in it that LaTeX would misread."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from PIL import Image

from tutelage import TutelageError
from tutelage.studies.report import write_latex
from tutelage.studies.report.latex import tex

ROOT = Path(__file__).parents[3]

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
    "interval": [0.3832, 0.4414],
    "n": 8,
    "verdict": "holds",
}


@pytest.fixture
def folder(tmp_path):
    study = tmp_path / "quick" / "l-shape"
    study.mkdir(parents=True)
    (study / "claims.json").write_text(
        json.dumps([CLAIM, CLAIM | {"setting": "p = 1", "stderr": None, "measured": None, "interval": None}])
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
    assert r"p = 0, 5x & \ensuremath{>} 0.3 & 0.412 & 0.383 to 0.441 & 8 & holds \\" in text
    assert r"p = 1 & \ensuremath{>} 0.3 & - & - & 8 & holds \\" in text
    assert r"50 \% of units \& more\_so (share \#1 of \$units\$)" in text


def test_environments_and_braces_are_closed(folder):
    text = re.sub(r"^%.*$", "", write_latex(folder).read_text(), flags=re.M)
    assert re.findall(r"\\begin\{(\w+)\}", text) == ["figure", "table", "tabular"]
    assert sorted(re.findall(r"\\end\{(\w+)\}", text)) == ["figure", "table", "tabular"]
    bare = re.sub(r"\\[{}\\]", "", text)
    assert bare.count("{") == bare.count("}")


def test_a_universal_statement_has_the_limit_of_its_exceptions_instead_of_an_interval(folder):
    path = folder / "quick" / "l-shape" / "claims.json"
    every = {"measured": 0.2, "stderr": None, "n": 59, "exceptions": 1, "interval": [0.0, 0.0779], "verdict": "fails"}
    path.write_text(json.dumps([CLAIM | every]))
    text = write_latex(folder).read_text()
    assert r"p = 0, 5x & \ensuremath{>} 0.3 & 0.2 & $\le$ 0.0779 & 59 & fails \\" in text
    assert r"{1 of 59 is an exception, the worst has 0.2; at most 7.8 \% are} \\" in text


def rows(text):
    """The rows of all tabular environments, as lists of cells; a cell that goes across counts as its columns."""
    out = []
    for columns, body in re.findall(r"\\begin\{tabular\}\{(\w+)\}(.*?)\\end\{tabular\}", text, re.S):
        body = re.sub(r"\\(toprule|midrule|bottomrule)", "", body)
        for row in filter(str.strip, re.split(r"(?<!\\)\\\\\n", body)):
            cells = re.split(r"(?<!\\)&", row)
            across = re.match(r"\s*\\multicolumn\{(\d)\}", row)
            out.append((int(across[1]) if across else len(cells), len(columns)))
    return out


def stored(tmp_path):
    """All stored studies, as `reproduce` would have left them."""
    out = tmp_path / "all"
    for claims in sorted((ROOT / "docs" / "results").glob("*/*/claims.json")):
        folder = out / claims.parent.relative_to(ROOT / "docs" / "results")
        folder.mkdir(parents=True)
        for name in ("claims.json", "provenance.json", "figure.png"):
            (folder / name).write_bytes((claims.parent / name).read_bytes())
        with Image.open(folder / "figure.png") as image:
            image.convert("RGB").resize((40, 30)).save(folder / "figure.pdf")
    return out


def test_tables_of_all_stored_studies_have_cells_for_all_columns_and_letters_that_latex_has(tmp_path):
    text = write_latex(stored(tmp_path)).read_text()
    assert len(rows(text)) > 1000
    assert all(cells == columns for cells, columns in rows(text))
    assert text.isascii()


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="LaTeX is not installed")
def test_latex_compiles_the_tables_of_all_stored_studies(tmp_path):
    out = stored(tmp_path)
    write_latex(out)
    head = r"\documentclass{article}\usepackage{booktabs,graphicx}\begin{document}"
    # LaTeX keeps a few figures and tables waiting for a page; with more it gives up, so each has a page of its own.
    body = (out / "report.tex").read_text().replace(r"\end{table}", "\\end{table}\n\\clearpage")
    (out / "paper.tex").write_text(f"{head}\n{body}\n\\end{{document}}\n")
    words = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(words, cwd=out, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, done.stdout[-2000:]


def test_special_characters_are_written_out():
    assert tex(r"a\b{c}~^|") == r"a\textbackslash{}b\{c\}\textasciitilde{}\textasciicircum{}\textbar{}"


def test_a_study_without_its_figure_is_one_sentence(folder):
    (folder / "quick" / "l-shape" / "figure.pdf").unlink()
    with pytest.raises(TutelageError, match=r"lacks figure.pdf: reproduce it again"):
        write_latex(folder)
