"""`tutelage engines` says what there is, what is missing, and measures on request."""

import importlib
import json
import sys

import pytest

from tutelage.cli import main
from tutelage.training import ENGINES

MODULE = importlib.import_module("tutelage.cli.engines")


def run(capsys, monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["tutelage", "engines", *words])
    with pytest.raises(SystemExit) as end:
        main()
    assert (end.value.code or 0) == 0
    return capsys.readouterr().out


def test_all_engines_are_listed_fastest_first(capsys, monkeypatch):
    rows = json.loads(run(capsys, monkeypatch, "--json"))["engines"]
    assert [row["engine"] for row in rows] == sorted(ENGINES, key=lambda name: -ENGINES[name].speed)
    assert all(row["supports"] for row in rows)
    assert all((row["missing"] is None) == row["available"] for row in rows)
    assert next(row for row in rows if row["engine"] == "stacked")["available"]


def test_speeds_come_beside_a_matrix_product(capsys, monkeypatch):
    monkeypatch.setattr(MODULE, "HIDDEN", (3,))
    monkeypatch.setattr(MODULE, "MEMBERS", {"cpu": 2, "cuda": 2})
    monkeypatch.setattr(MODULE, "STEPS", {"cpu": 2, "cuda": 2})
    found = json.loads(run(capsys, monkeypatch, "--measure", "--device", "cpu", "--json"))
    assert {(s["engine"], s["precision"]) for s in found["speeds"]} >= {("stacked", "float32"), ("stacked", "float64")}
    assert set(found["gemm_gflops"]) == {"float32", "float64"}
    table = run(capsys, monkeypatch, "--measure", "--device", "cpu")
    assert "GFLOP/s of a large matrix product" in table
