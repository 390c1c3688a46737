"""Descents beside teachers that are near to each other."""

import numpy as np
import pytest

from tutelage.lab import Results, Store, execute
from tutelage.local.studies.separation import (
    SEPARATIONS,
    SeparatedCourse,
    arrives,
    as_many_steps,
    closed_form,
    draw,
    separation,
    third_power,
)
from tutelage.studies import judge


def made_up(teachers=2, steps=(100.0, 200.0, 400.0), power=3.0):
    steps = np.array(steps)
    return [
        SeparatedCourse(teachers, d, 0.1 * d**power, np.ones(3), np.full(3, 2.0), steps * (1 + (d < 0.8)))
        for d in SEPARATIONS
    ]


def test_the_power_of_the_separation_is_read_off_small_ones():
    assert judge(third_power, made_up())[0].verdict == "passes"
    assert judge(third_power, made_up(power=2.5))[0].verdict == "does not pass"


def test_steps_are_compared_with_those_at_the_largest_separation_where_both_arrive():
    found = as_many_steps.values(made_up(steps=(100.0, 200.0, np.inf)))["r = 2, Delta = 0.1"]
    assert found.premise.tolist() == [True, True, False]
    assert found.values[:2].tolist() == [1.0, 1.0]
    assert arrives.values(made_up(steps=(1.0, np.inf, 3.0)))["r = 2, Delta = 0.8"].tolist() == [1.0, 0.0, 1.0]


def test_starts_are_alike_but_for_the_scale_of_angles(tmp_path):
    """The loss of a start scales with a power of the separation, and the eigenvalue is the closed form."""
    plan = separation.plan("smoke")
    found = plan.view(Results(execute(plan.experiments, Store(tmp_path), device="cpu")))
    assert all(v.verdict == "passes" for v in judge(closed_form, found))
    near = [c for c in found if c.teachers == 2 and c.separation <= 0.1]
    assert near[1].first / near[0].first == pytest.approx(np.full(3, 0.25), rel=0.6)
    assert len(draw(found).axes) == 3
