"""Branching on what units hand on: above every difference, and down to the largest over all choices of shares."""

from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
import torch

from tutelage.deadline import NEVER, Deadline
from tutelage.functions.bounds.branch_shares import bounded_by_shares
from tutelage.functions.bounds.carried import carried, put_in
from tutelage.functions.bounds.intervals import backward_ranges
from tutelage.functions.layers.pairs import joined, layers_of
from tutelage.functions.rounding import exact_outputs
from tutelage.networks import Network


def nearly_equal(seed, widths, activation="relu", slope=None, by=1e-3):
    """A network, and the same with other biases in its first layer."""
    rng = np.random.default_rng(seed)
    weights = tuple(torch.from_numpy(rng.normal(size=(1, n, m)) / np.sqrt(n)) for n, m in pairwise(widths))
    biases = tuple(torch.from_numpy(0.1 * rng.normal(size=(1, m))) for m in widths[1:])
    moved = (biases[0] + torch.from_numpy(by * rng.normal(size=biases[0].shape)), *biases[1:])
    options = {"activation": activation} | ({} if slope is None else {"slope": slope})
    return Network(weights, biases, **options), Network(weights, moved, **options)


def bounds_of(first, second, radius, limit, deadline=NEVER):
    """By lines alone, and by branching; what was put in."""
    layers = layers_of(joined(first, second))
    low, high = np.full(first.inputs, -radius), np.full(first.inputs, radius)
    ranges = backward_ranges(layers, low, high)
    put = put_in(layers, low, high, ranges, NEVER, any_share=True)
    plain = carried(layers, low, high, ranges)
    return plain, bounded_by_shares(put, plain, np.full(first.outputs, limit), deadline), put


@pytest.mark.parametrize(("activation", "slope"), [("relu", None), ("leaky", 0.1), ("abs", None)])
def test_no_difference_exceeds_the_bound(activation, slope):
    for seed in range(20):
        first, second = nearly_equal(seed, (3, 6, 5, 2), activation, slope, by=10.0 ** -(seed % 6))
        plain, bounds, _ = bounds_of(first, second, 1.0, 0.0, Deadline(2.0))
        assert (bounds <= plain).all()
        draw = np.random.default_rng(seed)
        for x in torch.from_numpy(draw.uniform(-1, 1, size=(30, 3))):
            pair = zip(exact_outputs(first, x), exact_outputs(second, x), strict=True)
            assert all(abs(p - q) <= Fraction(most) for (p, q), most in zip(pair, bounds, strict=True)), seed


def test_it_ends_at_the_largest_difference_over_all_shares():
    """Where only biases differ, e is known, and the largest difference over the shares is found by trying them all."""
    gained = []
    for seed in range(5):
        first, second = nearly_equal(seed, (2, 4, 4, 1))
        plain, bounds, put = bounds_of(first, second, 1.0, 0.0)
        straight = [lines.straight for lines in put.lines]
        bends = [(n, i) for n, flags in enumerate(straight) for i in np.flatnonzero(~flags)]
        most = 0.0
        for choice in product((0.0, 1.0), repeat=len(bends)):
            shares = [np.where(flags, lines.above[0], 0.0) for flags, lines in zip(straight, put.lines, strict=True)]
            for (layer, unit), z in zip(bends, choice, strict=True):
                shares[layer][unit] = z
            d = put.moved[0][0]
            for layer, z in enumerate(shares):
                d = put.layers[layer + 1].wg @ (z * d) + put.moved[layer + 1][0]
            most = max(most, abs(d.item()))
        np.testing.assert_allclose(bounds, most, rtol=1e-5)
        gained.append(1 - bounds.item() / plain.item())
    assert max(gained) > 0.02


def test_an_output_within_its_limit_is_left_alone_and_a_deadline_ends_it():
    first, second = nearly_equal(0, (3, 8, 8, 2))
    plain, bounds, _ = bounds_of(first, second, 1.0, 1e9)
    assert (bounds == plain).all()
    _, bounds, _ = bounds_of(first, second, 1.0, 0.0, Deadline(0.0))
    assert np.isfinite(bounds).all()
