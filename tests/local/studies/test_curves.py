"""Powers, steps to a level and recorded steps, on curves made by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutelage.local import LocalSetting, groups, local_students, separated_teachers
from tutelage.local.studies import basin_of_attraction
from tutelage.local.studies._curves import attached_students, geometric_steps, powers, steps_to


@given(st.floats(-4, 4), st.floats(0.1, 10))
def test_a_power_is_found_also_where_each_member_has_its_own_axis(p, factor):
    x = np.geomspace(0.01, 10, 7)
    both = np.stack([x, 2 * x], 1)
    assert np.allclose(powers(x, factor * both**p), p)
    assert np.allclose(powers(both, factor * both**p), p)


def test_steps_to_a_level_between_records_at_once_and_never():
    steps = np.array([0, 10, 20])
    losses = np.array([[1.0, 1e-3, 1.0], [0.1, 1e-4, 0.9], [0.001, 1e-5, 0.8]])
    found = steps_to(0.01, steps, losses)
    assert np.allclose(found[:2], [15, 0])
    assert np.isnan(found[2])


@given(st.integers(1, 30_000), st.integers(2, 200))
def test_recorded_steps_begin_at_0_grow_and_end_at_the_last(last, count):
    steps = geometric_steps(last, count)
    assert steps[0] == 0
    assert steps[-1] == last
    assert (np.diff(steps) > 0).all()


@pytest.mark.parametrize("dimension", [basin_of_attraction.DIMENSION, 4])
def test_every_teacher_has_a_student_at_the_start_of_a_search(dimension):
    """Of the seeds of the verdicts one draws three students of which none is nearest to one of the teachers."""
    seeds = range(10_000, 10_048)
    teachers = separated_teachers(basin_of_attraction.TEACHERS, dimension, seeds)
    drawn = groups(LocalSetting(teachers, local_students(teachers, 3, seeds))).mass()
    assert (drawn == 0).any()
    assert (groups(LocalSetting(teachers, attached_students(teachers, 3, seeds))).mass() > 0).all()
