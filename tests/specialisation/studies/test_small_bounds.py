"""Small bounds: the promise by hand, and who keeps it."""

import numpy as np
import pytest

from tutelage.specialisation.studies import small_bounds as study
from tutelage.specialisation.studies.polynomial_samples import promised


def test_the_promise_by_hand():
    """Sine and offset of Lemma 6: the offset's is the larger one, and the distance is the larger of the two."""
    gamma, eta = 2 * np.sqrt(2), 2 / (1.5 * np.sqrt(2 * np.pi))
    band = (gamma + 3) * 2 * 3 / (eta * 10_000 / 2)
    sine = (gamma + 3) * eta * 2
    offset = 1 + gamma + sine * (0.1 + np.sqrt((3 + gamma) * 1.5**2 * 2 / (1 + gamma)))
    assert offset > sine
    assert promised(10_000, study.DIMENSION, 2, aware=False) == pytest.approx(offset * band)


def test_the_variance_of_a_projection_bounds_how_many_samples_lie_far_out():
    """The mu of the offset: at most mu e^2 of the samples have |w.x| >= 1 / e, for every e."""
    x = np.abs(np.random.default_rng(0).normal(0, 1.5, 100_000))
    for e in (0.1, 0.3, 0.6, 1.0):
        assert (x >= 1 / e).mean() <= 1.5**2 * e**2


def test_a_member_keeps_the_promise_if_its_farthest_unit_does():
    found = study.SmallBound(2, 4_000, np.array([0.9, 0.5]), np.array([0.1, 0.3]), 0.2, np.array([0.2, 0.3]))
    judged = study.kept.values([found])["K = 2, 4,000 samples"]
    assert judged.values.tolist() == [1.0, 0.0]
    assert judged.baseline.tolist() == [0.0, 0.0]
    assert judged.premise.tolist() == [True, False]
