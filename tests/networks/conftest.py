"""Random networks, and the same functions written once more with torch's own operations."""

import itertools

import pytest
import torch

from tutelage.networks import Network

SIGMA = {
    "relu": lambda u, slope: torch.relu(u),
    "leaky": torch.nn.functional.leaky_relu,
    "abs": lambda u, slope: torch.abs(u),
    "linear": lambda u, slope: u,
}


def make_network(widths, members=2, seed=0, bias=True, activation="relu", slope=0.1, dtype=torch.float64) -> Network:
    """Weights of variance 1/fan_in, so that every layer is of order one."""
    draw = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=draw, dtype=torch.float64).to(dtype)

    pairs = list(itertools.pairwise(widths))
    weights = tuple(normal(members, i, o) / i**0.5 for i, o in pairs)
    biases = tuple(normal(members, o) for _, o in pairs) if bias else None
    return Network(weights, biases, activation, slope)


def make_points(members, count, dimension, seed=0, dtype=torch.float64):
    return torch.randn(members, count, dimension, generator=torch.Generator().manual_seed(seed)).to(dtype)


def pre_activations(network, points):
    """u_1 .. u_L [S, N, n_l] by matrix products and torch's activations."""
    f, kept = points, []
    for layer, w in enumerate(network.weights):
        u = f @ w
        if network.biases is not None:
            u = u + network.biases[layer][:, None]
        kept.append(u)
        f = SIGMA[network.activation](u, network.slope)
    return kept


@pytest.fixture(scope="session")
def random_network():
    return make_network


@pytest.fixture(scope="session")
def random_points():
    return make_points


@pytest.fixture(scope="session")
def by_hand():
    return pre_activations


@pytest.fixture
def tolerance(dtype):
    """Sums of a few dozen terms of order one, five layers deep: a hundred roundings at most."""
    return {"rtol": 0, "atol": 100 * torch.finfo(dtype).eps}
