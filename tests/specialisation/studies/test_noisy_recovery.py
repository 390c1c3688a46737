"""Exponents of courses made by hand."""

from types import SimpleNamespace

import numpy as np

from tutelage.specialisation.studies.nearness import Nearness
from tutelage.specialisation.studies.noisy_recovery import FAR, exponents, table


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


def test_the_table_counts_units_from_0():
    at = Nearness(10, np.array([[0.1, 0.2]]), np.ones(1))
    seen = SimpleNamespace(polarity=1.0, course=[at], trained=SimpleNamespace(experiment=SimpleNamespace(seeds=(5,))))
    assert [(row["unit"], row["distance"]) for row in table([seen]).to_pylist()] == [(0, 0.1), (1, 0.2)]
