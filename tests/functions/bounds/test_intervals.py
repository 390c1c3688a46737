"""Intervals of a difference, held against exact arithmetic."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutelage.functions.bounds.intervals import Ranges, around, backward_ranges, interval_bounds
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


@given(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300))
def test_a_centre_and_its_radius_cover_the_interval(one, other):
    low, high = min(one, other), max(one, other)
    centre, radius = around(np.array([low]), np.array([high]))
    assert Fraction(centre[0]) - Fraction(radius[0]) <= Fraction(low)
    assert Fraction(centre[0]) + Fraction(radius[0]) >= Fraction(high)
    assert (radius[0] == 0) == (low == high)


@pytest.mark.parametrize(
    ("f", "d", "slopes", "straight"),
    [
        ((0.0, 1.0), (0.0, 0.0), (0.0, 0.0), True),  # both above the kink; g is known to be
        ((0.5, 1.0), (-0.1, 0.1), (0.0, 0.3), True),
        ((-1.0, -0.1), (0.0, 0.0), (0.3, 0.3), True),  # both below it, with one slope
        ((-1.0, -0.5), (0.0, 0.0), (0.0, 0.3), False),  # below it, with two slopes
        ((-1.0, 1.0), (0.0, 0.0), (0.0, 0.0), False),  # across it
        ((-1.0, 1.0), (0.0, 0.0), (1.0, 1.0), True),  # no kink
        ((0.5, 1.0), (0.8, 0.9), (0.0, 0.0), False),  # g may be below it
    ],
)
def test_units_on_one_side_of_their_kink_in_both_networks(f, d, slopes, straight):
    ends = [tuple(np.array([value]) for value in pair) for pair in (f, d)]
    layer = SimpleNamespace(left_f=np.array([slopes[0]]), left_g=np.array([slopes[1]]))
    assert Ranges(*ends, np.array([f[0] == 0])).straight(layer).tolist() == [straight]
