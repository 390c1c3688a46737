"""Arrays of a torch model become the network that the model is; what arrays do not tell is refused."""

import pytest
import torch
from torch import nn

from tutelage.errors import Refusal
from tutelage.networks import from_module, from_state_dict, outputs


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


def test_layers_come_in_natural_order():
    arrays = {f"fc{i}.weight": torch.ones(12 - i, 13 - i) for i in range(1, 11)}
    assert from_state_dict(arrays).widths == tuple(range(12, 1, -1))


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
    ],
)
def test_what_arrays_do_not_tell_is_refused(arrays, words):
    with pytest.raises(Refusal, match=words):
        from_state_dict(arrays)
