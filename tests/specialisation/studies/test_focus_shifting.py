"""The statistics of focus shifting on a trajectory made by hand."""

from pathlib import Path

import numpy as np
import pytest

from tutelage.lab import TrainedStudents
from tutelage.measures import Report
from tutelage.specialisation.studies.focus_shifting import UNITS, _order, _share_on_strongest, _shifted

STEPS, STUDENTS = 4, 6


@pytest.fixture
def result():
    """Member 0: student 5 goes from unit 1 to unit 5; member 1: student 5 is on unit 5 from the start."""
    rho = np.full((STEPS, 2, UNITS, STUDENTS), 0.1)
    rho[1:, :, 0, 0] = 0.99
    rho[1, 0, 0, :4] = 0.8
    rho[1, 0, 0, 0] = 0.99
    rho[1, 0, 2, 4] = 0.5
    rho[:2, 0, 0, 5] = 0.7
    rho[2:, 0, 4, 5] = 0.97
    rho[:, 1, 4, 5] = [0.2, 0.6, 0.8, 0.97]
    report = Report((0, 10, 20, 30), {"correlation": rho, "best_correlation": rho.max(3)})
    return TrainedStudents(None, report, Path())


def test_the_strongest_comes_first_in_both_members(result):
    assert _order(result).tolist() == [1.0, 1.0]


def test_only_the_first_member_has_a_student_that_shifted(result):
    assert _shifted(result).tolist() == [1.0, 0.0]


def test_students_are_counted_at_the_step_of_recovery(result):
    share = _share_on_strongest(result)
    assert share[0] == pytest.approx(5 / 6)
