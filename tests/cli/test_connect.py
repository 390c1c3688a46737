"""`tutelage connect` prints what lies on the path and on the straight lines."""

import json
import sys

import pytest
import torch
from safetensors.torch import save_file

from tutelage.cli import main
from tutelage.networks import Network, outputs, save


def run(capsys, monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["tutelage", "connect", *map(str, words)])
    with pytest.raises(SystemExit) as end:
        main()
    return end.value.code or 0, capsys.readouterr()


@pytest.fixture
def files(tmp_path):
    """A network of three layers, its units in another order, and points with and without classes."""
    source = torch.Generator().manual_seed(0)
    w, m, v = (torch.randn(1, a, b, generator=source) for a, b in ((3, 6), (6, 5), (5, 2)))
    one, other = Network((w, m, v)), Network((w.flip(2), m.flip((1, 2)), v.flip(1)))
    save(one, tmp_path / "a.safetensors")
    save(other, tmp_path / "b.safetensors")
    points = torch.randn(200, 3, generator=source)
    labels = outputs(one, points[None])[0].argmax(1)
    save_file({"points": points, "labels": labels}, tmp_path / "data.safetensors")
    save_file({"points": points}, tmp_path / "points.safetensors")
    return tmp_path


def test_the_path_is_below_the_straight_line(capsys, monkeypatch, files):
    a, b = files / "a.safetensors", files / "b.safetensors"
    words = a, b, "--data", files / "data.safetensors", "--bend-steps", 5, "--figure", files / "f.png"
    code, said = run(capsys, monkeypatch, *words)
    assert code == 0
    assert "least accuracy" in said.out
    assert "pieces: straight to the bend" in said.out
    assert (files / "f.png").stat().st_size > 1000
    code, said = run(capsys, monkeypatch, *words, "--json")
    lines = json.loads(said.out)["lines"]
    highest = {name: max(loss[0] for loss in line["loss"]) for name, line in lines.items()}
    assert highest["path"] < highest["straight"]
    assert min(share[0] for share in lines["path"]["accuracy"]) > 0.9
    assert lines["path"]["share"][0] == [0.0]
    assert lines["path"]["share"][-1] == [1.0]


def test_without_labels_the_error_is_squared(capsys, monkeypatch, files):
    a, b = files / "a.safetensors", files / "b.safetensors"
    words = a, b, "--data", files / "points.safetensors", "--bend-steps", 0, "--json"
    code, said = run(capsys, monkeypatch, *words)
    told = json.loads(said.out)["lines"]
    assert code == 0
    assert told["path"]["accuracy"] is None
    assert max(loss[0] for loss in told["path"]["loss"]) < 1e-9  # the same function, its units matched
    assert max(loss[0] for loss in told["straight"]["loss"]) > 0.01


def test_bad_input_is_one_sentence(capsys, monkeypatch, files):
    a, data = files / "a.safetensors", files / "data.safetensors"
    for words, sentence in (
        ((a, a, "--data", files / "none.safetensors"), "there is no file"),
        ((a, a, "--data", data, "--steps", 0), "--steps must be at least 1, got 0"),
        ((a, a, "--data", data, "--bend-steps", -1), "bend_steps must be at least 0, got -1"),
    ):
        code, said = run(capsys, monkeypatch, *words)
        assert code == 2
        assert sentence in said.err
