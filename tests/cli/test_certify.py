"""`tutelage certify` as a user meets it."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
import yaml
from safetensors.torch import save_file

import tutelage as tt
from tutelage.certificates import theorems
from tutelage.certificates.registry import subjects
from tutelage.cli import main
from tutelage.lab import TrainedStudents
from tutelage.networks import Network, save

NAMES = len(theorems())
ON_NETWORKS = sum(t.subject.name == "specialisation" for t in theorems().values())


@dataclass
class Done:
    code: int
    out: str
    err: str


@pytest.fixture
def tutelage(capsys, monkeypatch):
    def run(*words):
        monkeypatch.setattr(sys, "argv", ["tutelage", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capsys.readouterr()
        return Done(end.value.code or 0, out, err)

    return run


@pytest.fixture
def files(tmp_path):
    """A teacher, a student that is the teacher and an idle unit, and samples."""
    teacher = tt.teachers.Levels(inputs=3, hidden=2, outputs=2).build([0], dtype=torch.float64)
    idle = torch.ones(1, 3, 1, dtype=torch.float64)
    student = Network(
        (torch.cat([teacher.weights[0], idle], 2), torch.cat([teacher.weights[1], 0 * teacher.weights[1][:, :1]], 1)),
        (torch.cat([teacher.biases[0], idle[:, 0] / 3], 1), teacher.biases[1]),
    )
    paths = [tmp_path / f"{name}.safetensors" for name in ("teacher", "student", "points")]
    save(teacher, paths[0])
    save(student, paths[1])
    save_file({"points": torch.randn(200, 3, generator=torch.Generator().manual_seed(0)).double()}, paths[2])
    return paths


def test_a_certificate_is_printed_in_words_and_as_json(tutelage, files):
    teacher, student, points = files
    done = tutelage("certify", "pruning", teacher, student, "--points", points)
    assert done.code == 0
    assert "pruning (Tian 2020, Theorem 2; Tian 2019, Theorem 3), member 0: holds" in done.out
    [plain] = json.loads(tutelage("certify", "pruning", teacher, student, "--points", points, "--json").out)
    assert plain["verdict"] == "holds"
    assert plain["parts"][0]["about"] == "student unit 2"


def test_samples_are_drawn_from_a_law_and_options_reach_the_theorem(tutelage, files):
    teacher, student, _ = files
    words = (
        "certify",
        "free-point",
        teacher,
        student,
        "--distribution",
        "gaussian",
        "--std",
        1.5,
        "--samples",
        50,
        "--json",
    )
    [plain] = json.loads(tutelage(*words, "--option", "epsilon=0.25", "--option", "gamma=3").out)
    assert plain["settings"]["epsilon"] == 0.25
    assert plain["settings"]["gamma"] == 3
    [again] = json.loads(tutelage(*words, "--option", "epsilon=0.25", "--option", "gamma=3", "--samples-seed", 1).out)
    assert again != plain


def test_all_theorems_stand_in_a_table(tutelage, files):
    teacher, student, points = files
    done = tutelage("certify", "all", teacher, student, "--points", points)
    assert done.code == 0
    assert "alignment" in done.out
    assert "lemma-1" in done.out
    assert "alignment: holds" in done.out
    rows = json.loads(tutelage("certify", "all", teacher, student, "--points", points, "--json").out)
    assert len(rows) == ON_NETWORKS - 2
    assert "holds" in tutelage("certify", "lemma-1", teacher, student, "--points", points, "--brief").out


def test_theorems_are_listed(tutelage):
    assert "teacher-aware-samples" in tutelage("certify", "list").out
    rows = json.loads(tutelage("certify", "list", "--json").out)
    assert len(rows) == NAMES
    assert {row["subject"] for row in rows} == set(subjects())
    assert {"theorem", "subject", "source", "statement", "needs", "options"} == set(rows[0])


@pytest.fixture
def result(tutelage, tmp_path):
    experiment = {
        "teacher": {"kind": "levels", "inputs": 4, "hidden": 2, "outputs": 2},
        "student": {"kind": "small-normal", "width_factor": 2, "scale": 0.1},
        "inputs": {"kind": "gaussian", "train": 40, "evaluate": 30},
        "training": {"steps": 20},
        "seeds": 2,
    }
    (tmp_path / "settings.yaml").write_text(yaml.safe_dump(experiment))
    done = tutelage("run", tmp_path / "settings.yaml", "--results", tmp_path / "results", "--json")
    return Path(json.loads(done.out)["folder"])


def test_an_experiment_is_certified_on_the_samples_it_was_trained_on(tutelage, result):
    found = json.loads(tutelage("certify", "zero-gradient", result, "--json").out)
    assert [c["member"] for c in found] == [0, 1]
    assert found[0]["settings"]["samples"] == 40
    students = sorted(result.glob("students-*.safetensors"))[-1]
    words = (
        "certify",
        "zero-gradient",
        result / "teacher.safetensors",
        students,
        "--distribution",
        "sphere",
        "--samples",
        7,
    )
    assert [c["settings"]["samples"] for c in json.loads(tutelage(*words, "--json").out)] == [7, 7]


def test_one_member_is_chosen_by_seed_or_number(tutelage, result):
    [one] = json.loads(tutelage("certify", "zero-gradient", result, "--seed", 1, "--json").out)
    assert (one["member"], one["seed"]) == (1, 1)
    [same] = json.loads(tutelage("certify", "zero-gradient", result, "--member", 1, "--json").out)
    assert same == one
    for words, sentence in (
        (("--seed", 9), "has no member with seed 9"),
        (("--member", 9), "has no member 9: choose --member from 0 to 1"),
    ):
        done = tutelage("certify", "zero-gradient", result, *words)
        assert done.code == 2
        assert sentence in " ".join(done.err.split())
    files = result / "teacher.safetensors", sorted(result.glob("students-*.safetensors"))[-1]
    done = tutelage("certify", "zero-gradient", *files, "--distribution", "sphere", "--seed", 1)
    assert "use --member" in " ".join(done.err.split())


def test_a_summary_comes_first_and_details_on_request(tutelage, result):
    summary = tutelage("certify", "zero-gradient", result)
    assert summary.code == 0
    assert "2 of 2" in summary.out
    one = tutelage("certify", "zero-gradient", result, "--seed", 0).out
    assert 'condition "largest gradient of any batch" is not met (measured' in one
    assert "not met: " not in one
    everything = tutelage("certify", "zero-gradient", result, "--all").out
    assert everything.count("not met: largest gradient of any batch (measured") == 4


def test_members_of_an_experiment_whose_weights_are_not_finite_are_left_out(tutelage, result, monkeypatch):
    whole = TrainedStudents.weights

    def spoilt(self, step=None):
        students = whole(self, step).map(torch.clone)
        students.weights[0][lost] = torch.nan
        return students

    monkeypatch.setattr(TrainedStudents, "weights", spoilt)
    lost = [0]
    assert [c["member"] for c in json.loads(tutelage("certify", "alignment", result, "--json").out)] == [1]
    lost = [0, 1]
    assert "diverged: lower the learning rate" in " ".join(tutelage("certify", "alignment", result).err.split())


def test_exit_code_1_when_a_theorem_fails(tutelage, files, monkeypatch):
    from tutelage.specialisation.certificates import zero_gradient

    right = zero_gradient.recursive_gradient
    monkeypatch.setattr(zero_gradient, "recursive_gradient", lambda *a: right(*a) + 1)
    done = tutelage("certify", "lemma-1", files[0], files[1], "--points", files[2])
    assert done.code == 1
    assert "would refute the theorem" in done.out
    assert "Fails for all 2 layers" in done.out


def test_refusals_are_one_sentence_with_exit_code_2(tutelage, files, tmp_path):
    teacher, student, points = files
    two = tmp_path / "two.safetensors"
    save_file({"a": torch.zeros(2, 3), "b": torch.zeros(2, 3)}, two)
    junk = tmp_path / "junk.safetensors"
    junk.write_bytes(b"nothing")
    cases = {
        "did you mean 'pruning'": ("pruned", teacher, student, "--points", points),
        "give a teacher and a student": ("pruning",),
        "is not a stored experiment": ("pruning", tmp_path),
        "give one of --points and --distribution": ("pruning", teacher, student),
        "there is no file": ("pruning", teacher, student, "--points", tmp_path / "none"),
        "name the samples 'points'": ("pruning", teacher, student, "--points", two),
        "is not a safetensors file": ("pruning", teacher, student, "--points", junk),
        "--option must be NAME=NUMBER": ("pruning", teacher, student, "--points", points, "--option", "tolerance"),
        "(known: tolerance, alignment)": ("pruning", teacher, student, "--points", points, "--option", "batch=3"),
        "tolerance must be a number of at least 0, got nan": (
            "pruning",
            teacher,
            student,
            "--points",
            points,
            "--option",
            "tolerance=nan",
        ),
        "tolerance must be a number of at least 0, got -1": (
            "pruning",
            teacher,
            student,
            "--points",
            points,
            "--option",
            "tolerance=-1",
        ),
        "batch must be a whole number of at least 1, got 2.5": (
            "zero-gradient",
            teacher,
            student,
            "--points",
            points,
            "--option",
            "batch=2.5",
        ),
        "batch must be a whole number of at least 1, got 0": (
            "zero-gradient",
            teacher,
            student,
            "--points",
            points,
            "--option",
            "batch=0",
        ),
        "unknown kind of distribution 'gauss'": ("pruning", teacher, student, "--distribution", "gauss"),
    }
    for sentence, words in cases.items():
        done = tutelage("certify", *words)
        assert done.code == 2, (sentence, done)
        assert sentence in " ".join(done.err.split()), done.err
        assert "Traceback" not in done.err


@pytest.mark.parametrize("name", ["margins", "distillation", "autoencoders", "local", "alignment"])
def test_theorems_of_every_subject_are_reached(tutelage, name):
    done = tutelage("certify", "all", "--subject", name, "--json")
    assert done.code == 0
    assert {c["theorem"] for c in json.loads(done.out)} <= {n for n, t in theorems().items() if t.subject.name == name}


def test_settings_of_what_is_certified(tutelage):
    done = tutelage("certify", "arrival", "--about", "descent=true", "--about", "students=4")
    assert done.code == 0
    assert done.out.startswith("arrival (")
    for word, sentence in (
        ("students=x", "students must be a whole number, got 'x'"),
        ("colour=1", "--about must be NAME=VALUE"),
    ):
        refused = tutelage("certify", "arrival", "--about", word)
        assert refused.code == 2
        assert sentence in refused.err
    assert tutelage("certify", "all", "--subject", "nothing").code == 2
