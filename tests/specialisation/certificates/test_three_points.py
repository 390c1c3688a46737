"""Lemma 7 of Tian 2020: a unit's kink shows at one of three points."""

import pytest
import torch


@pytest.mark.parametrize("activation", ["relu", "leaky"])
@pytest.mark.parametrize("seed", range(5))
def test_it_holds_for_random_networks_and_the_bound_is_not_idle(build, one, activation, seed):
    b = build(seed)
    teacher, student = (b.teacher(inputs=2, hidden=3, activation=activation) for _ in range(2))
    certificate = one("three-points", teacher, student, b.points(4000, 2))
    assert certificate.verdict == "holds"
    assert all(part.conclusion.bound > 0 for part in certificate.parts)


def test_the_bound_is_nearly_reached_by_a_kink_less_the_best_line(build, one):
    """h(-1), h(0), h(1) = 1/4, -1/4, 1/4: a quarter of the second difference, where the lemma promises a fifth."""
    b = build()
    teacher = b.two_layers([[1.0]], [0.0], [[1.0]], [0.0])
    student = b.two_layers([[1.0]], [9.0], [[0.5]], [-4.25])  # (x + 9)/2 - 17/4 = x/2 + 1/4
    points = torch.zeros(1, 1, dtype=torch.float64)
    part = one("three-points", teacher, student, points).parts[0]
    step = 9 * (1 - 1e-9)  # as far as the student's boundary
    h = [0.5 * abs(max(x, 0) - x / 2 - 1 / 4) for x in (-step, 0, step)]
    assert part.conclusion.value == pytest.approx(max(h))
    assert part.conclusion.bound == pytest.approx(0.5 * step / 5)
    assert part.conclusion.holds


def test_conditions_are_missed_by_name(build, one):
    b = build(1)
    teacher, points = b.teacher(inputs=2, hidden=2, outputs=2), b.points(500, 2)
    same = one("three-points", teacher, teacher, points)
    assert same.unmet == ("a sample is nearer to this boundary than to any other",)
    silent = b.teacher(inputs=2, hidden=2, outputs=2)
    silent.weights[1][:] = 0
    assert "the unit's coefficient is not zero" in one("three-points", teacher, silent, points).unmet
    teacher.weights[0][:, :, 0] = 0
    assert "the unit has weights" in one("three-points", teacher, b.teacher(inputs=2), points).unmet
