"""Extremes over a domain are reached and never exceeded."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tutelage.errors import TutelageError
from tutelage.functions.pieces.extremes import extreme_values
from tutelage.functions.pieces.regions import enumerate_regions
from tutelage.networks import outputs

ACTIVATIONS = ["relu", "leaky", "abs", "linear"]


def points(members, dimension, count=200):
    draw = torch.Generator().manual_seed(9)
    return 2 * torch.rand(members, count, dimension, generator=draw, dtype=torch.float64) - 1


@given(st.integers(0, 10**6), st.integers(1, 3), st.sampled_from(["relu", "leaky", "abs"]))
def test_extremes_are_reached_and_never_exceeded(random_net, seed, dimension, activation):
    network = random_net((dimension, 6, 4, 2), seed, activation=activation)
    found = extreme_values(enumerate_regions(network, (-1, 1)))
    values = outputs(network, points(1, dimension, 4000))[0]
    assert (values <= found.high + 1e-12).all()
    assert (values >= found.low - 1e-12).all()
    assert torch.allclose(outputs(network, found.at_high)[0].diagonal(), found.high)
    assert torch.allclose(outputs(network, found.at_low)[0].diagonal(), found.low)


def test_extremes_of_a_functional_are_those_of_a_network_that_computes_it(random_net):
    network = random_net((2, 6, 3))
    functional = torch.tensor([[1.0, 0.5], [-1.0, 0.0], [0.0, 2.0]], dtype=torch.float64)
    composed = replace(
        network,
        weights=(network.weights[0], network.weights[1] @ functional),
        biases=(network.biases[0], network.biases[1] @ functional),
    )
    one = extreme_values(enumerate_regions(network, (-1, 1)), functional)
    other = extreme_values(enumerate_regions(composed, (-1, 1)))
    assert torch.allclose(one.high, other.high)
    assert torch.allclose(one.low, other.low)
    with pytest.raises(TutelageError, match=r"shape \[3, k\]"):
        extreme_values(enumerate_regions(network, (-1, 1)), functional.T)
