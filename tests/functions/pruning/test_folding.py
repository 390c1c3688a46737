"""Affine units fold into as many as their joint contribution has rank, and stay on."""

import pytest
import torch

from tutelage.functions.domain import box_for
from tutelage.functions.pruning.folding import folded
from tutelage.functions.pruning.redundancy import Work
from tutelage.networks import Network, outputs
from tutelage.networks.activations import slope_of


def work(network, box=None, points=None, on_samples=False):
    return Work(network, box_for(network, box), points, 0.0, 1e-14, on_samples)


def always_on(activation="relu", outputs=1, units=6, sign=1.0):
    draw = torch.Generator().manual_seed(units)
    w = torch.randn(1, 3, units, generator=draw, dtype=torch.float64)
    v = torch.randn(1, units, outputs, generator=draw, dtype=torch.float64)
    return Network(
        (w, v),
        (sign * (w.abs().sum(1) + 0.1), torch.zeros(1, outputs, dtype=torch.float64)),
        activation,
        slope_of(activation, 0.1),
    )


@pytest.mark.parametrize("activation", ["relu", "leaky", "abs"])
@pytest.mark.parametrize("width", [1, 2, 5])
def test_the_rank_decides(activation, width):
    """Six units on over the unit box, three inputs, so many outputs: the rank is min(3, outputs)."""
    net = always_on(activation, width)
    w = work(net, (-1, 1))
    assert folded(w, 1)
    assert w.alive[0].sum() == min(3, width)
    x = w.box.sample(200)
    assert torch.allclose(outputs(w.network, x), outputs(net, x), atol=1e-12)
    assert (w.view.known[0][0][w.alive[0]] >= 0).all()
    assert not folded(w, 1)
    assert {s.valid for s in w.steps} == {"the box"}


@pytest.mark.parametrize("activation", ["leaky", "abs"])
def test_units_below_their_kink_are_affine_too(activation):
    net = always_on(activation, 2, sign=-1.0)
    w = work(net, (-1, 1))
    assert folded(w, 1)
    assert w.alive[0].sum() == 2
    x = w.box.sample(200)
    assert torch.allclose(outputs(w.network, x), outputs(net, x), atol=1e-12)


def test_over_all_inputs_the_units_that_span_are_kept():
    """Second-layer units with weights of one sign: the third is the sum of the others."""
    draw = torch.Generator().manual_seed(0)
    first = torch.randn(1, 2, 3, generator=draw, dtype=torch.float64)
    two = torch.rand(1, 3, 2, generator=draw, dtype=torch.float64)
    second = torch.cat([two, two.sum(2, keepdim=True)], dim=2)
    top = torch.randn(1, 3, 4, generator=draw, dtype=torch.float64)
    zero, ones = torch.zeros(1, 3, dtype=torch.float64), torch.ones(1, 3, dtype=torch.float64)
    net = Network((first, second, top), (zero, ones, torch.zeros(1, 4, dtype=torch.float64)))
    w = work(net)
    assert folded(w, 2)
    assert w.alive[1].sum() == 2
    assert {s.valid for s in w.steps} == {"all inputs"}
    x = 100 * torch.randn(1, 200, 2, generator=draw, dtype=torch.float64)
    assert torch.allclose(outputs(w.network, x), outputs(net, x), rtol=1e-10)


def test_a_linear_network_is_one_matrix():
    net = always_on("linear", 2)
    w = work(net)
    assert folded(w, 1)
    assert w.alive[0].sum() == 2
    x = 100 * torch.randn(1, 50, 3, dtype=torch.float64)
    assert torch.allclose(outputs(w.network, x), outputs(net, x), rtol=1e-10)
    assert {s.valid for s in w.steps} == {"all inputs"}


def test_seen_on_points_holds_on_points():
    net = always_on(outputs=1)
    points = torch.rand(1, 30, 3, dtype=torch.float64) - 0.5
    assert not folded(work(net, points=points), 1)
    w = work(net, points=points, on_samples=True)
    assert folded(w, 1)
    assert {s.valid for s in w.steps} == {"the points"}
    assert {s.bound for s in w.steps} == {None}
    assert torch.allclose(outputs(w.network, points), outputs(net, points), atol=1e-12)
