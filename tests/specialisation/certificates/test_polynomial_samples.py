"""Theorems 3 and 6 of Tian 2020: a small gradient on enough samples is enough for a student near the teacher."""

import pytest
import torch

from tutelage.networks import Network

OBSERVED = "samples in the band where a student unit is active"


def square(build, count, dimension):
    """Uniform in [-1, 1]^d."""
    return torch.rand(count, dimension, generator=build.draw, dtype=torch.float64) * 2 - 1


def with_observer(net):
    """One more unit, active on all samples, that has a fan-out but adds nothing: the top bias takes it back."""
    below = torch.cat([net.weights[0], torch.zeros_like(net.weights[0][:, :, :1])], dim=2)
    below[:, 0, -1] = 1e-3
    bias = torch.cat([net.biases[0], torch.full_like(net.biases[0][:, :1], 9.0)], dim=1)
    return Network(
        (below, torch.cat([net.weights[1], torch.ones_like(net.weights[1][:, :1])], dim=1)),
        (bias, net.biases[1] - 9.0),
        net.activation,
        net.slope,
    )


@pytest.fixture
def plane(build):
    b = build(1)
    teacher = with_observer(b.two_layers([[0.6], [0.8]], [0.1], [[1.0]], [9.0]))
    return b, teacher, square(b, 30_000, 2)


@pytest.mark.parametrize("activation", ["relu", "leaky"])
@pytest.mark.parametrize("name", ["polynomial-samples", "teacher-aware-samples"])
def test_it_holds_for_a_copy_that_is_a_little_off(build, one, name, activation):
    b = build(1)
    teacher = with_observer(b.two_layers([[0.6], [0.8]], [0.1], [[1.0]], [9.0], activation))
    student = teacher.map(torch.clone)
    student.biases[0][:, 0] += 1e-4
    certificate = one(name, teacher, student, square(b, 30_000, 2), epsilon=0.4)
    assert certificate.verdicts[0] == "holds"
    part = certificate.parts[0]
    assert 1e-5 < part.conclusion.value < 1e-3
    spread = part.conditions[3].data
    width = part.conditions[1].data["width"]
    assert max(spread["M_1"], spread["M_2"]) * width <= 0.4 * (1 + 1e-9)


def test_knowing_the_teacher_asks_for_fewer_samples(plane, one):
    _, teacher, points = plane
    agnostic, aware = (one(name, teacher, teacher, points) for name in ("polynomial-samples", "teacher-aware-samples"))
    assert aware.parts[0].conditions[1].bound < agnostic.parts[0].conditions[1].bound


def test_in_one_dimension_all_boundaries_are_parallel_and_the_band_is_epsilon_over_three(build, one):
    b = build()
    teacher = b.two_layers([[1.0]], [-0.2], [[1.0]], [0.0])
    student = b.two_layers([[2.0, 1.0]], [-0.4, 9.0], [[0.5], [0.1]], [0.0])
    certificate = one("polynomial-samples", teacher, student, square(b, 4000, 1), epsilon=0.3)
    assert certificate.parts[0].conditions[1].data["width"] == pytest.approx(0.1)


def test_every_condition_is_missed_by_name(plane, one):
    b, teacher, points = plane
    options = {"epsilon": 0.4}
    few = one("polynomial-samples", teacher, teacher, points[:100], **options)
    assert few.unmet == (OBSERVED,)
    assert [c.holds for c in few.parts[0].conditions] == [True, False, None, None, None]
    off = teacher.map(torch.clone)
    off.biases[0][:, 0] += 0.05
    moving = one("polynomial-samples", teacher, off, points, **options)
    assert "gradient on the augmented samples is small" in moving.unmet
    twins = b.two_layers([[0.6, 0.6], [0.8, 0.8]], [0.1, 0.2], [[1.0], [1.0]], [0.0])
    assert "teacher units are not co-linear" in one("polynomial-samples", twins, twins, points, **options).unmet
    flat = teacher.map(torch.clone)
    flat.weights[0][:, :, 0] = 0
    assert "the unit has weights" in one("polynomial-samples", flat, teacher, points, **options).unmet
    silent = teacher.map(torch.clone)
    silent.weights[1][:] = 0
    assert "alpha is not zero" in one("polynomial-samples", teacher, silent, points, **options).unmet
    piled = torch.zeros(5000, 2, dtype=torch.float64)
    crossing = with_observer(b.two_layers([[1.0], [0.0]], [0.0], [[1.0]], [0.0]))
    other = with_observer(b.two_layers([[0.0], [1.0]], [0.0], [[1.0]], [0.0]))
    assert (
        "at most d + 1 samples of the band lie on one hyperplane"
        in one("polynomial-samples", crossing, other, piled, **options).unmet
    )


def test_a_gradient_on_a_moved_sample_alone_is_found(build, one):
    """Samples on the boundary and on its dark side alone: the student errs only where samples are moved to."""
    b = build(1)
    teacher = with_observer(b.two_layers([[0.6], [0.8]], [0.1], [[1.0]], [9.0]))
    points = square(b, 30_000, 2)
    normal = teacher.weights[0][0, :, 0]
    height = points @ normal + 0.1
    points = torch.cat([points[height < -0.5], (points - height[:, None] * normal)[:3000]])
    student = teacher.map(torch.clone)
    student.weights[1][:, 0] *= 1.5
    certificate = one("teacher-aware-samples", teacher, student, points, epsilon=0.4)
    condition = certificate.parts[0].conditions[-1]
    assert condition.holds is False
    assert condition.witness.startswith("a moved sample")
