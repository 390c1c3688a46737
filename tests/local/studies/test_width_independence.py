"""Students beside teachers, and ratios between widths."""

import numpy as np
import pytest

from tutelage.errors import TutelageError
from tutelage.local import LocalSetting, groups
from tutelage.local.starts import plane_teachers
from tutelage.local.studies import width_independence as study


def test_students_share_their_teachers_masses_evenly_within_half_a_radian():
    setting = LocalSetting(plane_teachers(study.PLANE), study.beside(12, range(4)))
    found = groups(setting)
    assert np.allclose(found.weight, 0.25)
    assert np.allclose(found.mass(), 1)
    assert found.angle.max() <= study.SPREAD


def test_students_that_cannot_be_shared_evenly_are_an_error():
    with pytest.raises(TutelageError, match="students must be a multiple of 3, the number of teachers, got 4"):
        study.beside(4, range(2))


def test_growth_and_slopes_are_taken_seed_by_seed():
    widths = [
        study.WidthCourse(m, np.array([m**-0.5, 2.0]), np.array([m, 1.0]), np.full(2, m), np.zeros(2))
        for m in (3, 6, 24)
    ]
    searched = [
        study.FlatPlaces(place, m, level, np.ones(2), np.array([1.0, 1 / m]))
        for place in study.PLACES
        for m in (3, 6, 12, 24)
        for level in study.LEVELS
    ]
    seen = study.WidthResult(widths, searched)
    assert np.allclose(study._slopes(seen)["m > r"], [-0.5, 0])
    assert np.allclose(study.steps_to_1e4.values(seen)["m = 24 against 6"], [4, 1])
    assert np.allclose(study._worst_ratio(seen)["space, L = 0.1"], [0, -np.log10(4)])
    assert study.worst_found.values(seen)["plane, m = 3, L = 0.1"].tolist() == [1, 0]
