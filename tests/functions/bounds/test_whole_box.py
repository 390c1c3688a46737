"""Bounds of sparse layers against rational arithmetic, at points and on boxes, and against rounded values."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import torch

from tutelage.deadline import Deadline
from tutelage.functions.bounds.whole_box import BoxBounds
from tutelage.functions.layers.sparse import joined
from tutelage.functions.rounding import exact_difference, exact_outputs
from tutelage.networks import Network, SparseNetwork, outputs
from tutelage.networks.activations import slope_of
from tutelage.networks.graphs.axes import times_matrix
from tutelage.networks.graphs.values import bent, quantised, start


def network(draw, widths, activation="relu", scale=1.0):
    weights = [torch.from_numpy(scale * draw.normal(size=(1, a, b)) / a**0.5) for a, b in pairwise(widths)]
    return Network(
        tuple(weights),
        tuple(torch.from_numpy(draw.normal(size=(1, b)) / 2) for b in widths[1:]),
        activation,
        slope_of(activation, 0.1),
    )


def pair(draw, kind):
    """Nearly equal networks, or others of another depth and of other units."""
    activation = ("relu", "leaky", "abs")[int(draw.integers(3))]
    first = network(draw, (3, 6, 5, 4, 2), activation, 10.0 ** int(draw.integers(-3, 4)))
    if kind == "near":
        size = 10.0 ** -int(draw.integers(1, 15))
        return first, first.map(lambda a: a * (1 + size * torch.from_numpy(draw.normal(size=a.shape))))
    return first, network(draw, (3, 4, 7, 2), ("relu", "leaky", "abs")[int(draw.integers(3))])


def bounds(first, second, low, high):
    """Bounds on differences: without and with hidden units bounded backwards; and the box."""
    layers = joined(SparseNetwork.of_network(first), SparseNetwork.of_network(second))
    box = BoxBounds(layers, np.asarray(low, float), np.asarray(high, float))
    box.work(None)
    plain = box.differences()
    box.work(Deadline(None))
    return plain, box.differences(), box


@pytest.mark.parametrize("kind", ["near", "far"])
@pytest.mark.parametrize("seed", range(12))
def test_no_bound_is_below_an_exact_difference(seed, kind):
    draw = np.random.default_rng((seed, kind == "near"))
    first, second = pair(draw, kind)
    low = draw.normal(size=3)
    high = low + draw.choice([0.0, 1e-3, 0.5, 2.0], size=3)
    plain, better, _ = bounds(first, second, low, high)
    unit = np.concatenate([draw.random((20, 3)), draw.integers(0, 2, (20, 3))])
    for x in np.clip(low + unit * (high - low), low, high):
        exact = exact_difference(first, second, torch.from_numpy(x))
        for found in (plain, better):
            assert all(gap <= Fraction(most) for gap, most in zip(exact, found.tolist(), strict=True))
    assert (better <= plain).all()


@pytest.mark.parametrize("seed", range(20))
def test_at_a_point_the_bound_is_the_difference_and_rounding(seed):
    draw = np.random.default_rng((seed, 7))
    first, second = pair(draw, "near")
    x = torch.from_numpy(draw.normal(size=3))
    _, better, _ = bounds(first, second, x.numpy(), x.numpy())
    exact, size = exact_difference(first, second, x), max(1.0, outputs(first, x[None]).abs().max().item())
    for gap, most in zip(exact, better.tolist(), strict=True):
        assert gap <= Fraction(most)
        assert most <= float(gap) * (1 + 1e-9) + 1e-9 * size


@pytest.mark.parametrize("seed", range(6))
def test_leads_hold_for_both_networks(seed):
    draw = np.random.default_rng((seed, 3))
    first, second = pair(draw, "near" if seed % 2 else "far")
    low, high = np.full(3, -0.3), np.full(3, 0.4)
    _, _, box = bounds(first, second, low, high)
    f, g = box.leads(0)
    for x in draw.uniform(low, high, (40, 3)):
        for one, most in ((first, f), (second, g)):
            a, b = exact_outputs(one, torch.from_numpy(x))
            assert b - a <= Fraction(float(most[0]))


def test_backward_bounds_are_narrower_than_intervals():
    draw = np.random.default_rng(0)
    first = network(draw, (8, 30, 30, 30, 4))
    second = first.map(lambda a: a.half().double())
    layers = joined(SparseNetwork.of_network(first), SparseNetwork.of_network(second))
    box = BoxBounds(layers, np.full(8, 0.45), np.full(8, 0.5))
    box.work(None)
    intervals = np.maximum(np.abs(box.ranges[-1].d[0]), np.abs(box.ranges[-1].d[1]))
    box.work(Deadline(None))
    assert (2 * box.differences() < intervals).all()


@pytest.mark.parametrize("seed", range(5))
def test_steps_of_quantised_values_are_within_the_bound(seed):
    draw = np.random.default_rng((seed, 11))
    w, v = draw.normal(size=(3, 6)), draw.normal(size=(6, 2))
    exact = times_matrix(bent(times_matrix(start((3,)), w, None, "w"), 0.0), v, None, "v")
    step, ends = np.full(6, 0.1), np.full(6, 1.5)  # values above 1.5 are cut off
    held = quantised(bent(times_matrix(start((3,)), w, None, "w"), 0.0), step, 0 * ends, ends)
    rounded = times_matrix(held, v, None, "v")
    first, second = SparseNetwork.of(exact, torch.float64), SparseNetwork.of(rounded, torch.float64)
    low, high = np.full(3, -0.2), np.full(3, 0.7)
    box = BoxBounds(joined(first, second), low, high)
    box.work(Deadline(None))
    x = torch.from_numpy(draw.uniform(low, high, (2000, 3)))
    gap = (first.at(x) - second.at(x)).abs().amax(0).numpy()
    assert (gap <= box.differences()).all()
    assert (gap > 0.02).all()
