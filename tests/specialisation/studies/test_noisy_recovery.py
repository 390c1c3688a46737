"""Exponents of courses made by hand."""

import numpy as np

from tutelage.specialisation.studies.noisy_recovery import FAR, at_gradient, exponents


def test_the_slope_of_a_power_law_is_its_exponent():
    gradient = np.geomspace(1, 1e-4, 6)[:, None]
    distance = 0.3 * np.stack([gradient, gradient**0.5], axis=2)
    assert np.allclose(exponents(distance, gradient), [[1.0, 0.5]])


def test_large_distances_do_not_count_and_too_few_decide_nothing():
    gradient = np.geomspace(1, 1e-3, 4)[:, None]
    far_first = 0.1 * gradient[..., None].copy()
    far_first[0] = 10 * FAR
    assert np.allclose(exponents(far_first, gradient), 1)
    assert np.isnan(exponents(np.full((4, 1, 1), 2 * FAR), gradient)).all()
    assert np.isnan(exponents(far_first, np.ones((4, 1)))).all()


def test_distances_are_taken_at_equal_gradients_and_not_at_equal_steps():
    """Two members on the same curve at different speeds have the same distance at one size of the gradient."""
    slow, fast = np.geomspace(1, 1e-2, 5), np.geomspace(1, 1e-4, 5)
    gradient = np.stack([slow, fast], axis=1)
    distance = np.stack([2 * gradient, 0.5 * gradient**0.5], axis=2)
    assert np.allclose(at_gradient(distance, gradient, 0.05), [[0.1, 0.5 * 0.05**0.5]] * 2)


def test_a_gradient_that_is_not_reached_or_passed_at_once_gives_nothing():
    gradient = np.array([[1.0, 1e-3], [0.5, 1e-4]])
    assert np.isnan(at_gradient(np.ones((2, 2, 1)), gradient, 0.1)).all()
