"""The sum of transitions against the exact loss, the mean step, and exponents of courses made by hand."""

import numpy as np
import pytest

from tutelage.specialisation.studies._sphere_loops import sphere_steps
from tutelage.specialisation.studies.strength_scaling import (
    GradedCommittee,
    emergence,
    emergence_time,
    exponent,
    flow_overlaps,
    in_turn,
    of_infinitely_many,
    power_law,
    slope,
    transitions,
    window,
)

TIMES = np.concatenate([[0.0], np.geomspace(0.1, 1e4, 400)])


def committee(**changes):
    return GradedCommittee(
        **{"decay": 1.0, "teachers": 3, "students": 3, "learned": 2, "dimension": 8, "seeds": 2, **changes}
    )


def course(p=1.0, units=30):
    """Every unit makes a step of a_j^2 at the time of its transition."""
    ranks, learned = np.arange(1, units + 1), 20
    emerged = TIMES[:, None] >= emergence_time(0.3) * ranks ** (2 * p)
    loss = (ranks ** (-2 * p) * ~emerged).sum(1)[None]
    known = {"decay": p, "teachers": units, "students": units, "learned": learned, "label_noise": 0.0, "overlap": 0.3}
    return known | {"times": TIMES, "simulated": loss, "flow": loss[0], "own": emerged[None].astype(float)}


def test_made_up_steps_give_the_times_and_the_power_law():
    made = course()
    wanted = emergence_time(0.3) * np.arange(1, 21) ** 2
    assert np.abs(np.log(emergence(made)[0] / wanted)).max() < 0.03
    assert in_turn.values([made])["p = 1"] < 0.02
    assert power_law.values([made])["p = 1"] < 0.1
    assert transitions.values([made])["p = 1"] == 0
    assert exponent(made) == pytest.approx(-0.5)
    late = window(made)
    assert of_infinitely_many(made)[0, late][-1] == pytest.approx(1 / 20, rel=0.1)  # sum of j^-2 beyond 20
    made["own"][:, :, 4] = 0.1
    assert np.isinf(emergence(made)[0, 4])


def test_slopes():
    x = np.array([0.0, 1.0, 3.0])
    np.testing.assert_allclose(slope(x, np.stack([2 * x + 1, -x])), [2, -1])


def test_the_flow_reaches_what_emergence_says():
    a = np.array([1.0, 0.5])
    m = flow_overlaps(np.array([0.0, emergence_time(0.3), 4 * emergence_time(0.3)]), a, 0.3)
    np.testing.assert_allclose([m[0, 0], m[1, 0], m[2, 1]], [0.3, 0.8, 0.8], atol=1e-7)


@pytest.mark.parametrize("students", [1, 3])
def test_the_loss_is_that_of_samples_and_at_the_start_that_of_the_sum(students):
    e = committee(students=students, dimension=8)
    a, w = np.arange(1, 4) ** -1.0, e._start()
    np.testing.assert_allclose(np.linalg.norm(w, axis=2), 1)
    x = np.random.default_rng(0).normal(size=(400_000, 8))
    h = lambda u: (u**3 - 3 * u) / 6**0.5  # noqa: E731
    each = (h(x @ w[0].T) @ a[:students] - h(x[:, :3]) @ a) ** 2 / 2
    assert abs(each.mean() - e._loss(w, a)[0]) < 4.5 * each.std() / len(each) ** 0.5
    if students == 1:  # the sum leaves out what students have in common, which one student has not
        np.testing.assert_allclose(e._flow(np.array([0.0, 1.0]), a)[:1], e._loss(w, a)[:1])


def test_the_mean_step_of_a_unit_is_that_of_the_flow():
    """Over 300,000 first steps, in standard errors; the other two units have no overlap with it."""
    e, count, rate = committee(), 300_000, 1e-4
    a, start = np.arange(1, 4) ** -1.0, np.linalg.qr(np.eye(8)[:, :3] * 0.3 + np.eye(8)[:, 3:6])[0].T
    start *= np.sign(start[np.arange(3), np.arange(3)])[:, None]
    w = np.broadcast_to(start, (count, 3, 8)).copy()
    x = np.random.default_rng(1).normal(size=(count, 1, 8))
    sphere_steps(0, count, w, x, np.zeros((count, 1)), a, rate, 3, 2.0, np.zeros(count), 0)
    m = start[1, 1]
    moved = (w[:, 1, 1] - m) / rate
    assert abs(moved.mean() - 3 * a[1] ** 2 * m**2 * (1 - m**2)) < 4.5 * moved.std() / count**0.5 + 0.01
    assert e.last > 0
