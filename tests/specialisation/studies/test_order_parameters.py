"""Statistics of gaps made by hand, and a look at small dimensions."""

import numpy as np
import torch

from tutelage.population import overlaps
from tutelage.specialisation.studies.order_parameters import (
    START,
    OverlapCourse,
    _pair,
    common_share,
    exponents,
    squares,
)


def test_the_exponent_of_a_power_is_found():
    d = np.array([10, 100, 1000])
    assert np.allclose(exponents(d, np.stack([d**-0.5, 3.0 / d], axis=1)), [-0.5, -1])


def test_a_common_gap_is_seen_as_bias_and_noise_is_not():
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((50, 40, 7))
    assert abs(common_share(noise).mean()) < 0.05
    assert np.isclose(common_share(np.ones((50, 5, 7))), 1).all()
    assert common_share(noise).shape == (20,)
    half = common_share(noise + 1).mean()
    assert abs(half - 0.5) < 0.05  # as much bias as noise


def test_gaps_are_root_mean_squares():
    limit, simulated = np.zeros((3, 7)), np.zeros((2, 3, 4, 7))
    simulated[1] = 2.0
    seen = OverlapCourse("erf", np.arange(3.0), (10, 20), limit, limit + 1, limit, simulated)
    assert np.allclose(seen.gaps(seen.limit), [[0] * 4, [2] * 4])
    assert np.allclose(seen.gaps(seen.flow), 1)


def test_squared_gaps_are_in_units_of_the_expected_variance():
    rng = np.random.default_rng(1)
    limit, spread = np.zeros((31, 7)), np.linspace(1, 3, 7) * np.linspace(0, 2, 31)[:, None]
    simulated = np.stack([spread[:, None] * rng.standard_normal((31, 40, 7)) / d**0.5 for d in (10, 90)])
    seen = OverlapCourse("erf", np.arange(31.0), (10, 90), limit, limit, spread, simulated)
    assert squares(seen).shape == (40,)
    assert abs(squares(seen).mean() - 1) < 0.05


def test_the_start_has_the_same_overlaps_in_every_dimension():
    small, large = (overlaps(*_pair("relu", d, 2)) for d in (len(START[0]), 50))
    for name in ("q", "r", "t"):
        assert torch.allclose(getattr(small, name), getattr(large, name))
