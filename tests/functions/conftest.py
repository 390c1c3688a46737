"""Random networks and pairs of them, their pre-activations written once more, and regions found by brute force."""

import itertools
from fractions import Fraction
from types import SimpleNamespace

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


def image_by_hand(low: Fraction, high: Fraction, left: Fraction) -> tuple[Fraction, Fraction]:
    """The range of a unit on an interval: it is monotone on both sides of 0."""
    values = [u if u >= 0 else left * u for u in (low, high, *([Fraction(0)] if low < 0 < high else []))]
    return min(values), max(values)


def difference_image_by_hand(f: tuple, d: tuple, left_f: Fraction, left_g: Fraction) -> tuple[Fraction, Fraction]:
    """What the ranges of f and of f - d say about the difference, and what z d says for units of one kind."""
    g = f[0] - d[1], f[1] - d[0]
    (low_f, high_f), (low_g, high_g) = image_by_hand(*f, left_f), image_by_hand(*g, left_g)
    ends = [(low_f - high_g, high_f - low_g)]
    if left_f == left_g:
        products = [z * e for z in (left_f, 1) for e in d]
        ends.append((min(products), max(products)))
    if f[0] >= 0 and g[0] >= 0:
        ends.append(d)
    return max(low for low, _ in ends), min(high for _, high in ends)


@pytest.fixture
def small() -> SimpleNamespace:
    """The functions of this file."""
    return SimpleNamespace(
        network=network, near=near, pairs=pairs, box=box, points=points, image=image_by_hand,
        difference_image=difference_image_by_hand,
    )  # fmt: skip
