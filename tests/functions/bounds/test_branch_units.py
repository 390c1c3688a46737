"""Backward bounds and branch and bound on units, held against exact arithmetic and all regions."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
import torch

from tutelage.deadline import Deadline
from tutelage.functions.bounds.backward import hidden_ranges, improved, layers_of, whole
from tutelage.functions.bounds.branch_units import branch
from tutelage.functions.bounds.pieces import supremum
from tutelage.functions.domain import box
from tutelage.functions.layers.joint import apart
from tutelage.functions.rounding import exact_outputs
from tutelage.networks import Network


def net(rng, widths, activation="relu", scale=1.0):
    pairs = list(itertools.pairwise(widths))
    sizes = [scale if layer % 2 else 1 / scale for layer in range(len(pairs))]
    weights = tuple(
        torch.from_numpy(s * rng.normal(size=(1, m, n)) / m**0.5) for s, (m, n) in zip(sizes, pairs, strict=True)
    )
    biases = tuple(torch.from_numpy(s * rng.normal(size=(1, n)) / 2) for s, (_, n) in zip(sizes, pairs, strict=True))
    return Network(weights, biases, activation)


@pytest.mark.parametrize("activation", ["relu", "leaky", "abs", "linear"])
def test_no_exact_output_exceeds_its_bound_whatever_the_slopes(activation):
    for seed in range(30):
        rng = np.random.default_rng(seed)
        widths = (int(rng.integers(1, 4)), *rng.integers(1, 7, size=rng.integers(1, 4)).tolist(), 2)
        network = net(rng, widths, activation, (1.0, 1e-6, 1e6)[seed % 3])
        low = torch.from_numpy(rng.normal(size=widths[0]))
        high = low + 10.0 ** rng.integers(-6, 2) * torch.from_numpy(rng.random(widths[0]))
        layers = layers_of(network, low, high)
        lows, highs, sizes = hidden_ranges(layers, steps=3)
        objectives = torch.from_numpy(rng.normal(size=(3, 2)))
        _, bound, _ = improved(layers, whole(layers, objectives, lows, highs), sizes, steps=5)
        for _ in range(6):
            x = torch.minimum(low + torch.from_numpy(rng.random(widths[0])) * (high - low), high)
            y = exact_outputs(network, x)
            for c, most in zip(objectives.tolist(), bound.tolist(), strict=True):
                assert sum(Fraction(a) * b for a, b in zip(c, y, strict=True)) <= Fraction(most), seed


@pytest.mark.parametrize("seed", range(4))
def test_branching_comes_to_the_exact_supremum(seed):
    rng = np.random.default_rng(seed)
    first, second = net(rng, (2, 6, 5, 1)), net(rng, (2, 5, 1))
    exact = supremum(first, second, box(-1, 1, dimension=2)).value
    both, one = apart(first, second), torch.ones(1, 1, dtype=torch.float64)
    ends = -torch.ones(2, dtype=torch.float64), torch.ones(2, dtype=torch.float64)
    objectives = torch.cat([one, -one])
    above = branch(both, *ends, objectives, torch.full((2,), 1.02 * exact, dtype=torch.float64), Deadline(20))
    assert above.proved
    assert above.bounds.max() >= exact * (1 - 1e-9)
    below = branch(both, *ends, objectives, torch.full((2,), 0.98 * exact, dtype=torch.float64), Deadline(1))
    assert not below.proved
    assert below.bounds.max() >= exact * (1 - 1e-9)
