"""`tutelage match` prints the barrier before and after, and writes the matched network."""

import json
import sys

import pytest
import torch
from safetensors.torch import load_file, save_file

from tutelage.cli import main
from tutelage.networks import Network, load, outputs, save


def run(capsys, monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["tutelage", "match", *map(str, words)])
    with pytest.raises(SystemExit) as end:
        main()
    return end.value.code or 0, capsys.readouterr()


@pytest.fixture
def files(tmp_path):
    source = torch.Generator().manual_seed(0)
    w, v = torch.randn(1, 3, 5, generator=source), torch.randn(1, 5, 2, generator=source)
    one, other = Network((w, v)), Network((w.flip(2), v.flip(1)))
    save(one, tmp_path / "a.safetensors")
    save(other, tmp_path / "b.safetensors")
    points = torch.randn(100, 3, generator=source)
    labels = outputs(one, points[None])[0].argmax(1)
    save_file({"points": points, "labels": labels}, tmp_path / "data.safetensors")
    save_file({"points": points}, tmp_path / "points.safetensors")
    return tmp_path


def test_the_barrier_is_gone_and_the_matched_network_is_written(capsys, monkeypatch, files):
    a, b = files / "a.safetensors", files / "b.safetensors"
    words = a, b, "--data", files / "data.safetensors", "--out", files / "c.safetensors", "--figure", files / "f.png"
    code, said = run(capsys, monkeypatch, *words, "--repair")
    assert code == 0
    assert "repaired" in said.out
    assert "least accuracy" in said.out
    assert (files / "f.png").stat().st_size > 1000
    moved, first = load(files / "c.safetensors"), load(a)
    torch.testing.assert_close(moved.weights[0].float(), first.weights[0])
    code, said = run(capsys, monkeypatch, a, b, "--data", files / "points.safetensors", "--json")
    told = json.loads(said.out)
    assert told["lines"]["as they are"]["barrier"][0] > 0.01
    assert told["lines"]["matched"]["barrier"][0] < 1e-6
    assert told["lines"]["matched"]["accuracy"] is None  # without labels, the outputs of A


def test_bad_input_is_one_sentence(capsys, monkeypatch, files):
    a = files / "a.safetensors"
    for words, said in (
        ((a, a, "--data", files / "none.safetensors"), "there is no file"),
        ((a, a, "--data", files / "data.safetensors", "--by", "names"), "--by must be one of"),
        ((a, a, "--data", a), "name one 'points'"),
    ):
        code, out = run(capsys, monkeypatch, *words)
        assert code == 2
        assert said in out.err


def test_torch_loads_the_matched_network(capsys, monkeypatch, files):
    words = "--data", files / "data.safetensors", "--out", files / "c.safetensors", "--format", "torch"
    assert run(capsys, monkeypatch, files / "a.safetensors", files / "b.safetensors", *words)[0] == 0
    model = torch.nn.Sequential(torch.nn.Linear(3, 5, bias=False), torch.nn.ReLU(), torch.nn.Linear(5, 2, bias=False))
    model.load_state_dict(load_file(files / "c.safetensors"))
    torch.testing.assert_close(model[0].weight.T, load(files / "a.safetensors").weights[0][0])


def test_reasons_are_printed_per_layer_and_in_json(capsys, monkeypatch, files):
    words = files / "a.safetensors", files / "b.safetensors", "--data", files / "data.safetensors", "--reasons"
    code, said = run(capsys, monkeypatch, *words)
    assert code == 0
    assert "agreement of pairs" in said.out
    assert "all layers:" in said.out
    code, said = run(capsys, monkeypatch, *words, "--json")
    reasons = json.loads(said.out)["reasons"]
    assert [len(reasons[k]) for k in ("layer", "spread", "agreement")] == [2, 1, 1]
    assert reasons["excess"][0] < 1e-6  # the same function in another order
