"""Bounds on differences hold where they are tried, and the search finds planted differences."""

import itertools

import torch
from hypothesis import given
from hypothesis import strategies as st

from tutelage.functions.bounds.ranges import bounds
from tutelage.functions.bounds.sensitivity import gains, reach, rounding
from tutelage.functions.domain import box_for
from tutelage.networks import Network, forward, outputs


def random_network(seed, widths=(3, 6, 5, 2), members=2):
    draw = torch.Generator().manual_seed(seed)
    pairs = list(itertools.pairwise(widths))
    return Network(
        tuple(torch.randn(members, a, b, generator=draw, dtype=torch.float64) for a, b in pairs),
        tuple(torch.randn(members, b, generator=draw, dtype=torch.float64) for _, b in pairs),
    )


@given(seed=st.integers(0, 10_000), size=st.floats(0.5, 20))
def test_reach_is_not_passed(seed, size):
    network = random_network(seed)
    box = box_for(network, (-size, size))
    activity = forward(network, box.sample(500))
    everywhere = box_for(network, None)
    boxed, grown = reach(network, box, bounds(network, box)), reach(network, everywhere, ())
    for sizes, factor in ((boxed, 1.0), (grown, max(1, size))):
        for layer, most in enumerate(sizes):
            assert (activity.features[layer].abs().amax(1) <= factor * most + 1e-12).all()


@given(seed=st.integers(0, 10_000), moved=st.floats(1e-9, 1e-2))
def test_changed_weights_move_outputs_by_no_more_than_is_said(seed, moved):
    before, other = random_network(seed), random_network(seed + 1)
    there = iter(other.parameters)
    after = before.map(lambda a: a + moved * next(there))
    box = box_for(before, (-2, 2))
    said = rounding(before, after, reach(after, box, bounds(after, box)))
    x = box.sample(1000)
    assert ((outputs(before, x) - outputs(after, x)).abs().amax(1) <= said).all()


def test_gains_of_two_layers_are_the_fan_out():
    network = random_network(0, (3, 4, 2))
    first, last = gains(network)
    assert torch.equal(first, network.weights[1].abs())
    assert torch.equal(last[0], torch.eye(2, dtype=torch.float64))
