"""Intervals of a difference, held against exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

from tutelage.functions.bounds.intervals import backward_ranges, interval_bounds
from tutelage.functions.layers.pairs import joined, layers_of
from tutelage.functions.rounding import exact_outputs


@pytest.mark.parametrize("start", range(0, 200, 50))
def test_no_exact_difference_exceeds_its_interval(small, start):
    for seed in range(start, start + 50):
        first, second = small.pairs(seed)
        rng = np.random.default_rng(1000 + seed)
        low, high = small.box(rng, first.inputs)
        joint = joined(first, second)
        plain = interval_bounds(layers_of(joint), low, high)
        ranges = backward_ranges(layers_of(joint), low, high)
        tight = plain if ranges is None else interval_bounds(layers_of(joint), low, high, ranges)
        assert (tight <= plain * (1 + 1e-9) + 1e-290).all()
        for x in small.points(rng, low, high, 6):
            a, b = exact_outputs(first, x), exact_outputs(second, x)
            assert all(abs(p - q) <= Fraction(s) for p, q, s in zip(a, b, tight, strict=True)), seed
