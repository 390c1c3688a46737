"""The search for the largest difference of stacks finds what is there."""

import itertools
from dataclasses import replace

import torch

from tutelage.functions.domain import box_for
from tutelage.functions.search.stacks import largest_deviation
from tutelage.networks import Network


def random_network(seed, widths=(3, 6, 5, 2), members=2):
    draw = torch.Generator().manual_seed(seed)
    pairs = list(itertools.pairwise(widths))
    return Network(
        tuple(torch.randn(members, a, b, generator=draw, dtype=torch.float64) for a, b in pairs),
        tuple(torch.randn(members, b, generator=draw, dtype=torch.float64) for _, b in pairs),
    )


def test_the_search_climbs_to_a_corner():
    """The two differ by relu(x1 + x2 + x3 - 2.5), which is 0 but near one corner of the unit box."""
    network = random_network(1, (3, 4, 1), members=1)
    w = torch.cat([network.weights[0], torch.ones(1, 3, 1, dtype=torch.float64)], dim=2)
    v = torch.cat([network.weights[1], torch.ones(1, 1, 1, dtype=torch.float64)], dim=1)
    b = torch.cat([network.biases[0], torch.full((1, 1), -2.5, dtype=torch.float64)], dim=1)
    other = replace(network, weights=(w, v), biases=(b, network.biases[1]))
    found = largest_deviation(network, other, box_for(network, (0, 1)))
    assert abs(found.value.item() - 0.5) < 1e-9
    assert torch.allclose(found.at, torch.ones(1, 3, dtype=torch.float64))


def test_given_points_are_tried_too():
    network = random_network(2, (2, 3, 1), members=1)
    other = replace(network, biases=(network.biases[0], network.biases[1] + 0.25))
    found = largest_deviation(network, other, box_for(network, (0, 0)), torch.full((1, 1, 2), 7.0, dtype=torch.float64))
    assert abs(found.value.item() - 0.25) < 1e-12


def test_points_may_be_shared_by_all_members():
    network = Network((torch.ones(2, 2, 1, dtype=torch.float64),))
    found = largest_deviation(network, network.map(torch.zeros_like), box_for(network, (0, 1)), torch.full((1, 2), 7.0))
    assert found.value.tolist() == [14, 14]
