"""End points of one teacher: students opposite to it are on its line and not on it."""

import numpy as np
import pytest

from tutelage.alignment.studies import local_minima_census as study
from tutelage.lab import Context
from tutelage.studies import judge


def census(teachers, students, aligned, on_line):
    return study.Census(teachers, students, np.zeros(len(aligned), int), np.zeros(len(aligned)), aligned, on_line)


def test_a_student_opposite_to_the_teacher_does_not_end_on_it():
    (judged,) = judge(study.one_teacher, [census(1, 2, np.array([1.0, 0.5]), np.ones(2))])
    assert (judged.setting, judged.verdict) == ("1 teacher, 2 students", "fails")


def test_a_share_on_the_line_is_at_least_that_on_the_direction():
    found = study.FlowEnds(teachers=2, students=3, time=0.01, aligned_within=0.6, seeds=range(20)).run(Context())
    assert (found["on_line"] >= found["aligned"]).all()
    assert (found["on_line"] > found["aligned"]).any()


@pytest.mark.parametrize(("counts", "name"), [((1, 1), "1 teacher, 1 student"), ((2, 4), "2 teachers, 4 students")])
def test_one_is_no_plural(counts, name):
    assert census(*counts, np.ones(1), np.ones(1)).label == name


def test_a_flow_whose_loss_still_falls_rests_nowhere():
    """However small its gradient is."""
    share, fallen = np.array([1e-7, 1e-5, 1e-5, 1e-2, 1e-2]), np.array([0.5, 0.5, 0.001, 0.001, 0.0])
    kinds = ["minimum", "minimum", "minimum", "saddle", "not stationary"]
    names = [study.KINDS[code] for code in study.end_kinds(share, fallen, kinds)]
    assert names == ["global", "on its way", "local minimum", "saddle", "on its way"]


def test_flows_on_their_way_are_no_evidence_of_what_width_does():
    kinds = {2: np.array([0, 1, 3]), 4: np.array([0, 0, 0])}
    found = [study.Census(2, n, kind, *(np.ones(3),) * 3) for n, kind in kinds.items()]
    found += [study.Census(m, k * m, np.zeros(3, int), *(np.ones(3),) * 3) for m in (3, 4, 5) for k in (1, 2)]
    assert np.array_equal(study._advantage(found)["2 teachers"], [0.0, 1.0, np.nan], equal_nan=True)
