"""`tutelage identify` recovers a stored network and says what it found."""

import json
import sys

import pytest
import torch

from tutelage.cli import main
from tutelage.deadline import Deadline
from tutelage.functions import match
from tutelage.functions.querying.account import missing_units
from tutelage.networks import Network, load, save


def run(capsys, monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["tutelage", "identify", *map(str, words)])
    with pytest.raises(SystemExit) as end:
        main()
    return end.value.code or 0, capsys.readouterr()


@pytest.fixture
def file(tmp_path):
    draw = torch.Generator().manual_seed(0)
    shapes = ((5, 4), (4, 1))
    weights = tuple(torch.randn(2, *shape, generator=draw, dtype=torch.float64) for shape in shapes)
    biases = tuple(torch.randn(2, shape[1], generator=draw, dtype=torch.float64) for shape in shapes)
    save(Network(weights, biases), tmp_path / "net.safetensors")
    return tmp_path / "net.safetensors"


def test_the_network_found_is_written_and_described(capsys, monkeypatch, file, tmp_path):
    out = tmp_path / "found.safetensors"
    code, said = run(capsys, monkeypatch, file, "--member", 1, "--out", out)
    assert code == 0
    assert match(load(file)[1], load(out)).residual.max() < 1e-10
    for wanted in ("4 in the network, 4 found", "queries:", "largest relative error", f"written: {out}"):
        assert wanted in said.out


@pytest.mark.parametrize("more", [(), ("--gradients",), ("--noise", "1e-9"), ("--box", "-3", "3")])
def test_json_holds_the_same(capsys, monkeypatch, file, more):
    code, said = run(capsys, monkeypatch, file, "--json", *more)
    data = json.loads(said.out)
    assert code == 0
    assert data["hidden"] == data["found"] == [4]
    assert data["weight_error"] < 1e-7
    assert data["notes"] == []


def test_bad_input_is_one_sentence(capsys, monkeypatch, file, tmp_path):
    assert run(capsys, monkeypatch, file, "--member", 2)[0] == 2
    net = load(file)
    save(Network(net.weights, net.biases, "abs"), tmp_path / "abs.safetensors")
    code, said = run(capsys, monkeypatch, tmp_path / "abs.safetensors")
    assert code == 2
    assert "only ReLU networks" in said.err


def test_a_time_limit_is_code_3(capsys, monkeypatch, file):
    code, said = run(capsys, monkeypatch, file, "--seconds", "0", "--json")
    assert code == 3
    assert json.loads(said.out)["undecided"]
    code, said = run(capsys, monkeypatch, file, "--seconds", "0")
    assert code == 3
    assert "undecided: the time limit of 0 seconds was reached" in said.out
    assert run(capsys, monkeypatch, file, "--seconds", "600")[0] == 0


def test_the_result_is_compared_on_the_whole_box(capsys, monkeypatch, file):
    code, said = run(capsys, monkeypatch, file, "--certify", "--json")
    assert code == 0
    assert json.loads(said.out)["verdict"].startswith("same")
    data = json.loads(said.out)
    assert data["difference"] <= data["difference_at_most"] <= data["tolerance"], "found, proved, allowed"
    code, said = run(capsys, monkeypatch, file, "--certify")
    assert "compared on the whole box" in said.out


def test_limits_of_queries_and_single_precision_are_reported(capsys, monkeypatch, file):
    code, said = run(capsys, monkeypatch, file, "--queries", "10000", "--json")
    assert json.loads(said.out)["queries"] <= 10_000
    assert code in (0, 3)
    assert run(capsys, monkeypatch, file, "--queries", "5")[0] == 2
    code, said = run(capsys, monkeypatch, file, "--single")
    assert "values are in single precision" in said.out


def test_units_that_were_not_found_are_named_with_the_reason(capsys, monkeypatch, file, tmp_path):
    net = load(file)[0]
    bias = net.biases[0].clone()
    bias[0, 1], bias[0, 2] = -100.0, 100.0
    save(Network(net.weights, (bias, net.biases[1])), tmp_path / "odd.safetensors")
    code, said = run(capsys, monkeypatch, tmp_path / "odd.safetensors", "--json")
    data = json.loads(said.out)
    assert code == 0
    assert [(one["layer"], one["unit"], one["status"]) for one in data["units_missing"]] == [
        (1, 1, "no fold seen in the box: never active"),
        (1, 2, "no fold seen in the box: always active"),
    ]
    assert len(data["units"]) == sum(data["found"]) + sum(data["always_active_added"])
    code, said = run(capsys, monkeypatch, tmp_path / "odd.safetensors")
    assert (
        "hidden layer 1, unit 1 of the stored network is not among them: no fold seen in the box: never active"
        in said.out
    )


@pytest.mark.parametrize("more", [(), ("--certify",)])
@pytest.mark.parametrize("activation", ["relu", "abs"])
def test_a_network_without_hidden_layers_is_found(capsys, monkeypatch, tmp_path, more, activation):
    path, out = tmp_path / "linear.safetensors", tmp_path / "found.safetensors"
    weight = torch.tensor([[[1.0, -2.0], [0.5, 0.0], [3.0, 1.0]]], dtype=torch.float64)
    save(Network((weight,), (torch.tensor([[0.25, -1.0]], dtype=torch.float64),), activation), path)
    code, said = run(capsys, monkeypatch, path, *more)
    assert code == 0
    assert "hidden units: none in the network, none found" in said.out
    assert "largest relative error of a layer's weights" in said.out
    assert ("compared on the whole box" in said.out) == bool(more)
    code, said = run(capsys, monkeypatch, path, "--json", "--out", out, *more)
    found = json.loads(said.out)
    assert code == 0
    assert found["hidden"] == found["found"] == found["units"] == found["units_missing"] == []
    assert found["weight_error"] < 1e-10
    assert torch.allclose(load(out).weights[0], weight)


def test_missing_units_are_looked_for_within_the_time_that_is_left(capsys, monkeypatch, file):
    limits = []

    def late(*given, deadline):
        limits.append(deadline.left)
        return missing_units(*given, deadline=Deadline(0.0))

    monkeypatch.setattr("tutelage.functions.querying.account.missing_units", late)
    code, said = run(capsys, monkeypatch, file, "--seconds", "0")
    assert code == 3
    assert 0.1 < limits[0] <= 0.3
    assert "units that are missing were not looked for: the time limit was reached" in said.out
    code, said = run(capsys, monkeypatch, file, "--json")
    assert limits[1] == float("inf")
    data = json.loads(said.out)
    assert "were not looked for" in data["units_missing_cut_short"]
    assert data["units_missing"] == []
