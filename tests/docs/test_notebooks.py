"""Notebooks: each is what its script says, with and without solutions, and the code of the lessons runs."""

import json
from pathlib import Path

import pytest

pytest.importorskip("sphinx", reason="the documentation needs the extra 'docs'")

from tutelage_docs import notebooks
from tutelage_docs.notebooks import Cell

SCRIPTS = notebooks.targets()
MOST_BYTES = 3_000_000
"""Of all stored notebooks."""


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_stored_notebooks_have_the_code_and_text_of_their_script(script):
    for path, wanted in notebooks.expected(script).items():
        stored = json.loads(path.read_text())
        assert [(c["cell_type"], "".join(c["source"])) for c in stored["cells"]] == [(c.kind, c.source) for c in wanted]
        assert (stored["nbformat"], stored["nbformat_minor"]) == (4, 5)


def test_there_is_no_notebook_without_a_script():
    wanted = {path for paths in SCRIPTS.values() for path in paths}
    folders = {path.parent for path in wanted}
    assert {path for folder in folders for path in folder.glob("*.ipynb")} == wanted
    assert sum(path.stat().st_size for path in wanted) < MOST_BYTES


@pytest.mark.parametrize("script", [s for s in SCRIPTS if s.parent == notebooks.COURSE], ids=lambda path: path.stem)
def test_a_lesson_runs(script):
    """Examples are run by ``tests/test_examples.py``."""
    done = notebooks.executed(notebooks.cells(script.read_text()))
    exercises = sum(cell.source.count("**Exercise") for cell in done)
    solutions = [cell for cell in done if cell.solution]
    assert len(solutions) == exercises >= 4
    assert all(cell.printed for cell in solutions)
    assert any(cell.pictures for cell in solutions) or script.stem == "lesson_3"


def test_a_script_is_cut_into_cells():
    script = (
        '"""\nTitle\n=====\n\nOf ``this``.\n"""\n\nx = 1\n\n# %% [markdown]\n# Ask *it*.\n\n# %% [solution]\nprint(x)\n'
    )
    given = notebooks.cells(script)
    assert given == [
        Cell("markdown", "# Title\n\nOf `this`."),
        Cell("code", "x = 1"),
        Cell("markdown", "Ask *it*."),
        Cell("code", "print(x)", solution=True),
    ]
    done = notebooks.executed(given)
    assert [cell.printed for cell in done] == ["", "", "", "1\n"]
    left = notebooks.as_exercises(done)[-1]
    assert (left.source, left.printed) == (notebooks.TO_DO, "")


def test_what_is_drawn_is_stored_as_a_picture():
    code = Cell("code", "from matplotlib import pyplot as plt\nplt.figure()\nplt.plot([1, 2])")
    [done] = notebooks.executed([code])
    assert done.pictures[0].startswith(b"\x89PNG")
    [cell] = json.loads(notebooks.notebook([done], Path("a.ipynb")))["cells"]
    assert cell["outputs"][0]["output_type"] == "display_data"
    assert cell["execution_count"] == 1


def test_notebooks_open_in_colab_once_there_is_an_address():
    path = notebooks.ROOT / "examples" / "notebooks" / "a.ipynb"
    [first, _] = json.loads(notebooks.notebook([Cell("code", "1")], path, "https://github.com/owner/name"))["cells"]
    assert (
        "https://colab.research.google.com/github/owner/name/blob/main/examples/notebooks/a.ipynb" in first["source"][0]
    )
    assert "pip install git+https://github.com/owner/name" in first["source"][0]


def test_the_course_says_what_its_lessons_cost():
    stored = json.loads(notebooks.COSTS.read_text())["lessons"]
    page = (notebooks.COURSE / "index.md").read_text()
    assert set(stored) == {script.stem for script in notebooks.COURSE.glob("lesson_*.py")}
    for name, cost in stored.items():
        row = next(line for line in page.splitlines() if f"({name}.md)" in line)
        assert row.endswith(f"| {cost['seconds']:.0f} s | {cost['peak_mib']} MiB |")


def test_every_notebook_can_be_downloaded_from_a_page():
    linking = [*notebooks.COURSE.glob("*.md"), notebooks.ROOT / "docs" / "notebooks.md"]
    pages = "\n".join(path.read_text() for path in linking)
    for path in (path for paths in SCRIPTS.values() for path in paths):
        assert f"{path.parent.name}/{path.name})" in pages
