"""The index saves time and is never believed over the folders."""

import logging
import multiprocessing
import os
import shutil
from contextlib import closing

import pytest

from tutelage import TutelageError
from tutelage.lab import Store, TeacherStudent, execute, index
from tutelage.lab.database import module
from tutelage.lab.query import query
from tutelage.lab.store_tools import garbage, list_results, remove

SQL = "SELECT experiment, step, member, unit, fan_out, precision FROM units ORDER BY ALL"


@pytest.fixture(scope="module")
def original(values, tmp_path_factory):
    experiments = [TeacherStudent(**values(seeds=[seed])) for seed in range(3)]
    experiments += [TeacherStudent(**values(precision="float64"))]
    root = tmp_path_factory.mktemp("original")
    execute(experiments, Store(root))
    return root


@pytest.fixture
def results(original, tmp_path):
    shutil.copytree(original, tmp_path / "results")
    return tmp_path / "results"


@pytest.fixture
def read_now(monkeypatch):
    """The manifests and tables that are read from now on."""
    calls = []

    def noted(name):
        function = getattr(index, name)
        monkeypatch.setattr(index, name, lambda *given: calls.append(given[0]) or function(*given))

    for name in ("read", "_parsed", "checksum"):
        noted(name)
    return calls


def seen(root):
    return {row["experiment"]: row["damage"] for row in list_results(root)}


def names(root):
    return sorted(path.name for path in root.glob("[!.]*"))


def flip(file, place=None, bit=0):
    content = bytearray(file.read_bytes())
    content[len(content) // 3 if place is None else place] ^= 1 << bit
    file.write_bytes(content)


def test_results_are_read_once(results, read_now):
    before, listed = query(results, SQL), seen(results)
    assert listed == dict.fromkeys(names(results))
    read_now.clear()
    assert query(results, SQL).equals(before)
    assert seen(results) == listed
    assert read_now == []
    os.remove(results / index.FILE)
    assert query(results, SQL).equals(before)
    assert len(read_now) >= 12  # two manifests' worth and a table of each


def test_a_file_that_was_touched_is_read_again_alone(results, read_now):
    before = query(results, SQL)
    read_now.clear()
    os.utime(results / names(results)[1] / "unit.parquet")
    assert query(results, SQL).equals(before)
    assert len(read_now) == 2  # the manifest, for the checksum, and the table
    os.utime(results / names(results)[2] / "manifest.json")
    assert query(results, SQL).equals(before)
    assert len(read_now) == 5  # the manifest twice, and the table, whose checksum may be another


def test_results_that_come_go_or_change_are_noticed(results, values, tmp_path):
    first, second, third, fourth = names(results)
    query(results, SQL)
    shutil.move(results / first, tmp_path / "aside")
    assert seen(results) == dict.fromkeys([second, third, fourth])
    assert first not in query(results, SQL)["experiment"].to_pylist()
    shutil.move(tmp_path / "aside", results / first)
    execute([TeacherStudent(**values(seeds=[9]))], Store(results))
    assert set(query(results, SQL)["experiment"].to_pylist()) == set(names(results))
    (results / second / "unit.parquet").unlink()
    (results / third / "manifest.json").write_text("{}")
    after = seen(results)
    assert after[first] is None
    assert after[second].startswith("unit.parquet cannot be read")
    assert after[third] == "manifest.json is not readable"
    assert {second, third}.isdisjoint(query(results, SQL)["experiment"].to_pylist())


@pytest.mark.parametrize("asked_before", [False, True])
@pytest.mark.parametrize("large", [False, True])
def test_a_flipped_bit_leaves_the_table_out_with_a_warning(results, caplog, monkeypatch, asked_before, large):
    if large:
        monkeypatch.setattr(index, "SMALL", 10)
    before = query(results, SQL) if asked_before else None
    file = results / names(results)[1] / "unit.parquet"
    flip(file)
    with caplog.at_level(logging.WARNING):
        after = query(results, SQL)
    assert "damaged experiments are left out: 1" in caplog.text
    assert set(after["experiment"].to_pylist()) == set(names(results)) - {file.parent.name}
    flip(file)
    whole = query(results, SQL)
    assert set(whole["experiment"].to_pylist()) == set(names(results))
    assert before is None or whole.equals(before)


def test_large_tables_are_read_in_place_and_answer_alike(results, monkeypatch, read_now):
    before = query(results, SQL)
    os.remove(results / index.FILE)
    monkeypatch.setattr(index, "SMALL", 10)
    assert query(results, SQL).equals(before)
    with closing(index.ResultsIndex(results).connection) as connection:
        held = connection.execute("SELECT DISTINCT large FROM old.held").fetchall()
    assert held == [(True,)]
    read_now.clear()
    assert query(results, SQL).equals(before)
    assert read_now == []  # their SHA-256 is compared once


@pytest.mark.parametrize("harm", ["truncate", "empty", "folder", "link", "other", "text", "log"])
def test_an_index_that_is_none_is_made_anew(results, tmp_path, harm):
    before, file = query(results, SQL), results / index.FILE
    match harm:
        case "truncate":
            os.truncate(file, file.stat().st_size // 2)
        case "empty":
            os.truncate(file, 0)
        case "folder":
            file.unlink()
            file.mkdir()
        case "link":
            shutil.move(file, tmp_path / "outside")
            file.symlink_to(tmp_path / "outside")
            os.truncate(tmp_path / "outside", 5)
        case "other":
            file.unlink()
            with module().connect(str(file)) as connection:
                connection.execute("CREATE TABLE known AS SELECT 1 AS experiment")
        case "text":
            file.write_text("not a database")
        case "log":
            (results / f"{index.FILE}.wal").write_text("not a log")
    assert query(results, SQL).equals(before)
    assert seen(results) == dict.fromkeys(names(results))
    if harm == "link":
        assert (tmp_path / "outside").stat().st_size == 5


def test_flipped_bits_in_the_index_change_no_answer(results):
    before, file = query(results, SQL), results / index.FILE
    whole = file.read_bytes()
    for place in range(1, len(whole), len(whole) // 8):
        flip(file, place, place % 8)
        assert query(results, SQL).equals(before)
        file.write_bytes(whole)


HOSTILE = {
    "view": "CREATE TABLE aside AS FROM held; DROP TABLE held; CREATE VIEW held AS SELECT * FROM aside",
    "macro": "CREATE MACRO sum(x) AS 'hacked'",
    "generated": "ALTER TABLE known RENAME TO aside; CREATE TABLE known ({columns}, "
    "per_member VARCHAR GENERATED ALWAYS AS ('hacked'), files VARCHAR); "
    "INSERT INTO known SELECT * EXCLUDE (per_member) FROM aside",
    "type": "ALTER TABLE held ALTER stamp TYPE VARCHAR",
    "lost": "DELETE FROM names",
    "settings": "ALTER TABLE settings ADD COLUMN more VARCHAR",
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_an_index_with_more_than_its_tables_is_not_used(results, kind, read_now):
    before = query(results, SQL)
    with module().connect(str(results / index.FILE)) as connection:
        described = connection.execute("DESCRIBE known").fetchall()
        columns = ", ".join(f"{name} {type}" for name, type, *_ in described if name not in ("per_member", "files"))
        connection.execute(HOSTILE[kind].format(columns=columns))
    read_now.clear()
    assert query(results, SQL).equals(before)
    assert read_now  # the results, not the index


def test_an_index_that_somebody_writes_is_not_waited_for(results):
    """DuckDB lets one process write a file and no other read it meanwhile."""
    before = query(results, SQL)
    spawn = multiprocessing.get_context("spawn")
    ready, done = spawn.Event(), spawn.Event()
    writer = spawn.Process(target=_hold, args=(str(results / index.FILE), ready, done))
    writer.start()
    try:
        assert ready.wait(60)
        assert query(results, SQL).equals(before)
    finally:
        done.set()
        writer.join()
    assert writer.exitcode == 0


def _hold(file, ready, done):
    with module().connect(file):
        ready.set()
        done.wait(60)


def test_two_processes_share_an_index(results, values):
    """Queries of one process while another computes and asks for other views."""
    spawn = multiprocessing.get_context("spawn")
    other = spawn.Process(target=_compute_and_ask, args=(results, values()))
    other.start()
    rounds = 0
    while other.is_alive() or not rounds:
        table = query(results, "SELECT experiment, count(*) AS rows FROM units GROUP BY ALL")
        assert len(table) >= 4
        rounds += 1
    assert other.exitcode == 0
    assert len(query(results, "SELECT DISTINCT experiment FROM units")) == 7
    assert [path.name for path in results.glob(".*")] == [index.FILE]


def _compute_and_ask(root, settings):
    for seed in range(20, 23):
        execute([TeacherStudent(**(settings | {"seeds": [seed]}))], Store(root))
        count = query(root, "SELECT count(DISTINCT experiment) AS n FROM members")["n"][0].as_py()
        assert count == 4 + seed - 19


@pytest.mark.parametrize("known", [False, True])
def test_an_index_that_cannot_be_written_is_made_in_memory(results, values, monkeypatch, known):
    """With nothing to start from, or with changes since the index was written."""
    if known:
        query(results, SQL)
    execute([TeacherStudent(**values(seeds=[9]))], Store(results))

    def full(*_):
        raise OSError("no space")

    with monkeypatch.context() as patch:
        patch.setattr(index.os, "replace", full)
        inside = query(results, SQL)
        assert seen(results) == dict.fromkeys(names(results))
        assert (results / index.FILE).exists() == known
    assert set(inside["experiment"].to_pylist()) == set(names(results))
    assert query(results, SQL).equals(inside)


def test_a_table_that_no_experiment_writes_is_left_out(results, caplog):
    with pytest.raises(TutelageError, match="there are the views"):
        query(results, "SELECT * FROM pairs")
    assert caplog.text == ""


def test_the_folder_of_earlier_versions_is_left_over(results):
    (results / ".index").mkdir()
    (removal,) = garbage(results, -1)
    assert removal.path == results / ".index"
    remove(removal)
    assert not (results / ".index").exists()
