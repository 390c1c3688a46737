"""A torch state dict does not say its activation: every command reads it with --activation, and says what it took."""

import json
from itertools import pairwise

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from tutelage.networks import from_module, load, outputs, save

LEAKY = "--activation", "leaky", "--slope", 0.1


def module(*widths, seed=0):
    """A module of torch with leaky units, in float64."""
    torch.manual_seed(seed)
    layers = [(nn.Linear(a, b, dtype=torch.float64), nn.LeakyReLU(0.1)) for a, b in pairwise(widths)]
    return nn.Sequential(*[layer for pair in layers for layer in pair][:-1]).requires_grad_(False)


@pytest.fixture
def first():
    """Its units 0 and 1 are equal."""
    net = module(3, 5, 2)
    net[0].weight[1], net[0].bias[1] = net[0].weight[0], net[0].bias[0]
    return net


@pytest.fixture
def second():
    return module(3, 5, 2, seed=1)


@pytest.fixture
def points():
    return torch.randn(60, 3, generator=torch.Generator().manual_seed(2), dtype=torch.float64)


@pytest.fixture
def files(tmp_path, first, second, points):
    """a and b: state dicts; linear: one without hidden layers; says: the first with its activation; x: the points."""
    for name, net in {"a": first, "b": second, "linear": module(3, 2)}.items():
        save_file(net.state_dict(), tmp_path / f"{name}.safetensors")
    save(from_module(first), tmp_path / "says.safetensors")
    save_file({"points": points}, tmp_path / "x.safetensors")
    return {path.stem: path for path in tmp_path.iterdir()}


def words_of(name, files):
    """Arguments of a command that reads networks, and the names of these."""
    a, b, x = files["a"], files["b"], files["x"]
    return {
        "compare": ((a, b, "--box", -1, 1), "ab"),
        "check": ((a, b, "--data", x, "--tolerance", 100), "ab"),
        "prune": ((a,), "a"),
        "match": ((a, b, "--data", x), "ab"),
        "connect": ((a, b, "--data", x), "ab"),
        "identify": ((a, "--seconds", 0.2), "a"),
        "distil": ((a, b, "--points", x, "--epochs", 0), "ab"),
    }[name]


COMMANDS = ["compare", "check", "prune", "match", "connect", "identify", "distil"]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_file_that_does_not_say_its_activation_is_named_once(command, files, name):
    words, networks = words_of(name, files)
    done = command(name, *words, "--json")
    notes = [f"{files[each]} does not say its activation: read as relu (change with --activation)" for each in networks]
    assert done.err.splitlines() == notes
    assert json.loads(done.out)


@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_is_noted_where_the_activation_is_given(command, files, name):
    words, _ = words_of(name, files)
    assert "does not say" not in command(name, *words, "--activation", "relu").err


def test_one_file_given_twice_is_named_once(command, files):
    assert command("compare", files["a"], files["a"]).err.count("does not say") == 1


def test_what_says_its_activation_or_has_none_is_not_noted(command, files):
    assert command("compare", files["says"], files["says"]).err == ""
    assert command("compare", files["linear"], files["linear"]).err == ""


def test_bad_input_is_one_sentence(command, files, tmp_path):
    for other in (tmp_path / "none.safetensors", files["x"]):
        done = command("compare", files["a"], other)
        assert done.code == 2
        assert len(done.err.splitlines()) == 1
    done = command("prune", files["says"], "--activation", "relu")
    assert done.code == 2
    assert "says that its units are leaky, not relu: leave the activation out" in done.err


def test_compare_reads_leaky_units(command, files, first, second):
    assert command("compare", files["a"], files["says"]).code == 1
    assert command("compare", files["a"], files["says"], *LEAKY).code == 0
    found = json.loads(command("compare", files["a"], files["b"], "--box", -1, 1, *LEAKY, "--json").out)
    at = torch.tensor(found["witness"], dtype=torch.float64)
    assert found["outputs_at_witness"]["a"] == pytest.approx(first(at).tolist())
    assert found["outputs_at_witness"]["b"] == pytest.approx(second(at).tolist())


def test_check_reads_leaky_units(command, files, first, second, points):
    words = files["a"], files["says"], "--box", -1, 1
    assert command("check", *words).code == 1
    assert command("check", *words, *LEAKY).code == 0
    words = files["a"], files["b"], "--data", files["x"], "--tolerance", 100, *LEAKY, "--json"
    found = json.loads(command("check", *words).out)
    largest = (first(points) - second(points)).abs().amax(0)
    assert found["data"]["max_difference_per_output"] == pytest.approx(largest.tolist())


def test_prune_reads_leaky_units(command, files, first, points, tmp_path):
    small = tmp_path / "small.safetensors"
    assert command("prune", files["a"], "--out", small, *LEAKY).code == 0
    assert load(small).widths == (3, 4, 2)
    torch.testing.assert_close(outputs(load(small), points)[0], first(points))


def test_match_reads_leaky_units(command, files, first, second, points, tmp_path):
    moved = tmp_path / "moved.safetensors"
    words = files["a"], files["b"], "--data", files["x"], "--out", moved, *LEAKY, "--json"
    line = json.loads(command("match", *words).out)["lines"]["matched"]
    torch.testing.assert_close(outputs(load(moved), points)[0], second(points))
    assert [loss[0] for loss in line["loss"]][::20] == pytest.approx([0, half_square(first, second, points)])


def test_connect_reads_leaky_units(command, files, first, second, points):
    words = files["a"], files["b"], "--data", files["x"], *LEAKY, "--json"
    line = json.loads(command("connect", *words).out)["lines"]["straight"]
    assert line["loss"][-1] == pytest.approx([half_square(first, second, points)])


def half_square(first, second, points):
    """Loss of the second network on what the first one says."""
    return float((first(points) - second(points)).square().sum(1).mean() / 2)


def test_distil_reads_leaky_units(command, files, first, second, points, tmp_path):
    new = tmp_path / "new.safetensors"
    words = files["a"], files["b"], "--points", files["x"], "--epochs", 0, "--out", new, *LEAKY, "--json"
    found = json.loads(command("distil", *words).out)
    same = first(points).argmax(1) == second(points).argmax(1)
    assert found["agreement"] == pytest.approx(float(same.double().mean()))
    torch.testing.assert_close(outputs(load(new), points)[0], second(points))


def test_identify_takes_relu_alone(command, files):
    done = command("identify", files["a"], *LEAKY)
    assert done.code == 2
    assert "has activation leaky: only ReLU networks can be identified" in done.err
