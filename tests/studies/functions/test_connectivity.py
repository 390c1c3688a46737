"""The roads between two students begin and end at the same losses, and the claims read them as they say."""

import numpy as np
import pytest
import torch

from tutelage.lab import Results
from tutelage.runs import Pack, Store, schedule
from tutelage.studies.claims import judge
from tutelage.studies.functions.connectivity import (
    OTHER,
    ROADS,
    Crossing,
    cross,
    draw,
    high_on_the_line,
    low_on_the_path,
    second_students,
    table,
)
from tutelage.studies.specialisation.two_layer import sweep


@pytest.fixture(scope="module")
def packs(tmp_path_factory) -> list[Pack]:
    specs = sweep("smoke", hidden=3, multiples=(2,), polarities=(1.0,))
    return schedule(specs, Store(tmp_path_factory.mktemp("results")), device="cpu", engine="stacked")


def test_roads_share_their_ends(packs):
    shares = []
    (found,) = cross(Results(packs), shares.append)
    assert shares == [1.0]
    assert tuple(found.roads) == ROADS
    firsts = [loss[0] for _, loss in found.roads.values()]
    lasts = [loss[-1] for _, loss in found.roads.values()]
    for ends in (firsts, lasts):
        assert all(np.allclose(end, ends[0], rtol=1e-4) for end in ends)
    assert np.allclose(firsts[0], packs[0].report["evaluate_loss"][-1], rtol=1e-3)
    assert all((share[0] == 0).all() and (share[-1] == 1).all() for share, _ in found.roads.values())
    numbers = table([found])
    assert len(numbers) == sum(loss.size for _, loss in found.roads.values())
    assert len(draw([found]).axes) == 1


def test_the_second_student_has_the_same_teacher_and_points_and_another_start(packs):
    students, teacher, inputs = second_students(packs[0])
    assert inputs.seeds == packs[0].spec.seeds
    assert all(torch.equal(a, b) for a, b in zip(teacher.parameters, packs[0].teacher().parameters, strict=True))
    assert not torch.allclose(students.weights[0], packs[0].weights().weights[0])
    assert max(packs[0].spec.seeds) < OTHER


def test_claims_compare_peaks_with_the_worse_student():
    share = np.linspace(0, 1, 3)[:, None].repeat(2, 1)
    flat, hill = np.array([[1.0, 2.0]] * 3), np.array([[1.0, 2.0], [50.0, 100.0], [0.5, 1.0]])
    crossing = Crossing(2.0, (0, 1), {ROADS[0]: (share, flat), ROADS[1]: (share, hill), ROADS[2]: (share, 2 * flat)})
    (low,) = judge(low_on_the_path, [crossing])
    (high,) = judge(high_on_the_line, [crossing])
    assert low.verdict == high.verdict == "holds"
    assert abs(high.measured - np.log10(50)) < 1e-12
    assert abs(low.measured - 1) < 1e-12
