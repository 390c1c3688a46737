"""Arrays of a torch model become the network that the model is; what arrays do not tell is refused."""

import pytest
import torch
from torch import nn

from tutelage.errors import TutelageError
from tutelage.networks import Network, from_module, outputs
from tutelage.networks.state_dict import from_state_dict, to_state_dict


@pytest.mark.parametrize("bias", [True, False])
def test_a_sequential_is_read_as_it_is(bias):
    model = nn.Sequential(nn.Linear(3, 5, bias=bias), nn.ReLU(), nn.Linear(5, 4, bias=bias), nn.ReLU(), nn.Linear(4, 2))
    network = from_state_dict(model.state_dict())
    x = torch.randn(20, 3)
    assert torch.allclose(outputs(network, x)[0], model(x), atol=1e-6)
    if bias:
        assert torch.equal(network.weights[1], from_module(model).weights[1])


def test_no_bias_anywhere_is_no_bias():
    assert from_state_dict({"a.weight": torch.ones(2, 3)}).biases is None


def test_numbered_layers_come_in_the_order_of_their_numbers():
    arrays = {f"fc{i}.weight": torch.ones(12 - i, 13 - i) for i in sorted(range(1, 11), key=str)}
    assert from_state_dict(arrays).widths == tuple(range(12, 1, -1))


def square(*names, **others):
    """Layers of one size, told apart by their values."""
    return {f"{name}.weight": torch.full((4, 4), float(i)) for i, name in enumerate(names)} | others


def values(network):
    return [float(w[0, 0, 0]) for w in network.weights]


@pytest.mark.parametrize("names", [("in", "body", "answer"), ("z", "a"), ("fc1", "fc2", "fc10"), ("net.0", "net.2")])
def test_the_order_given_is_kept(names):
    assert values(from_state_dict(square(*names))) == list(range(len(names)))


@pytest.mark.parametrize("names", [("fc2", "fc1"), ("2", "10", "0")])
def test_numbers_against_the_order_given_are_an_error(names):
    with pytest.raises(TutelageError, match="both orders fit"):
        from_state_dict(square(*names))


def residual(hidden):
    return {
        "first.weight": torch.ones(4, 3),
        "block.0.weight": torch.ones(hidden, 4),
        "block.2.weight": torch.ones(4, hidden),
        "last.weight": torch.ones(2, 4),
    }


@pytest.mark.parametrize(
    "arrays",
    [
        residual(4),
        residual(8),
        {f"model.{name}": a for name, a in residual(8).items()},
        square("blocks.0.linear", "blocks.1.linear"),
        square("fc1", "shortcut", "fc2"),
        square("fc1", "skip_1", "fc2"),
    ],
)
def test_what_may_be_a_residual_block_is_no_chain(arrays):
    with pytest.raises(TutelageError, match=r"may add them \(a residual block\)|a path around other layers"):
        from_state_dict(arrays)


def test_parts_that_change_the_width_are_a_chain():
    arrays = {"encoder.0.weight": torch.ones(5, 8), "encoder.2.weight": torch.ones(2, 5)}
    arrays |= {"decoder.0.weight": torch.ones(5, 2), "decoder.2.weight": torch.ones(8, 5)}
    assert from_state_dict(arrays).widths == (8, 5, 2, 5, 8)


def test_another_activation_is_told():
    network = from_state_dict({"0.weight": torch.ones(2, 3), "2.weight": torch.ones(1, 2)}, "leaky", 0.2)
    assert (network.activation, network.slope) == ("leaky", 0.2)


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"x": torch.ones(2)}, "no array called NAME.weight"),
        ({"0.weight": torch.ones(4, 3, 5, 5)}, r"0 has shape \[4, 3, 5, 5\]"),
        ({"0.weight": torch.ones(4, 3), "1.running_mean": torch.ones(4)}, "1.running_mean is neither"),
        ({"0.weight": torch.ones(4, 3), "1.weight": torch.ones(4)}, r"1 has shape \[4\]"),
        ({"0.weight": torch.ones(4, 3), "1.weight": torch.ones(1, 5)}, "takes 5 numbers and 0.weight gives 4"),
        ({"0.weight": torch.ones(0, 3), "1.weight": torch.ones(1, 0)}, "at least one unit"),
        ({"0.weight": torch.ones(4, 3, dtype=torch.complex64)}, "must be of type .*, got complex64"),
        ({"0.weight": torch.ones(4, 3, dtype=torch.int64)}, "got int64"),
        ({"0.weight": torch.ones(4, 3, dtype=torch.bool)}, "got bool"),
        ({"0.weight": torch.ones(4, 3).to(torch.float8_e4m3fn)}, "got float8_e4m3fn"),
    ],
)
def test_what_arrays_do_not_tell_is_refused(arrays, words):
    with pytest.raises(TutelageError, match=words):
        from_state_dict(arrays)


def test_layers_with_consecutive_numbers_among_others_are_named():
    arrays = {f"{n}.weight": torch.eye(3) for n in (0, 1, 3)}
    with pytest.warns(UserWarning, match="layers 0, 1 have consecutive numbers.* read with relu after each of 0, 1 "):
        from_state_dict(arrays)
    for numbers in ((0, 2, 4), (0, 1, 2), (0, 3, 7), (1, 2, 10)):  # gaps of two, a list of layers, dropout, anything
        from_state_dict({f"{n}.weight": torch.eye(3) for n in numbers})


@pytest.mark.parametrize("bias", [True, False])
def test_torch_loads_what_is_written(bias):
    model = nn.Sequential(nn.Linear(3, 5, bias=bias), nn.ReLU(), nn.Linear(5, 2, bias=bias))
    arrays = to_state_dict(from_module(model))
    assert list(arrays) == list(model.state_dict())
    copy = nn.Sequential(nn.Linear(3, 5, bias=bias), nn.ReLU(), nn.Linear(5, 2, bias=bias))
    copy.load_state_dict(arrays)
    assert all(torch.equal(a, b) for a, b in zip(copy.parameters(), model.parameters(), strict=True))


def test_what_a_state_dict_cannot_hold_is_an_error():
    several = Network((torch.ones(2, 3, 4), torch.ones(2, 4, 1)))
    with pytest.raises(TutelageError, match="holds one member, got 2"):
        to_state_dict(several)
    with pytest.raises(TutelageError, match="one per layer, got 1 for 2 layers"):
        to_state_dict(several[0], ["only"])
