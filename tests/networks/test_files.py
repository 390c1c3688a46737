"""Network files come back as they were, and anything else is refused in a sentence without being run."""

import json
import os
import pickle
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from tutelage.errors import TutelageError
from tutelage.networks import Network, load, outputs, save


def refusal(path) -> str:
    with pytest.raises(TutelageError) as caught:
        load(path)
    text = str(caught.value)
    assert str(path) in text
    assert "\n" not in text
    return text


def equal(one, other):
    return all(torch.equal(a, b) for a, b in zip(one.parameters, other.parameters, strict=True))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("widths", [(3, 2), (4, 5, 2), (2, 3, 4, 5)])
def test_a_network_comes_back_bit_for_bit(tmp_path, random_network, dtype, bias, widths):
    net = random_network(widths, members=3, bias=bias, activation="leaky", slope=0.1, dtype=dtype)
    save(net, tmp_path / "net.safetensors")
    back = load(tmp_path / "net.safetensors")
    assert equal(back, net)
    assert (back.widths, back.dtype, back.activation, back.slope) == (widths, dtype, "leaky", 0.1)
    assert (back.biases is not None) == bias


def test_a_path_may_be_text_and_its_folder_new(tmp_path, random_network):
    net, path = random_network((3, 2)), tmp_path / "new" / "net.safetensors"
    save(net, str(path))
    assert equal(load(str(path)), net)


def test_saving_again_replaces_the_file_and_leaves_nothing_beside_it(tmp_path, random_network):
    for seed in (0, 1):
        save(random_network((3, 2), seed=seed), tmp_path / "net")
    assert equal(load(tmp_path / "net"), random_network((3, 2), seed=1))
    assert os.listdir(tmp_path) == ["net"]


def test_arrays_that_are_views_can_be_saved(tmp_path, random_network):
    net = random_network((3, 4, 2), members=4)
    for view in (net[::2], net.map(lambda a: a[:1].expand_as(a))):
        save(view, tmp_path / "net")
        assert equal(load(tmp_path / "net"), view)


def test_layers_that_share_one_array_can_be_saved(tmp_path):
    w = torch.rand(2, 3, 3)
    net = Network((w, w))
    save(net, tmp_path / "net")
    assert equal(load(tmp_path / "net"), net)


def test_the_loaded_arrays_are_the_users_own(tmp_path, random_network, random_points):
    """They may be changed, and the file be deleted, without one touching the other."""
    net, x = random_network((3, 4, 2)), random_points(2, 5, 3)
    save(net, tmp_path / "net")
    back = load(tmp_path / "net")
    (tmp_path / "net").unlink()
    assert torch.equal(outputs(back, x), outputs(net, x))
    back.weights[0].zero_()
    assert net.weights[0].any()


def test_a_missing_file_is_refused(tmp_path):
    assert "there is no file" in refusal(tmp_path / "absent")
    assert "there is no file" in refusal(tmp_path)


@pytest.mark.parametrize("keep", [0, 5, 30, -1, -50])
def test_a_truncated_file_is_refused(tmp_path, random_network, keep):
    path = tmp_path / "net"
    save(random_network((3, 4, 2)), path)
    path.write_bytes(path.read_bytes()[:keep])
    assert "not a safetensors file" in refusal(path)


def test_a_text_file_is_refused(tmp_path):
    path = tmp_path / "net"
    path.write_text("weights: 1, 2, 3\n" * 50)
    assert "not a safetensors file" in refusal(path)
    assert "read_network" in refusal(path)


class Trap:
    """Unpickling this writes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


@pytest.mark.parametrize("write", [torch.save, lambda value, path: path.write_bytes(pickle.dumps(value))])
def test_a_pickle_is_refused_and_never_run(tmp_path, write):
    path, sprung = tmp_path / "net.pt", tmp_path / "sprung"
    write({"weights.1": Trap(sprung)}, path)
    assert "not a safetensors file" in refusal(path)
    assert not sprung.exists()


def test_the_trap_itself_works(tmp_path):
    pickle.loads(pickle.dumps(Trap(tmp_path / "sprung")))
    assert (tmp_path / "sprung").exists()


@pytest.mark.parametrize("metadata", [None, {"format": "pt"}, {"tutelage": '{"format": "another"}'}])
def test_arrays_of_another_program_are_refused_with_a_way_out(tmp_path, metadata):
    save_file({"weights.1": torch.zeros(1, 2, 3)}, tmp_path / "net", metadata=metadata)
    assert "from_module" in refusal(tmp_path / "net")
    assert "read a torch state dict with read_network" in refusal(tmp_path / "net")


ABOUT = {"format": "tutelage-network-1", "activation": "relu", "slope": 0.01, "depth": 2}


def write_arrays(path, names, about):
    arrays = {name: torch.zeros(1, 2, 2) if name.startswith("weights") else torch.zeros(1, 2) for name in names}
    save_file(arrays, path, metadata={"tutelage": about if isinstance(about, str) else json.dumps(about)})


@pytest.mark.parametrize(
    ("names", "missing"),
    [
        (["weights.1"], "weights.2"),
        (["weights.2"], "weights.1"),
        (["weights.1", "weights.2", "biases.1"], "biases.2"),
        (["weights.1", "weights.2", "biases.2"], "biases.1"),
    ],
)
def test_a_file_without_all_its_arrays_is_refused_with_the_missing_one(tmp_path, names, missing):
    write_arrays(tmp_path / "net", names, ABOUT)
    assert missing in refusal(tmp_path / "net")


@pytest.mark.parametrize("about", ["{", "[]", "3", '"relu"', "null", "[" * 100_000])
def test_a_file_with_a_damaged_description_is_refused(tmp_path, about):
    write_arrays(tmp_path / "net", ["weights.1", "weights.2"], about)
    refusal(tmp_path / "net")


@pytest.mark.parametrize(
    "change",
    [
        {"depth": "x"},
        {"depth": None},
        {"slope": "steep"},
        {"activation": "swish"},
        {"depth": 1},
        {"depth": 10**30},
        {"depth": True},
        {"depth": 2.0},
        {"depth": float("inf")},
        {"slope": 10**400},
        {"slope": float("nan")},
        {"slope": []},
    ],
)
def test_a_file_with_a_wrong_entry_is_refused_with_its_path(tmp_path, change):
    write_arrays(tmp_path / "net", ["weights.1", "weights.2"], ABOUT | change)
    refusal(tmp_path / "net")


@pytest.mark.parametrize(
    "array",
    [
        torch.ones(1, 2, 2, dtype=torch.complex64),
        torch.ones(1, 2, 2, dtype=torch.int32),
        torch.ones(1, 2, 2, dtype=torch.bool),
        torch.ones(1, 2, 2).to(torch.float8_e5m2),
        torch.ones(0, 2, 2),
        torch.ones(1, 2, 0),
        torch.ones(2, 2),
    ],
    ids=lambda a: f"{a.dtype} {list(a.shape)}",
)
def test_a_file_of_other_arrays_is_refused(tmp_path, array):
    save_file({"weights.1": array}, tmp_path / "net", metadata={"tutelage": json.dumps(ABOUT | {"depth": 1})})
    refusal(tmp_path / "net")


@pytest.mark.parametrize("absent", ["depth", "slope", "activation"])
def test_a_file_without_an_entry_is_refused_with_its_path(tmp_path, absent):
    about = {name: value for name, value in ABOUT.items() if name != absent}
    write_arrays(tmp_path / "net", ["weights.1", "weights.2"], about)
    refusal(tmp_path / "net")


def test_a_slope_beside_other_units_in_older_files_is_left_out(tmp_path):
    write_arrays(tmp_path / "net", ["weights.1", "weights.2"], ABOUT | {"slope": 0.1})
    assert load(tmp_path / "net").slope == 0.01
