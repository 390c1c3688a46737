"""Starts of searches: every teacher has a student, whatever the noise."""

import pytest

from tutelage.local import LocalSetting, groups, local_students, separated_teachers
from tutelage.local.studies import basin_of_attraction
from tutelage.local.studies._starts import attached_students


@pytest.mark.parametrize("dimension", [basin_of_attraction.DIMENSION, 4])
def test_every_teacher_has_a_student_at_the_start_of_a_search(dimension):
    """Of the seeds of the verdicts one draws three students of which none is nearest to one of the teachers."""
    seeds = range(10_000, 10_048)
    teachers = separated_teachers(basin_of_attraction.TEACHERS, dimension, seeds)
    drawn = groups(LocalSetting(teachers, local_students(teachers, 3, seeds))).mass()
    assert (drawn == 0).any()
    assert (groups(LocalSetting(teachers, attached_students(teachers, 3, seeds))).mass() > 0).all()
