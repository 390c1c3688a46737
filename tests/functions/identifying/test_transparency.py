"""Transparency by regions, bounds and samples agrees with brute force, and its witnesses are what they say."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tutelage.errors import TutelageError
from tutelage.functions.domain import polytope
from tutelage.functions.identifying.generality import generality
from tutelage.functions.identifying.transparency import sample, transparency
from tutelage.functions.pieces.regions import enumerate_regions
from tutelage.networks import Network


def off(network, pre_activations, points):
    """Which hidden layers have no active unit at each point: bool [N, L - 1]."""
    parts = pre_activations(network, points).split(network.widths[1:-1], dim=1)
    return torch.stack([(part < 0).all(1) for part in parts], 1)


@settings(max_examples=40)
@given(st.sampled_from([(2, 2, 1), (2, 3, 2, 1), (3, 3, 3, 1), (2, 3, 3, 3, 1)]), st.integers(0, 10**6))
def test_regions_find_every_place_that_samples_find(random_net, pre_activations, widths, seed):
    network = random_net(widths, seed, bias=0.6)
    found = transparency(network, (-1, 1))
    seen = off(network, pre_activations, 2 * torch.rand(2000, widths[0], dtype=torch.float64) - 1).any(0)
    assert {l + 1 for l in seen.nonzero().flatten().tolist()} <= set(found.layer.tolist())
    at = off(network, pre_activations, found.point)
    assert at[torch.arange(len(found.layer)), found.layer - 1].all()
    assert found.holds is (len(found.layer) == 0)
    assert found.condition().holds is found.holds


@settings(max_examples=20)
@given(st.integers(0, 10**6))
def test_a_general_network_is_transparent_where_its_gradient_is_not_zero(random_net, seed):
    """Phuong 2021, proof of Theorem A.1."""
    network = random_net((2, 3, 2, 2, 1), seed, bias=0.4)
    assert all(condition.holds for condition in generality(network, (-1, 1)))
    regions = enumerate_regions(network, (-1, 1))
    closed = torch.stack([(part < 0).all(1) for part in regions.signs.split((3, 2, 2), dim=1)]).any(0)
    assert ((regions.maps()[0].norm(dim=1)[:, 0] < 1e-12) == closed).all()


def test_only_the_layers_asked_for_count(random_net):
    network = random_net((2, 2, 2, 1))
    network.biases[1][0] = -100
    assert transparency(network, (-1, 1), upto=0).holds is True
    assert set(transparency(network, (-1, 1)).layer.tolist()) >= {2}
    with pytest.raises(TutelageError, match="hidden layers 1"):
        transparency(network, (-1, 1), upto=3)


def test_beyond_the_budget_bounds_prove_and_samples_refute(random_net):
    wide = random_net((4, 12, 12, 1), bias=0.3)
    assert transparency(wide, (-1, 1), budget=20).how == "samples"
    wide.biases[0][0, 0], wide.biases[1][0, 0] = 50, 500
    assert (transparency(wide, (-1, 1), budget=20).how, transparency(wide, (-1, 1), budget=20).holds) == (
        "bounds",
        True,
    )
    wide.biases[1][0] = -500
    closed = transparency(wide, (-1, 1), budget=20)
    assert closed.holds is False
    assert closed.layer[0] == 2
    corners = Network(random_net((10, 10, 1), bias=0).weights, (torch.ones(1, 10).double(), torch.zeros(1, 1).double()))
    open_ = transparency(corners, (-1, 1), budget=20)
    assert open_.holds is None
    assert open_.condition().holds is None


def test_samples_lie_in_the_domain():
    triangle = polytope(torch.tensor([[-1.0, 0.0], [0.0, -1.0], [1.0, 1.0]]), torch.tensor([0.0, 0.0, 1.0]))
    points = sample(triangle, 100)
    assert points.shape == (100, 2)
    assert (points @ triangle.normals.T <= triangle.offsets + 1e-12).all()
