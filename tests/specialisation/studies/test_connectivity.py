"""The roads between two students begin and end at the same losses, and the claims read them as they say."""

import numpy as np
import pytest
import torch

from tutelage.lab import Context, Results, Store, schedule
from tutelage.specialisation.studies._two_layer import sweep
from tutelage.specialisation.studies.connectivity import (
    OTHER,
    ROADS,
    Crossing,
    PathLosses,
    crossings_by_width,
    draw,
    high_on_the_line,
    low_on_the_path,
    second_students,
)
from tutelage.studies import judge


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> list:
    """Trained students, and losses on the paths from them to second students."""
    (experiment,) = sweep("smoke", hidden=3, width_factors=(2,), polarities=(1.0,))
    both = [experiment, PathLosses(students=experiment)]
    return schedule(both, Store(tmp_path_factory.mktemp("results")), device="cpu", engine="stacked")


def test_roads_share_their_ends(results):
    students, losses = results
    (found,) = crossings_by_width(Results([losses]))
    assert tuple(found.roads) == ROADS
    firsts = [loss[0] for _, loss in found.roads.values()]
    lasts = [loss[-1] for _, loss in found.roads.values()]
    for ends in (firsts, lasts):
        assert all(np.allclose(end, ends[0], rtol=1e-4) for end in ends)
    assert np.allclose(firsts[0], students.report["evaluate_loss"][-1], rtol=1e-3)
    assert all((share[0] == 0).all() and (share[-1] == 1).all() for share, _ in found.roads.values())
    assert len(draw([found]).axes) == 1


def test_the_second_student_has_the_same_teacher_and_points_and_another_start(results):
    trained, shares = results[0], []
    students = second_students(trained.experiment, OTHER, Context(progress=shares.append))
    assert shares[-1] == pytest.approx(0.9)
    again = second_students(trained.experiment, 0, Context(engine="stacked"))
    assert all(
        torch.allclose(a, b, rtol=1e-4, atol=1e-6)
        for a, b in zip(again.parameters, trained.weights().parameters, strict=True)
    ), "with an offset of 0 the second students are the first"
    assert not torch.allclose(students.weights[0], trained.weights().weights[0])
    assert max(trained.experiment.seeds) < OTHER


def test_claims_compare_peaks_with_the_worse_student():
    share = np.linspace(0, 1, 3)[:, None].repeat(2, 1)
    flat, hill = np.array([[1.0, 2.0]] * 3), np.array([[1.0, 2.0], [50.0, 100.0], [0.5, 1.0]])
    crossing = Crossing(2.0, (0, 1), {ROADS[0]: (share, flat), ROADS[1]: (share, hill), ROADS[2]: (share, 2 * flat)})
    (low,) = judge(low_on_the_path, [crossing])
    (high,) = judge(high_on_the_line, [crossing])
    assert (low.verdict, high.verdict) == ("undecided", "undecided"), "two members with equal values decide nothing"
    assert abs(high.measured - np.log10(50)) < 1e-12
    assert abs(low.measured - 1) < 1e-12
