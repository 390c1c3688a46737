"""Exponents of departure times made by hand."""

import numpy as np

from tutelage.specialisation.studies.slow_departure import exponents


def test_the_exponent_of_a_power_is_found_and_infinite_times_do_not_count():
    gaps = np.array([0.1, 0.01, 0.001])
    times = np.stack([3 / gaps, np.full(3, 7.0), [1.0, 2.0, np.inf]], axis=1)
    found = exponents(gaps, times)
    assert np.allclose(found[:2], [1, 0])
    assert np.isnan(found[2])
