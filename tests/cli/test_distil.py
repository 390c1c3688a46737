"""`tutelage distil` teaches a student, writes it, and says what theory expects."""

import importlib
import json
import sys
from itertools import pairwise

import pytest
import torch
from safetensors.torch import load_file, save_file

from tutelage.cli import main
from tutelage.distillation import Outlook, outlook
from tutelage.distillation.outlook import Line
from tutelage.networks import Network, load, save, to_module


def run(capsys, monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["tutelage", "distil", *map(str, words)])
    with pytest.raises(SystemExit) as end:
        main()
    return end.value.code or 0, capsys.readouterr()


def network(*widths, members=1, seed=0):
    draw = torch.Generator().manual_seed(seed)
    pairs = list(pairwise(widths))
    weights = tuple(torch.randn(members, a, b, generator=draw, dtype=torch.float64) / a**0.5 for a, b in pairs)
    return Network(weights, tuple(torch.zeros(members, b, dtype=torch.float64) for _, b in pairs))


@pytest.fixture
def files(tmp_path):
    """A teacher and a student of three classes, 200 points with the teacher's own classes for labels."""
    teacher, student = network(4, 8, 3), network(4, 16, 3, seed=1)
    save(teacher, tmp_path / "teacher.safetensors")
    save(student, tmp_path / "student.safetensors")
    x = torch.randn(200, 4, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    with torch.no_grad():
        y = to_module(teacher)(x).argmax(1)
    save_file({"points": x, "labels": y}, tmp_path / "x.safetensors")
    save_file({"points": x[:5]}, tmp_path / "few.safetensors")
    return tmp_path


def asked(files, *words):
    return files / "teacher.safetensors", files / "student.safetensors", *words


def test_a_student_is_taught_and_written(capsys, monkeypatch, files):
    new = files / "new.safetensors"
    words = asked(files, "--points", files / "x.safetensors", "--labels", "--learning-rate", 0.02, "--out", new)
    code, said = run(capsys, monkeypatch, *words, "--json")
    found = json.loads(said.out)
    assert code == 0
    assert found["losses"][-1] < found["losses"][0]
    assert found["agreement"] > 0.9
    assert found["accuracy"] == found["agreement"]
    assert found["teacher_accuracy"] == 1
    assert load(new).widths == (4, 16, 3)
    x = load_points(files / "x.safetensors")
    with torch.no_grad():
        same = to_module(load(new))(x).argmax(1) == to_module(load(files / "teacher.safetensors"))(x).argmax(1)
    assert same.double().mean() == found["agreement"]


def load_points(path):
    return load_file(path)["points"]


def test_the_theory_is_that_of_the_last_layer_on_its_features(capsys, monkeypatch, files):
    words = asked(files, "--points", files / "few.safetensors", "--held-out", files / "x.safetensors", "--epochs", 1)
    few, x = load_points(files / "few.safetensors"), load_points(files / "x.safetensors")
    expected = outlook(to_module(load(files / "teacher.safetensors")), few, x)
    save_file({"points": x}, files / "x.safetensors")
    code, said = run(capsys, monkeypatch, *words, "--json")
    theory = json.loads(said.out)["theory"]
    assert code == 0
    assert (theory["count"], theory["dimension"], theory["rank"], theory["held_out"]) == (5, 9, 5, True)
    assert [line["name"] for line in theory["lines"]] == ["0", "1", "2"]
    assert [line["angle"] for line in theory["lines"]] == [line.angle for line in expected.lines]


def test_the_lines_on_a_terminal_say_what_they_speak_of(capsys, monkeypatch, files):
    code, said = run(capsys, monkeypatch, *asked(files, "--points", files / "few.safetensors", "--epochs", 2))
    words = " ".join(said.out.split())
    assert code == 0
    for wanted in (
        "agreement with the teacher",
        "n = 5 inputs, d = 9 features with the bias, rank 5",
        "against the rest",
    ):
        assert wanted in words
    assert "accuracy" not in words


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--points", "few.safetensors", "--labels"], "name the samples 'points' and their classes 'labels'"),
        (["--points", "wide.safetensors"], "must have shape [N, 4] for this teacher"),
        (["--points", "nowhere.safetensors"], "there is no file"),
        (["--points", "nowhere.safetensors", "--labels"], "there is no file"),
        (["--points", "few.safetensors", "--hard-share", "0.5"], "needs labels, but none were given"),
        (["--points", "few.safetensors", "--temperature", "0"], "temperature must be above 0"),
        (["--points", "real.safetensors", "--labels"], "give whole numbers"),
        (["--points", "junk.safetensors", "--labels"], "is not a safetensors file"),
    ],
)
def test_what_cannot_be_done_is_refused(capsys, monkeypatch, files, words, sentence):
    save_file({"points": torch.zeros(3, 7)}, files / "wide.safetensors")
    save_file({"points": torch.zeros(3, 4), "labels": torch.zeros(3)}, files / "real.safetensors")
    (files / "junk.safetensors").write_bytes(b"junk")
    words = [files / w if w.endswith("safetensors") else w for w in words]
    code, said = run(capsys, monkeypatch, *asked(files, *words))
    assert code == 2
    assert sentence in said.err


def test_a_stack_is_refused(capsys, monkeypatch, files):
    save(network(4, 3, members=2), files / "teacher.safetensors")
    code, said = run(capsys, monkeypatch, *asked(files, "--points", files / "few.safetensors"))
    assert code == 2
    assert "has 2 networks" in said.err


def test_bounds_that_say_nothing_are_not_shown(capsys, monkeypatch, files):
    line = {"name": "0", "angle": 30.0, "disagreement": 0.1, "bound": 1.0, "tighter": 1.0}
    for bound, shown in ((1.0, False), (0.9, True)):
        found = Outlook(5, 9, 5, True, False, (Line(**line), Line(**line | {"tighter": bound})))
        monkeypatch.setattr(
            importlib.import_module("tutelage.distillation"), "outlook", lambda *given, found=found: found
        )
        code, said = run(capsys, monkeypatch, *asked(files, "--points", files / "few.safetensors", "--epochs", 1))
        assert code == 0
        assert ("What a linear student of the last layer would come to" in said.out) == shown
        assert ("the bounds of Theorem 5.3 are 1 for every class" in " ".join(said.out.split())) != shown


def test_training_ends_with_the_time_and_the_student_is_written(capsys, monkeypatch, files):
    new = files / "new.safetensors"
    words = asked(files, "--points", files / "x.safetensors", "--epochs", 10**9, "--seconds", 0.2, "--out", new)
    code, said = run(capsys, monkeypatch, *words)
    assert code == 0
    assert "ended after 0.2 s, in epoch" in said.out
    assert "what theory expects is left out" in said.out
    assert load(new).widths == (4, 16, 3)
    code, said = run(capsys, monkeypatch, *words, "--json")
    assert json.loads(said.out)["theory"] is None


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf"])
def test_a_time_that_is_none_is_an_error(capsys, monkeypatch, files, seconds):
    code, said = run(capsys, monkeypatch, *asked(files, "--points", files / "x.safetensors", "--seconds", seconds))
    assert code == 2
    assert "seconds must be positive" in said.err


def test_the_student_is_written_before_theory_is_asked(capsys, monkeypatch, files):
    def interrupted(*given):
        raise KeyboardInterrupt

    monkeypatch.setattr(importlib.import_module("tutelage.distillation"), "outlook", interrupted)
    new = files / "new.safetensors"
    code, _ = run(
        capsys, monkeypatch, *asked(files, "--points", files / "few.safetensors", "--epochs", 1, "--out", new)
    )
    assert code == 130
    assert load(new).widths == (4, 16, 3)
