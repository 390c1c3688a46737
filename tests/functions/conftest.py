"""Random networks, their pre-activations written once more, and regions found by brute force."""

import itertools

import numpy as np
import pytest
import torch

from tutelage.networks import Network
from tutelage.networks.activations import slope_of


@pytest.fixture(autouse=True)
def strict_where(monkeypatch):
    """torch.where of two Python numbers makes float32: an error in the tests where a number would be rounded by it."""
    where = torch.where

    def strict(condition, *branches):
        if len(branches) == 2 and not any(isinstance(b, torch.Tensor) for b in branches):
            assert all(float(np.float32(b)) == b for b in branches), f"torch.where of {branches} rounds to float32"
        return where(condition, *branches)

    monkeypatch.setattr(torch, "where", strict)


def make_network(widths, seed=0, bias=0.3, activation="relu", members=1, slope=0.25, dtype=torch.float64) -> Network:
    """Weights of variance 1/fan_in and biases of the given size; 0 is a network without biases."""
    draw = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=draw, dtype=torch.float64).to(dtype)

    pairs = list(itertools.pairwise(widths))
    weights = tuple(normal(members, i, o) / i**0.5 for i, o in pairs)
    biases = tuple(bias * normal(members, o) for _, o in pairs) if bias else None
    return Network(weights, biases, activation, slope_of(activation, slope))


def make_whole_network(widths, seed=0, bias=True, activation="relu") -> Network:
    """Weights and biases from -2 .. 2: boundaries coincide, are parallel, meet in one point, pass through corners."""
    draw = torch.Generator().manual_seed(seed)

    def whole(*shape):
        return torch.randint(-2, 3, shape, generator=draw).double()

    pairs = list(itertools.pairwise(widths))
    biases = tuple(whole(1, o) for _, o in pairs) if bias else None
    return Network(tuple(whole(1, i, o) for i, o in pairs), biases, activation, slope_of(activation, 0.25))


def hidden(network: Network, points):
    """Pre-activations of all hidden units of one network: [N, d] -> [N, K]."""
    sigma = {
        "relu": torch.relu,
        "abs": torch.abs,
        "leaky": lambda u: torch.nn.functional.leaky_relu(u, network.slope),
    }[network.activation]
    f, kept = points, []
    for layer in range(network.depth - 1):
        u = f @ network.weights[layer][0]
        if network.biases is not None:
            u = u + network.biases[layer][0]
        kept.append(u)
        f = sigma(u)
    return torch.cat(kept, 1) if kept else points.new_zeros(len(points), 0)


@pytest.fixture(scope="session")
def random_net():
    return make_network


@pytest.fixture(scope="session")
def whole_net():
    return make_whole_network


@pytest.fixture(scope="session")
def pre_activations():
    return hidden
