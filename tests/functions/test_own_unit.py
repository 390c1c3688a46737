"""A piecewise linear activation that is one row in the table of activations works in the whole room."""

from fractions import Fraction

import pytest
import torch

from tutelage.functions import canonical, check_export, difference_bound, enumerate_regions, prune, same_function
from tutelage.functions.comparing.canonical import reordered, scaled
from tutelage.functions.layers.joint import as_relu, deepen
from tutelage.functions.rounding import exact_outputs
from tutelage.networks import Network, SparseNetwork, activations, outputs

SLOPE = -0.3  # no power of two, so that its products are rounded


@pytest.fixture
def valley(monkeypatch):
    """Units with the slope -0.3 below 0."""
    made = activations._gated("valley", lambda u, slope: torch.where(u > 0, torch.ones_like(u), SLOPE + 0 * u))
    monkeypatch.setitem(activations.ACTIVATIONS, "valley", made)


def made(random_net, widths, seed):
    drawn = random_net(widths, seed)
    return Network(drawn.weights, drawn.biases, "valley")


@pytest.mark.usefixtures("valley")
@pytest.mark.parametrize("seed", range(4))
def test_every_question_about_a_new_unit_is_answered_and_right(random_net, seed):
    net = made(random_net, (2, 4, 3, 1), seed)
    moved = scaled(reordered(net, 0, torch.tensor([[2, 0, 3, 1]])), 0, torch.full((1, 4), 2.0).double())
    assert same_function(net, moved).verdict == "same and related"
    assert same_function(net, as_relu(net), (-1, 1)).same
    assert same_function(net, deepen(net, 4), (-1, 1)).same
    other = net.map(lambda a: a * 1.001)
    bound = difference_bound(net, other, (-1, 1), seconds=1)
    points = torch.rand(200, 2, dtype=torch.float64) * 2 - 1
    apart = (outputs(net, points) - outputs(other, points)).abs().max().item()
    assert apart <= bound.at_most.item()
    assert bound.at_most.item() <= 1.1 * bound.largest.item() + 1e-9
    assert check_export(net, other, (-1, 1), tolerance=bound.at_most.item() * 1.2, seconds=5).verdict == "passes"
    pruned = prune(net, box=(-1, 1))
    assert same_function(net, pruned.network, (-1, 1)).same
    assert torch.allclose(outputs(canonical(net), points), outputs(net, points))


@pytest.mark.usefixtures("valley")
def test_pieces_and_exact_values_of_a_new_unit(random_net):
    net = made(random_net, (2, 3, 1), 0)
    assert len(enumerate_regions(net, (-1, 1))) >= 3
    line = Network((torch.ones(1, 1, 1).double(), torch.ones(1, 1, 1).double()), activation="valley")
    assert exact_outputs(line, torch.tensor([-2.0])) == [Fraction(SLOPE) * -2]
    assert exact_outputs(line, torch.tensor([2.0])) == [Fraction(2)]


@pytest.mark.usefixtures("valley")
def test_a_new_unit_has_sparse_layers_too(random_net):
    net = made(random_net, (2, 4, 3, 1), 5)
    points = torch.rand(50, 2, dtype=torch.float64) * 2 - 1
    sparse = SparseNetwork.of_network(net)
    assert torch.allclose(sparse.at(points), outputs(net, points)[0])
    assert difference_bound(sparse, net, (-1, 1), 1e-6, seconds=5).verdict == "holds"
