"""`tutelage store` and `tutelage query` as a user meets them, with their exit codes."""

import csv
import io
import json
import os
import re
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer

from tutelage.cli import main, store
from tutelage.lab import Store, TeacherStudent, execute
from tutelage.lab.query import query


@dataclass
class Done:
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def tutelage(capsys, monkeypatch):
    """Run a command as `main` does, in this process."""
    app = typer.Typer(pretty_exceptions_enable=False)
    app.add_typer(store.app)
    app.command()(store.query)
    monkeypatch.setattr(sys.modules["tutelage.cli.main"], "app", app)

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["tutelage", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capsys.readouterr()
        return Done(end.value.code or 0, out, err)

    return run


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    values = {
        "teacher": {"kind": "levels", "inputs": 6, "hidden": 3, "outputs": 2, "polarity": 0.5},
        "student": {"kind": "small-normal", "width_factor": 2, "scale": 0.1},
        "inputs": {"kind": "gaussian", "train": 40, "evaluate": 30},
        "training": {"steps": 10},
    }
    root = tmp_path_factory.mktemp("results")
    return root, [
        result.experiment.hash for result in execute([TeacherStudent(**values, seeds=[s]) for s in (0, 1)], Store(root))
    ]


@pytest.fixture
def results(original, tmp_path):
    root, names = original
    shutil.copytree(root, tmp_path / "results")
    return tmp_path / "results", names


def test_list(tutelage, results, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    root, names = results
    rows = json.loads(tutelage("store", "list", "--results", root, "--json").stdout)
    assert {row["experiment"] for row in rows} == set(names)
    (root / names[0] / "unit.parquet").unlink()
    shown = tutelage("store", "list", "--results", root)
    assert shown.returncode == 0
    assert names[1] in shown.stdout
    assert "whole" in shown.stdout
    assert "unit.parquet cannot be read" in shown.stdout


def test_check_ends_with_1_for_damage_and_names_it(tutelage, results):
    root, names = results
    good = tutelage("store", "check", "--results", root)
    assert (good.returncode, good.stdout) == (0, "2 experiments, 0 damaged, 0 left over\n")
    os.truncate(root / names[0] / "unit.parquet", 10)
    (root / ".0123456789abcdef.00000000.part").mkdir()
    bad = tutelage("store", "check", "--results", root)
    assert bad.returncode == 1
    assert f"damaged: {names[0]}/unit.parquet does not match its checksum" in bad.stdout
    assert "left over: " in bad.stdout
    told = tutelage("store", "check", "--results", root, "--json")
    assert told.returncode == 1
    assert json.loads(told.stdout)["damaged"][0]["file"] == "unit.parquet"
    assert tutelage("store", "check", names[1], "--results", root).returncode == 0


def test_gc_says_what_it_would_do_and_does_it(tutelage, results):
    root, names = results
    part = root / ".0123456789abcdef.00000000.part"
    part.mkdir()
    os.utime(part, (time.time() - 1e6,) * 2)
    (root / names[0] / "manifest.json").unlink()
    assert f"would remove {part}" in tutelage("store", "gc", "--dry-run", "--results", root).stdout
    assert part.is_dir()
    assert tutelage("store", "gc", "--results", root).stdout.startswith(f"removed {part}")
    assert (root / names[0]).is_dir()
    told = json.loads(tutelage("store", "gc", "--damaged", "--results", root, "--json").stdout)
    assert [entry["path"] for entry in told["what"]] == [str(root / names[0])]
    assert tutelage("store", "gc", "--damaged", "--older", "0", "--results", root).stdout == "nothing to remove\n"
    tutelage("store", "gc", names[1], "--results", root)
    assert not (root / names[1]).exists()


def test_results_travel(tutelage, results, tmp_path):
    root, names = results
    file = tmp_path / "experiments.tar"
    sent = json.loads(tutelage("store", "export", file, names[0], "--results", root, "--json").stdout)
    assert sent == {"file": str(file), "experiments": [names[0]]}
    assert f"2 experiments written: {file}" in tutelage("store", "export", file, "--results", root).stdout
    there = tmp_path / "there"
    assert "2 experiments imported, 0 stored before" in tutelage("store", "import", file, "--results", there).stdout
    assert json.loads(tutelage("store", "import", file, "--results", there, "--json").stdout)["known"] == sorted(names)


def test_query_answers_as_a_table_as_json_and_as_csv(tutelage, results):
    root, _ = results
    sql = "SELECT polarity, width_factor, avg(recovered) AS share, sum(seed) AS seeds FROM units GROUP BY ALL"
    (row,) = json.loads(tutelage("query", sql, "--results", root, "--json").stdout)
    assert (row["polarity"], row["width_factor"], row["seeds"]) == (0.5, 2.0, 12)
    (line,) = csv.DictReader(io.StringIO(tutelage("query", sql, "--results", root, "--csv").stdout))
    assert float(line["polarity"]) == 0.5
    assert "share" in tutelage("query", sql, "--results", root).stdout
    lists = tutelage(
        "query", "SELECT seeds, 'nan'::DOUBLE AS x, DATE '2020-01-01' AS d FROM experiments", "--results", root, "--csv"
    )
    assert "[0]" in lists.stdout
    odd = tutelage(
        "query",
        "SELECT 'nan'::DOUBLE AS x, DATE '2020-01-01' AS d, 1.5::DECIMAL(4, 1) AS e",
        "--results",
        root,
        "--json",
    )
    assert json.loads(odd.stdout) == [{"x": None, "d": "2020-01-01", "e": 1.5}]
    long = tutelage("query", "SELECT unnest(range(1000)) AS i", "--results", root)
    assert "the first 200 of 1000 rows" in long.stdout


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["store", "list", "--results", "nowhere"], "cannot be read"),
        (["store", "check", "0123", "--results", "{root}"], "there is no experiment '0123'"),
        (["store", "gc", "0123", "--results", "{root}"], "there is no experiment '0123'"),
        (["store", "export", "nowhere/x.tar", "--results", "{root}"], "cannot be written"),
        (["store", "import", "nothing.tar", "--results", "{root}"], "nothing.tar cannot be imported"),
        (["query", "SELECT x FROM experiments", "--results", "{root}"], 'Referenced column "x" not found'),
        (["query", "DROP VIEW experiments", "--results", "{root}"], "a query must be one SELECT"),
        (["query", "SELECT 1", "--json", "--csv", "--results", "{root}"], "exclude each other: give one of them"),
    ],
)
def test_bad_words_are_one_sentence_and_exit_code_2(tutelage, results, words, sentence):
    done = tutelage(*(word.format(root=results[0]) for word in words))
    assert done.returncode == 2
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1


def printed_queries() -> list[str]:
    """SELECTs in the docs, the examples and the help of `tutelage query`."""
    root = Path(__file__).parents[2]
    pages = [root / "README.md", *(root / "docs").glob("*.md"), *(root / "examples").glob("*.sh")]
    texts = [page.read_text() for page in pages] + [store.query.__doc__]
    return sorted(
        {found.strip() for text in texts for found in re.findall(r'SELECT [^"`\n]*', text) if "FROM" in found}
    )


@pytest.mark.parametrize("sql", printed_queries())
def test_printed_queries_are_answered(results, sql):
    root, _ = results
    assert query(root, sql).num_columns > 0


def test_a_narrow_terminal_shows_whole_words(tutelage, results, monkeypatch):
    root, names = results
    monkeypatch.setenv("COLUMNS", "80")
    shown = tutelage("store", "list", "--results", root).stdout
    assert all(name in shown for name in names)
    assert max(map(len, shown.splitlines())) <= 80
    assert "--json prints all" in shown
    wide = tutelage("query", "SELECT * FROM experiments", "--results", root).stdout
    assert "row 0" in wide
    assert re.search(r"^  experiment +[0-9a-f]{16}$", wide, re.M)
    narrow = tutelage("query", "SELECT experiment, seed FROM members", "--results", root).stdout
    assert "row 0" not in narrow
    monkeypatch.setenv("COLUMNS", "200")
    assert "--json prints all" not in tutelage("store", "list", "--results", root).stdout
