"""Small bounds: the promise by hand, and who keeps it."""

import numpy as np
import pytest

from tutelage.specialisation.studies import small_bounds as study
from tutelage.specialisation.studies.polynomial_samples import promised


def test_the_promise_by_hand():
    by_hand = (2 * np.sqrt(2) + 3) ** 2 * 2**2 * 3 * 2 / 10_000  # eta cancels
    assert promised(10_000, study.DIMENSION, 2, aware=False) == pytest.approx(by_hand)


def test_a_member_keeps_the_promise_if_its_farthest_unit_does():
    found = study.SmallBound(2, 4_000, np.array([0.9, 0.5]), np.array([0.1, 0.3]), 0.2)
    judged = study.kept.values([found])["K = 2, 4,000 samples"]
    assert judged.values.tolist() == [1.0, 0.0]
    assert judged.baseline.tolist() == [0.0, 0.0]
