"""Starts as described, and fits on curves of known shape."""

import numpy as np

from tutelage.local import groups
from tutelage.local.studies import convergence_rates as study


def _course(name, losses, steps):
    each = np.ones(losses.shape[1])
    return study.DescentCourse(name, steps, losses, losses**0.75, rate=each, kappa=each)


def test_linear_and_power_laws_are_told_apart():
    steps = np.array(study.geometric_steps(1000, 60))
    line = np.exp(-0.01 * steps)[:, None]
    power = (1.0 + steps)[:, None] ** -2.0
    assert study._straight(_course(study.ONE, line, steps))[0] > 1 - 1e-9
    assert study._straight(_course(study.ONE, power, steps))[0] < 0.99
    assert abs(study._power(_course(study.ACROSS, power, steps))[0] + 2) < 0.01
    off = study._exponents([_course(study.ACROSS, power, steps), _course(study.PAIR, power, steps)])
    assert off[study.ACROSS][0] < 1e-9
    assert abs(off[study.PAIR][0] - 1 / 12) < 1e-9


def test_a_rise_is_counted_and_one_below_the_floor_is_not():
    steps = np.array([0, 1, 2, 3])
    losses = np.array([[1.0, 1e-23], [0.5, 2e-23], [0.6, 1e-24], [0.1, 1e-24]])
    assert study._rises(_course(study.ONE, losses, steps)).tolist() == [1 / 3, 0]


def test_the_student_across_is_exactly_across():
    starts = study.starts(range(3))
    across = starts[study.ACROSS].students
    assert (across[:, 0, 1] == 0).all()
    assert (across[:, 1, 0] == 0).all()
    angle = groups(starts[study.PAIR]).angle
    assert ((angle > 0.3) & (angle < 0.7)).all()
    assert [s.m for s in starts.values()] == [1, 2, 2, 3, 9]
