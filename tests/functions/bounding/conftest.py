"""Random small pairs of networks, and boxes and points for them."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from tutelage.networks import Network

KINDS = ("relu", "leaky", "abs", "linear")


def network(rng: np.random.Generator, widths: tuple[int, ...], activation: str, scale: float = 1.0) -> Network:
    """Random weights; layers of alternating size where the scale is not 1, so that sums cancel and round."""
    weights, biases = [], []
    for layer, (m, n) in enumerate(itertools.pairwise(widths)):
        size = scale if layer % 2 else 1 / scale
        weights.append(torch.from_numpy(size * rng.normal(size=(1, m, n)) / m**0.5))
        biases.append(torch.from_numpy(size * rng.normal(size=(1, n)) / 2))
    return Network(tuple(weights), tuple(biases), activation)


def near(net: Network, rng: np.random.Generator, share: float) -> Network:
    return net.map(lambda a: a * torch.from_numpy(1 + share * rng.normal(size=a.shape)))


def pairs(seed: int) -> tuple[Network, Network]:
    """A pair of small networks: nearly equal, or of other widths, depths and activations, or badly scaled."""
    rng = np.random.default_rng(seed)
    widths = (int(rng.integers(1, 4)), *rng.integers(1, 7, size=rng.integers(1, 4)).tolist(), int(rng.integers(1, 4)))
    kind, scale = KINDS[seed % 4], (1.0, 1e-6, 1e6)[seed % 3]
    first = network(rng, widths, kind, scale)
    if seed % 5:
        return first, near(first, rng, 10.0 ** -rng.integers(0, 17))
    other = (widths[0], *rng.integers(1, 6, size=rng.integers(1, 4)).tolist(), widths[-1])
    return first, network(rng, other, KINDS[(seed // 4) % 4])


def box(rng: np.random.Generator, d: int) -> tuple[np.ndarray, np.ndarray]:
    low = rng.normal(size=d)
    return low, low + 10.0 ** rng.integers(-6, 2) * rng.random(d) * (rng.random(d) < 0.8)


def points(rng: np.random.Generator, low: np.ndarray, high: np.ndarray, count: int) -> torch.Tensor:
    unit = np.concatenate([rng.random((count, len(low))), rng.integers(0, 2, (count, len(low)))])
    return torch.from_numpy(np.clip(low + unit * (high - low), low, high))


@pytest.fixture
def small() -> SimpleNamespace:
    """The functions of this file."""
    return SimpleNamespace(network=network, near=near, pairs=pairs, box=box, points=points)
