"""Differences substituted backwards, held against exact arithmetic and against intervals."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import torch

from tutelage.deadline import Deadline, OutOfTime
from tutelage.functions.bounds.carried import carried
from tutelage.functions.bounds.intervals import backward_ranges, interval_bounds
from tutelage.functions.layers.pairs import joined, layers_of
from tutelage.functions.rounding import exact_outputs
from tutelage.networks import Network


@pytest.mark.parametrize("start", range(0, 200, 50))
def test_no_exact_difference_exceeds_its_bound(small, start):
    for seed in range(start, start + 50):
        first, second = small.pairs(seed)
        rng = np.random.default_rng(1000 + seed)
        low, high = small.box(rng, first.inputs)
        layers = layers_of(joined(first, second))
        ranges = backward_ranges(layers, low, high)
        if ranges is None:
            continue
        bounds = np.minimum(carried(layers, low, high, ranges), carried(layers, low, high))
        for x in small.points(rng, low, high, 6):
            a, b = exact_outputs(first, x), exact_outputs(second, x)
            assert all(abs(p - q) <= Fraction(s) for p, q, s in zip(a, b, bounds, strict=True) if s < np.inf), seed


def with_other_biases(rng, widths=(12, 16, 16, 16, 2), by=1e-9):
    """A network, and the same with the biases of its first layer moved by a little."""
    sizes = list(pairwise(widths))
    weights = tuple(torch.from_numpy(rng.normal(size=(1, n, m)) / np.sqrt(n)) for n, m in sizes)
    biases = tuple(torch.from_numpy(rng.normal(size=(1, m))) for _, m in sizes)
    moved = (biases[0] + torch.from_numpy(by * rng.normal(size=biases[0].shape)), *biases[1:])
    return Network(weights, biases), Network(weights, moved)


def test_moved_biases_cancel_where_intervals_add_them_up():
    for seed in range(5):
        first, second = with_other_biases(np.random.default_rng(seed))
        layers, low, high = layers_of(joined(first, second)), np.full(12, -0.05), np.full(12, 0.05)
        ranges = backward_ranges(layers, low, high)
        assert ranges is not None
        bounds, plain = carried(layers, low, high, ranges), interval_bounds(layers, low, high, ranges)
        assert (bounds <= plain * (1 + 1e-9)).all()
        assert bounds.sum() < plain.sum()


def test_the_bound_is_reached_where_no_unit_bends():
    """On a single input the difference is one number, and the bound is that number but for rounding."""
    first, second = with_other_biases(np.random.default_rng(0), by=1e-6)
    at = np.linspace(-1, 1, 12)
    layers = layers_of(joined(first, second))
    bounds = carried(layers, at, at, backward_ranges(layers, at, at))
    exact = [
        abs(p - q)
        for p, q in zip(*(exact_outputs(n, torch.from_numpy(at)) for n in (first, second)), strict=True)
    ]  # fmt: skip
    np.testing.assert_allclose(bounds, [float(v) for v in exact], rtol=1e-6)


def test_rounded_weights_of_the_first_network_are_counted_in_its_ranges():
    """A pre-activation that may be off by its slack may be on the other side of its kink."""
    net = Network((torch.eye(2, dtype=torch.float64)[None], torch.ones(1, 2, 1, dtype=torch.float64)))
    layers = layers_of(joined(net, net))
    layers[0].slack_f[:] = 0.5
    ((low, high),) = backward_ranges(layers, np.ones(2), np.ones(2))
    assert (low <= 0.5).all()
    assert (high >= 1.5).all()


def test_units_of_two_kinds_are_left_to_others():
    relu, line = (
        Network((torch.ones(1, 1, 1), torch.ones(1, 1, 1)), activation=kind) for kind in ("relu", "abs")
    )  # fmt: skip
    layers = layers_of(joined(relu, line))
    ends = np.array([-1.0]), np.array([1.0])
    assert carried(layers, *ends, [(np.array([-1.0]), np.array([1.0]))]) == [np.inf]


def test_a_limit_ends_it():
    first, second = with_other_biases(np.random.default_rng(0))
    layers, low, high = layers_of(joined(first, second)), np.full(12, -0.05), np.full(12, 0.05)
    ranges = backward_ranges(layers, low, high)
    with pytest.raises(OutOfTime):
        carried(layers, low, high, ranges, Deadline(0.0))
