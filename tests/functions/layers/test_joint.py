"""Two networks as one: the same function, and a largest distance that no point exceeds and some point reaches."""

import pytest
import torch

from tutelage.errors import TutelageError
from tutelage.functions.bounds.pieces import supremum
from tutelage.functions.domain import box
from tutelage.functions.layers.joint import deepen, side_by_side
from tutelage.functions.pieces.regions import enumerate_regions
from tutelage.networks import Network, outputs

ACTIVATIONS = ["relu", "leaky", "abs", "linear"]


def points(members, dimension, count=200):
    draw = torch.Generator().manual_seed(9)
    return 2 * torch.rand(members, count, dimension, generator=draw, dtype=torch.float64) - 1


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("bias", [0.0, 0.3])
@pytest.mark.parametrize("hidden", [((5,), (4,)), ((5, 3), (4,)), ((), (4, 3, 2)), ((), ())])
def test_side_by_side_is_both(random_net, activation, bias, hidden):
    a, b = (
        random_net((3, *between, 2), seed=seed, bias=bias, activation=activation, members=2)
        for seed, between in enumerate(hidden)
    )
    if activation == "abs" and hidden == ((), (4, 3, 2)):
        with pytest.raises(TutelageError, match="forgets the sign"):
            side_by_side(a, b)
        return
    x = points(2, 3)
    ya, yb = outputs(a, x), outputs(b, x)
    assert torch.allclose(outputs(side_by_side(a, b), x), ya - yb, atol=1e-12)
    assert torch.allclose(outputs(side_by_side(a, b, difference=False), x), torch.cat([ya, yb], 2), atol=1e-12)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("hidden", [(), (4,), (4, 3)])
def test_a_deepened_network_is_the_same_function(random_net, activation, hidden):
    network = random_net((3, *hidden, 2), activation=activation, members=2)
    if activation == "abs" and not hidden:
        with pytest.raises(TutelageError, match="forgets the sign"):
            deepen(network, 3)
        return
    x = points(2, 3)
    for more in (0, 1, 3):
        deeper = deepen(network, network.depth + more)
        assert deeper.depth == network.depth + more
        assert torch.allclose(outputs(deeper, x), outputs(network, x), atol=1e-12)


@pytest.mark.parametrize("widths", [((2, 7, 1), (2, 5, 4, 1)), ((2, 4, 3), (2, 4, 3)), ((3, 4, 1), (3, 3, 1))])
def test_the_deviation_of_two_networks_is_reached_and_never_exceeded(random_net, widths):
    a, b = (random_net(w, seed=seed) for seed, w in enumerate(widths))
    found = supremum(a, b, box(-1, 1, dimension=a.inputs))
    x = points(1, a.inputs, 5000)
    assert (outputs(a, x) - outputs(b, x)).abs().max() <= found.value + 1e-12
    at = found.at[None]
    assert (outputs(a, at) - outputs(b, at)).abs().max().item() == pytest.approx(found.value)


@pytest.mark.parametrize("bias", [0.0, 0.3])
def test_networks_that_differ_by_order_and_scale_of_units_do_not_deviate(random_net, bias):
    """All boundaries of the two coincide up to rounding (Phuong 2021, eqs. 2.1 to 2.4)."""
    a = random_net((2, 6, 5, 1), bias=bias)
    draw = torch.Generator().manual_seed(1)
    weights, biases = list(a.weights), list(a.biases or ())
    for layer, n in ((0, 6), (1, 5)):
        scale, order = torch.rand(n, generator=draw, dtype=torch.float64) + 0.5, torch.randperm(n, generator=draw)
        weights[layer] = (weights[layer] * scale)[:, :, order]
        weights[layer + 1] = (weights[layer + 1] / scale[None, :, None])[:, order]
        if biases:
            biases[layer] = (biases[layer] * scale)[:, order]
    b = Network(tuple(weights), tuple(biases) or None)
    assert supremum(a, b, box(-1, 1, dimension=2)).value < 1e-14
    joined = enumerate_regions(side_by_side(a, b), (-1, 1))
    assert len(joined) == len(enumerate_regions(a, (-1, 1)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"widths": (3, 4, 1)}, "inputs"),
        ({"widths": (2, 4, 2)}, "outputs"),
        ({"members": 2}, "members"),
        ({"activation": "abs"}, "same activation"),
        ({"activation": "leaky"}, "same activation"),
        ({"activation": "linear"}, "same activation"),
    ],
)
def test_networks_that_cannot_be_compared_are_refused(random_net, change, message):
    with pytest.raises(TutelageError, match=message):
        side_by_side(random_net((2, 4, 1)), random_net(**{"widths": (2, 4, 1), **change}))


def test_a_network_is_not_made_shallower(random_net):
    with pytest.raises(TutelageError, match="more layers"):
        deepen(random_net((2, 4, 4, 1)), 2)
