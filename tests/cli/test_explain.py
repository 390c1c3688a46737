"""`tutelage explain` on experiments: found units need no words, missed ones get a reason, wrong paths a sentence."""

import json

import pytest
from typer.testing import CliRunner

from tutelage import TutelageError
from tutelage.cli.main import app
from tutelage.lab import Store, TeacherStudent, execute


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    root = tmp_path_factory.mktemp("results")
    experiment = TeacherStudent(
        teacher={"kind": "levels", "inputs": 8, "hidden": 4, "outputs": 6, "polarity": 3},
        student={"kind": "small-normal", "width_factor": 2},
        inputs={"kind": "gaussian", "std": 1.5, "train": 300, "evaluate": 300},
        training={"steps": 400},
        record={"every": 200},
        seeds=3,
    )
    execute([experiment], Store(root), device="cpu")
    return root


def run(*words):
    outcome = CliRunner().invoke(app, ["explain", *map(str, words)], catch_exceptions=False)
    assert outcome.exit_code == 0
    return outcome.stdout


def test_json_names_a_reason_for_every_unit_that_was_missed(results):
    told = json.loads(run(results, "--json"))
    assert (told["members"], told["units"]) == (3, 12)
    assert sum(told["reasons"].values()) == len(told["missed"]) > 0
    assert {row["seed"] for row in told["missed"]} <= {0, 1, 2}
    assert all(row["correlation"] <= 0.95 and row["sentence"].startswith(row["reason"]) for row in told["missed"])


def test_words_count_what_was_found(results):
    missed = len(json.loads(run(results, "--json"))["missed"])
    assert f"{12 - missed} of 12 teacher units were recovered, {missed} were not." in run(results)


def test_one_member_alone(results):
    rows = json.loads(run(results, "--seed", 1, "--json"))["missed"]
    every = json.loads(run(results, "--json"))["missed"]
    assert [r["sentence"] for r in rows] == [r["sentence"] for r in every if r["seed"] == 1]


def test_wrong_paths_and_seeds_are_refused(results, tmp_path):
    with pytest.raises(TutelageError, match="is no experiment and holds none"):
        run(tmp_path)
    with pytest.raises(TutelageError, match="no member with seed 9"):
        run(results, "--seed", 9)
