"""tt.run, tt.grid, tt.results and tt.query: experiments from Python without the command line."""

import json

import numpy as np
import pytest
import torch

import tutelage as tt
from tutelage import lab
from tutelage.cli import commands

BASE = {
    "teacher": {"kind": "levels", "inputs": 6, "hidden": 2, "outputs": 3},
    "student": {"kind": "small-normal"},
    "inputs": {"kind": "gaussian", "train": 40, "evaluate": 30},
    "training": {"steps": 10, "batch": 4},
    "seeds": 2,
}


def test_a_grid_is_run_once_and_becomes_a_table(tmp_path):
    several = tt.grid(BASE, {"student.width_factor": [1, 2]}, zip={"teacher.polarity": [0, 1]})
    assert [(e.student.width_factor, e.teacher.polarity) for e in several] == [(1, 0), (1, 1), (2, 0), (2, 1)]
    first = tt.run(several, tmp_path)
    times = {r.folder: r.folder.stat().st_mtime_ns for r in first}
    again = tt.run(several, tmp_path)
    assert {r.folder: r.folder.stat().st_mtime_ns for r in again} == times
    table = tt.results(tmp_path)
    assert {"width_factor", "polarity", "seed", "step", "evaluate_loss"} <= set(table.column_names)
    assert table.num_rows == 4 * 2 * 2  # experiments, members, recorded steps
    answer = tt.query("SELECT width_factor, count(*) AS n FROM members GROUP BY ALL ORDER BY ALL", tmp_path)
    assert answer.to_pylist() == [{"width_factor": 1.0, "n": 8}, {"width_factor": 2.0, "n": 8}]


def test_a_typed_experiment_is_varied_and_run_alone(tmp_path):
    (base,) = tt.grid(BASE)
    assert isinstance(base, tt.TeacherStudent)
    (faster,) = tt.grid(base, {"training.learning_rate": [0.1]})
    assert faster.training.learning_rate == 0.1
    assert faster.hash != base.hash
    result = tt.run(faster, tmp_path, progress=True)
    assert result.experiment == faster
    assert tt.run(faster, tmp_path).report["evaluate_loss"].tolist() == result.report["evaluate_loss"].tolist()


def test_run_and_the_command_find_the_results_of_one_another(tmp_path, monkeypatch, capsys):
    """An experiment with many seeds is stored in parts by both, and one that is stored whole is not computed again."""
    (experiment,) = tt.grid(BASE | {"seeds": 5, "precision": "float64"})
    whole = tt.run(experiment, tmp_path / "whole")
    monkeypatch.setattr("tutelage.lab.loads.EXPERIMENT_MEMBERS", 2)
    file = tmp_path / "e.yaml"
    file.write_text(lab.to_yaml(experiment))

    def known(folder):
        commands.run(file, results=folder, as_json=True)
        return [json.loads(line)["known"] for line in capsys.readouterr().out.splitlines()]

    in_parts = tt.run(experiment, tmp_path / "python")
    assert known(tmp_path / "python") == [True] * 3
    assert known(tmp_path / "command") == [False] * 3
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "command").iterdir()}
    tt.run(experiment, tmp_path / "command")
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "command").iterdir()} == times
    assert len(times) == 3
    assert known(tmp_path / "whole") == [True]

    assert in_parts.experiment == experiment
    assert in_parts.report.steps == whole.report.steps
    for name in whole.report.values:
        np.testing.assert_allclose(in_parts.report[name], whole.report[name], rtol=1e-10, atol=1e-12, err_msg=name)
    for network in ("weights", "teacher"):
        for a, b in zip(getattr(in_parts, network)().weights, getattr(whole, network)().weights, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)


def test_unknown_names_are_one_sentence(tmp_path):
    with pytest.raises(tt.TutelageError, match=r"unknown setting for the grid 'student\.width'"):
        tt.grid(BASE, {"student.width": [1]})
    with pytest.raises(tt.TutelageError, match="unknown view 'memebrs'; did you mean 'members'"):
        tt.results(tmp_path, "memebrs")
