"""The promised distance is that of Lemma 6 with the counts of a Gaussian."""

import math

import numpy as np
import pytest

from tutelage.specialisation.studies.polynomial_samples import STD, SampleCurve, band


@pytest.mark.parametrize("aware", [False, True])
def test_a_band_of_the_promised_width_holds_the_samples_the_proof_asks_for(aware):
    """Sampled: half of the samples in the band around a boundary through the mean are (gamma + 3) K (d + 1)."""
    samples, dimension, units = 10_000_000, 4, 6
    gamma = 2.0 if aware else 2 * math.sqrt(dimension)
    width = band(samples, dimension, units, aware)
    drawn = np.random.default_rng(0).normal(scale=STD, size=samples)
    inside = (abs(drawn) <= width).sum() / 2
    wanted = (gamma + 3) * units * (dimension + 1)
    assert abs(inside - wanted) < 4 * math.sqrt(wanted)


def test_slopes_are_taken_seed_by_seed():
    samples = (10, 100, 1000)
    distance = np.stack([1 / np.array(samples), np.ones(3)], axis=1)
    curve = SampleCurve("gaussian", 3, 2.0, samples, distance, np.ones(3))
    assert np.allclose(curve.slopes, [-1, 0])
