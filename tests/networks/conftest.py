"""Random points, and the functions of networks written once more with torch's own operations."""

import pytest
import torch

SIGMA = {
    "relu": lambda u, slope: torch.relu(u),
    "leaky": torch.nn.functional.leaky_relu,
    "abs": lambda u, slope: torch.abs(u),
    "linear": lambda u, slope: u,
}


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
def random_points():
    return make_points


@pytest.fixture(scope="session")
def by_hand():
    return pre_activations


@pytest.fixture
def tolerance(dtype):
    """Sums of a few dozen terms of order one, five layers deep: a hundred roundings at most."""
    return {"rtol": 0, "atol": 100 * torch.finfo(dtype).eps}
