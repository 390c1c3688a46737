"""Exponents of departure times made by hand."""

import numpy as np

from tutelage.specialisation.studies.slow_departure import DepartureTimes, exponents, wider_is_faster


def test_the_exponent_of_a_power_is_found_and_infinite_times_do_not_count():
    gaps = np.array([0.1, 0.01, 0.001])
    times = np.stack([3 / gaps, np.full(3, 7.0), [1.0, 2.0, np.inf]], axis=1)
    found = exponents(gaps, times)
    assert np.allclose(found[:2], [1, 0])
    assert np.isnan(found[2])


def test_members_with_a_student_on_the_teachers_side_say_nothing_about_the_others():
    times = DepartureTimes(np.array([0.1]), np.ones(1), np.array([[10.0, 10.0, 10.0]]), np.array([[0.0, 1.0, 100.0]]))
    found = wider_is_faster.values(times)["eps = 0.1"]
    assert np.isnan(found[0])
    assert np.allclose(found[1:], [-1, 1])
