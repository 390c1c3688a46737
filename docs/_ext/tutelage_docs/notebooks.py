"""Notebooks written from scripts: chosen examples, and the lessons of the course with and without their solutions.

    make notebooks

A script is cut at lines that begin with ``# %%``: ``# %% [markdown]`` begins text in comments, ``# %% [solution]`` code
that the exercises leave out, and ``# %%`` any other code. The docstring at the head is the first text. What the code
prints and draws is stored in the notebook, and what a lesson costs in ``docs/results/speed/course.json``.
"""

import ast
import base64
import io
import json
import multiprocessing
import os
import re
import sys
import tempfile
import time
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tutelage.files import write_atomically

ROOT = Path(__file__).parents[3]
REPOSITORY = ""
"""Address of the public repository, "https://github.com/OWNER/NAME"; with it notebooks begin with "Open in Colab"."""

EXAMPLES = (
    "first_hour",
    "compare_two_networks",
    "prune_a_network",
    "identify_a_black_box",
    "own_activation",
    "lazy_or_rich",
    "order_parameters",
    "max_margin",
)
"""Examples that have a notebook: those one changes and runs again, and that write no file."""

COURSE = ROOT / "docs" / "course"
COSTS = ROOT / "docs" / "results" / "speed" / "course.json"
TO_DO = "# Your code here."


@dataclass(frozen=True)
class Cell:
    """A cell of a notebook: text or code, whether it is a solution, and what it printed and drew (PNG)."""

    kind: str
    source: str
    solution: bool = False
    printed: str = ""
    pictures: tuple[bytes, ...] = ()


def cells(script: str) -> list[Cell]:
    """The cells of a script, without outputs."""
    tree = ast.parse(script)
    head = ast.get_docstring(tree) or ""
    lines = script.splitlines()
    rest = "\n".join(lines[tree.body[0].end_lineno :] if head else lines)
    out = [Cell("markdown", _markdown(head))] if head else []
    parts = re.split(r"^# %%(.*)$", rest, flags=re.MULTILINE)
    for mark, body in zip(["", *parts[1::2]], parts[::2], strict=True):
        if not body.strip():
            continue
        if "[markdown]" in mark:
            out.append(Cell("markdown", re.sub(r"^# ?", "", body.strip(), flags=re.MULTILINE)))
        else:
            out.append(Cell("code", body.strip("\n"), "[solution]" in mark))
    return out


def _markdown(docstring: str) -> str:
    """The title of a docstring, underlined with equals signs, as Markdown; double backticks become single ones."""
    return re.sub(r"^(.+)\n=+$", r"# \1", docstring, count=1, flags=re.MULTILINE).replace("``", "`")


def executed(given: list[Cell]) -> list[Cell]:
    """The same cells with what their code prints and draws; run one after another in an empty folder."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    names: dict[str, Any] = {"__name__": "__main__"}
    out, before = [], Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for cell in given:
                if cell.kind == "code":
                    printed = io.StringIO()
                    with redirect_stdout(printed):
                        exec(compile(cell.source, "notebook", "exec"), names)
                    cell = replace(cell, printed=printed.getvalue(), pictures=tuple(map(_png, plt.get_fignums())))
                    plt.close("all")
                out.append(cell)
        finally:
            os.chdir(before)
    return out


def _png(number: int) -> bytes:
    from matplotlib import pyplot as plt

    file = io.BytesIO()
    plt.figure(number).savefig(file, format="png", dpi=80, metadata={"Software": None})
    return file.getvalue()


def as_exercises(given: list[Cell]) -> list[Cell]:
    """The cells with every solution replaced by an empty place for it."""
    return [replace(c, source=TO_DO, printed="", pictures=()) if c.solution else c for c in given]


def notebook(given: list[Cell], path: Path, repository: str = REPOSITORY) -> bytes:
    """The cells as a notebook (nbformat 4.5) that will be stored at this path."""
    if repository:
        place = f"{repository.removeprefix('https://github.com/')}/blob/main/{path.relative_to(ROOT).as_posix()}"
        colab = f"[Open in Colab](https://colab.research.google.com/github/{place})"
        given = [Cell("markdown", f"{colab}, and run `%pip install git+{repository}` there first."), *given]
    runs = [cell.kind == "code" and cell.source != TO_DO for cell in given]
    counts = [sum(runs[: n + 1]) if run else None for n, run in enumerate(runs)]
    content = {
        "cells": [_cell(cell, number, counts[number]) for number, cell in enumerate(given)],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode()


def _cell(cell: Cell, number: int, count: int | None) -> dict[str, Any]:
    about = {"cell_type": cell.kind, "id": f"cell-{number}", "metadata": {}}
    source = cell.source.splitlines(keepends=True)
    if cell.kind == "markdown":
        return about | {"source": source}
    outputs: list[dict[str, Any]] = []
    if cell.printed:
        outputs.append({"name": "stdout", "output_type": "stream", "text": cell.printed.splitlines(keepends=True)})
    for picture in cell.pictures:
        data = {"image/png": base64.b64encode(picture).decode(), "text/plain": ["<Figure>"]}
        outputs.append({"data": data, "metadata": {}, "output_type": "display_data"})
    return about | {"execution_count": count, "outputs": outputs, "source": source}


def targets() -> dict[Path, tuple[Path, ...]]:
    """Scripts, each with the notebooks written from it: one per example, exercises and solutions per lesson."""
    folder = ROOT / "examples"
    found = {folder / f"{name}.py": (folder / "notebooks" / f"{name}.ipynb",) for name in EXAMPLES}
    for script in sorted(COURSE.glob("lesson_*.py")):
        found[script] = tuple(COURSE / kind / f"{script.stem}.ipynb" for kind in ("exercises", "solutions"))
    return found


def expected(script: Path) -> dict[Path, list[Cell]]:
    """The notebooks of a script with their cells, without outputs."""
    given = cells(script.read_text())
    return {path: as_exercises(given) if path.parent.name == "exercises" else given for path in targets()[script]}


def write(script: Path, code: str | None) -> None:
    """Execute a script cell by cell and write its notebooks, and what a lesson costs with the code of this commit."""
    start = time.perf_counter()
    done = executed(cells(script.read_text()))
    seconds = time.perf_counter() - start
    for path in targets()[script]:
        path.parent.mkdir(exist_ok=True)
        write_atomically(path, notebook(as_exercises(done) if path.parent.name == "exercises" else done, path))
    if script.parent == COURSE:
        _write_cost(script.stem, seconds, code)


def _write_cost(name: str, seconds: float, code: str | None) -> None:
    """Store the time of a lesson from a fresh start, compilation included, and the peak memory of its process."""
    import resource

    from tutelage.machine import machine

    stored = json.loads(COSTS.read_text()) if COSTS.exists() else {"lessons": {}}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # KiB on Linux
    lessons = stored["lessons"] | {name: {"seconds": round(seconds, 1), "peak_mib": round(peak / 1024)}}
    provenance = {"commit": code, "cores": os.cpu_count(), **machine()}
    text = json.dumps({"provenance": provenance, "lessons": dict(sorted(lessons.items()))}, indent=1)
    write_atomically(COSTS, text + "\n")


def main(names: list[str]) -> None:
    """Write the notebooks of the scripts with these names, or of all."""
    from tutelage.studies.reproduce import commit

    code = commit()  # before the files that are written change the tree
    for script in [script for script in targets() if not names or script.stem in names]:
        # A process per script: what one sets (a style, a registered activation) must not be seen by the next.
        process = multiprocessing.get_context("spawn").Process(target=write, args=(script, code))
        process.start()
        process.join()
        print(f"{script.relative_to(ROOT)}: {'written' if process.exitcode == 0 else 'failed'}", flush=True)
        if process.exitcode:
            sys.exit(process.exitcode)


if __name__ == "__main__":
    main(sys.argv[1:])
