"""Tables are compared with their checksum before a query reads them, and again when they may have changed."""

import logging
import os

import pytest

from tutelage.lab import Store, TeacherStudent, checked, execute, joined
from tutelage.lab.query import query

SQL = "SELECT experiment, sum(fan_out) AS total FROM units GROUP BY experiment ORDER BY experiment"


@pytest.fixture
def results(values, tmp_path):
    execute([TeacherStudent(**values(seeds=[seed])) for seed in range(3)], Store(tmp_path / "results"))
    return tmp_path / "results"


def flip(file, bit=0):
    content = bytearray(file.read_bytes())
    content[len(content) // 3] ^= 1 << bit
    file.write_bytes(content)


@pytest.mark.parametrize("asked_before", [False, True])
def test_a_flipped_bit_leaves_the_result_out_with_a_warning(results, caplog, asked_before):
    before = query(results, SQL).to_pylist() if asked_before else None
    file = sorted(results.glob("[0-9a-f]*/unit.parquet"))[1]
    flip(file)
    with caplog.at_level(logging.WARNING):
        after = query(results, SQL).to_pylist()
    assert "damaged experiments are left out: 1" in caplog.text
    assert len(after) == 2
    assert file.parent.name not in {row["experiment"] for row in after}
    flip(file)
    whole = query(results, SQL).to_pylist()
    assert len(whole) == 3
    assert before is None or whole == before


def test_a_check_is_made_once(results, monkeypatch):
    before = query(results, SQL)
    monkeypatch.setattr(checked, "checksum", None)  # not to be called again
    assert query(results, SQL).equals(before)


def test_a_file_that_was_touched_is_read_again(results, monkeypatch):
    before, asked = query(results, SQL), []
    real = checked.checksum
    monkeypatch.setattr(checked, "checksum", lambda file: asked.append(file) or real(file))
    file = sorted(results.glob("[0-9a-f]*/unit.parquet"))[0]
    os.utime(file)
    assert query(results, SQL).equals(before)
    assert asked == [file]


@pytest.mark.parametrize("name", ["checked-unit.parquet", "experiments.parquet"])
def test_a_damaged_memory_is_as_good_as_none(results, name):
    before = query(results, SQL)
    for bit in range(8):
        flip(results / ".index" / name, bit)
        assert query(results, SQL).equals(before)


def test_a_flipped_bit_in_a_copy_has_it_made_anew(results, monkeypatch):
    before = query(results, SQL)
    monkeypatch.setattr(joined, "FEW", 1)
    query(results, SQL)
    (copy,) = results.glob(".index/unit-*.parquet")
    flip(copy)
    assert query(results, SQL).equals(before)
    assert len(list(results.glob(".index/unit-*.parquet"))) == 2
