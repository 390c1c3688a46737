"""Flow against descent at a small step and against closed forms; end points judged where they are known."""

import math

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp

from tutelage import TutelageError
from tutelage.population.expectations import Units
from tutelage.population.flow import descend, end_point, flow


def randn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def pair(members=3, m=2, n=3, d=3, scale=0.5):
    teacher = Units(randn(1, m, d, seed=1), torch.ones(1, m, 1))
    return teacher, Units(scale * randn(members, n, d, seed=2), torch.ones(members, n, 1))


@pytest.mark.parametrize("both", [False, True])
def test_descent_at_a_small_rate_is_the_flow(both):
    """The distance shrinks in proportion to the rate."""
    teacher, students = pair()
    exact = flow(teacher, students, [1.0], both_layers=both).end
    gaps = []
    for rate in (0.01, 0.005):
        end = descend(teacher, students, rate, [round(1 / rate)], both_layers=both).end
        gaps.append(max((end.w - exact.w).abs().max().item(), (end.c - exact.c).abs().max().item()))
    assert gaps[0] < 0.02
    assert gaps[0] / gaps[1] == pytest.approx(2, abs=0.15)


def test_the_loss_never_grows_along_the_flow():
    losses = flow(*pair(members=8), np.linspace(0, 20, 30).tolist()).losses()
    assert (losses.diff(dim=0) <= 1e-9).all()


def test_one_teacher_and_one_student_turn_as_the_closed_form_says():
    r"""In the plane of both: d theta/dt = -(pi - theta) sin(theta) r*/(2 pi r), from Zhu et al. 2021, eq. 1 along the
    circle.
    """
    teacher = Units(torch.tensor([[[1.0, 0.0]]]), torch.ones(1, 1, 1))
    start = torch.tensor([0.3 * math.cos(2.5), 0.3 * math.sin(2.5)])
    course = flow(teacher, Units(start[None, None], torch.ones(1, 1, 1)), [1.0, 5.0, 20.0], relative=1e-10)

    def slope(t, y):
        r, theta = y
        along = ((math.pi - theta) * math.cos(theta) + math.sin(theta)) / (2 * math.pi)
        return [along - r / 2, -(math.pi - theta) * math.sin(theta) / (2 * math.pi * r)]

    wanted = solve_ivp(slope, (0, 20), [0.3, 2.5], t_eval=[1.0, 5.0, 20.0], rtol=1e-11, atol=1e-12).y
    assert np.allclose(course.angles()[:, 0, 0, 0], wanted[1], atol=1e-6)
    assert np.allclose(course.w[:, 0, 0].norm(dim=1), wanted[0], atol=1e-6)


def test_the_teacher_split_in_two_is_a_flat_minimum_and_the_origin_between_two_opposite_units_a_saddle():
    teacher = Units(torch.tensor([[[1.0, 0.0]]]), torch.ones(1, 1, 1))
    halves = Units(torch.tensor([[[0.4, 0.0], [0.6, 0.0]]]), torch.ones(1, 2, 1))
    judged = end_point(teacher, halves)
    assert judged.kinds == ("minimum",)
    assert abs(judged.loss.item()) < 1e-12
    assert judged.least.item() > -1e-9
    two = Units(torch.tensor([[[1.0, 0.0], [-1.0, 0.0]]]), torch.ones(1, 2, 1))
    between = flow(two, Units(torch.tensor([[[0.0, 1.0]]]), torch.ones(1, 1, 1)), [200.0]).end
    assert end_point(two, between).kinds == ("saddle",)
    assert end_point(*pair()).kinds == ("not stationary",) * 3


def test_a_rate_that_diverges_is_refused():
    teacher, students = pair()
    with pytest.raises(TutelageError, match="lower the rate"):
        descend(teacher, students, 50.0, [100])
    with pytest.raises(TutelageError, match="rate must be positive"):
        descend(teacher, students, 0.0, [1])


def test_a_unit_that_nobody_needs_shrinks_to_nothing_and_stays():
    """Opposite to the teacher and beside a student that overshoots: every direction would make the loss larger."""
    teacher = Units(torch.tensor([[[1.0, 0.0]]]), torch.ones(1, 1, 1))
    students = Units(torch.tensor([[[1.5, 0.0], [0.3, 0.1]]]), torch.ones(1, 2, 1))
    course = flow(teacher, students, [0.05, 0.2, 0.5])
    lengths = course.w[:, 0, 1].norm(dim=1)
    assert lengths[-1] < lengths[0] < 0.32
    assert course.w.isfinite().all()


def test_a_unit_that_shrinks_away_stays_however_loose_the_tolerance():
    """Of 0.0002 at time 12 and on its way to 0 by 13: what a step may be wrong by must not hold it up for ever."""
    teacher = Units(torch.tensor([[[0.83749, 0.54518, -0.03733], [0.81389, 0.57912, 0.04694]]]), torch.ones(1, 2, 1))
    start = [
        [-0.61868, -0.39217, 0.25139],
        [-0.11396, 0.06837, -0.04188],
        [0.05687, 0.10577, -0.2514],
        [-0.2219, 0.22274, 0.54635],
    ]
    students = Units(torch.tensor([start]), torch.ones(1, 4, 1))
    exact = flow(teacher, students, [12.0, 13.0, 14.0])
    for absolute in (1e-6, 1e-7, 1e-8):
        loose = flow(teacher, students, [12.0, 13.0, 14.0], relative=1e-6, absolute=absolute)
        assert torch.equal(loose.w[1, 0, 0], loose.w[2, 0, 0])
        assert loose.w[1, 0, 0].norm() < 1000 * absolute
        assert torch.allclose(loose.w, exact.w, atol=2000 * absolute)


def test_a_unit_that_starts_short_grows():
    teacher = Units(torch.tensor([[[1.0, 0.0]]]), torch.ones(1, 1, 1))
    students = Units(torch.tensor([[[1e-6, 1e-6]]]), torch.ones(1, 1, 1))
    end = flow(teacher, students, [60.0], relative=1e-6, absolute=1e-8).end
    assert torch.allclose(end.w, teacher.w, atol=1e-4)


@pytest.mark.parametrize("record", [[], [-1, 3], [1.5], ["a"], [math.nan]])
def test_steps_of_a_descent_that_cannot_be_recorded_are_one_sentence(record):
    with pytest.raises(TutelageError, match=r"recorded steps must be|record must hold"):
        descend(*pair(), 0.1, record)


def test_times_of_a_flow_are_finite():
    with pytest.raises(TutelageError, match="must be finite, got inf"):
        flow(*pair(), [0.0, math.inf])


def test_tolerances_and_students_that_say_nothing_are_errors():
    teacher, students = pair()
    none = Units(torch.zeros(1, 0, 3), torch.zeros(1, 0, 1))
    for relative, absolute in ((0, 0), (-1, 1e-8), (math.nan, 1e-8)):
        with pytest.raises(TutelageError, match="tolerances must be finite, not negative and not both 0"):
            flow(teacher, students, [1.0], relative=relative, absolute=absolute)
    for tolerance in (math.nan, 0, -1.0):
        with pytest.raises(TutelageError, match="tolerance must be positive and finite"):
            end_point(teacher, students, tolerance)
    for call in (lambda: flow(teacher, none, [1.0]), lambda: end_point(teacher, none)):
        with pytest.raises(TutelageError, match="give them at least one unit"):
            call()
    assert flow(teacher, students, (t for t in (0, 1))).times == (0.0, 1.0)
