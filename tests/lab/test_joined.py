"""Copies of small tables answer as the experiments do, and never for experiments that are gone or changed."""

import os
import shutil

import pytest

from tutelage.lab import Store, TeacherStudent, execute, joined
from tutelage.lab.query import query

SQL = "SELECT experiment, step, member, unit, fan_out FROM units ORDER BY ALL"


@pytest.fixture
def results(values, tmp_path):
    experiments = [TeacherStudent(**values(seeds=[seed])) for seed in range(3)] + [
        TeacherStudent(**values(precision="float64"))
    ]
    execute(experiments, Store(tmp_path / "results"))
    return tmp_path / "results"


@pytest.fixture
def copying(monkeypatch):
    monkeypatch.setattr(joined, "FEW", 1)


def copies(root):
    return sorted(root.glob(".index/unit-*.parquet"))


def test_few_tables_are_read_in_place(results):
    query(results, SQL)
    assert copies(results) == []


def test_a_copy_answers_as_the_results_do(results, monkeypatch):
    before = query(results, SQL)
    monkeypatch.setattr(joined, "FEW", 1)
    assert query(results, SQL).equals(before)
    assert len(copies(results)) == 1
    for file in results.glob("*/unit.parquet"):
        os.utime(file)
    assert query(results, SQL).equals(before)


def test_results_that_come_and_go_are_noticed(results, values, copying):
    before = query(results, SQL)
    gone = sorted(results.glob("[!.]*"))[0]
    shutil.rmtree(gone)
    assert query(results, SQL).num_rows < before.num_rows
    execute([TeacherStudent(**values(seeds=[seed])) for seed in range(10, 14)], Store(results))
    assert len(set(query(results, SQL)["experiment"].to_pylist())) == 7
    assert len(copies(results)) == 2  # the last but one may still be read


def test_a_damaged_copy_is_made_anew(results, copying):
    before = query(results, SQL)
    (copy,) = copies(results)
    content = bytearray(copy.read_bytes())
    for place in range(4, len(content) // 2):
        content[place] ^= 0x5A
    copy.write_bytes(content)
    assert query(results, SQL).equals(before)
    os.truncate(copies(results)[-1], 50)
    assert query(results, SQL).equals(before)


def test_large_tables_are_never_copied(results, monkeypatch, copying):
    monkeypatch.setattr(joined, "SMALL", 10)
    query(results, SQL)
    assert copies(results) == []
