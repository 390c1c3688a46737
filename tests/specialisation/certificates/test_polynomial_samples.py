"""Theorems 3 and 6 of Tian 2020: a small gradient on enough samples is enough for a student near the teacher."""

import pytest
import torch

from tutelage.networks import Network, outputs
from tutelage.specialisation.certificates._boundaries import boundaries, side_by_side
from tutelage.specialisation.certificates.scene import scenes

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


def test_the_band_is_moved_along_the_teachers_weights_by_twice_its_width(build, one):
    b = build(2)
    teacher = b.two_layers([[1.0, 0.001], [0.0, 0.0]], [0.0, 9.0], [[1.0], [1.0]], [-9.0])
    points = torch.rand(20_000, 2, generator=b.draw, dtype=torch.float64) * 2 - 1
    student = teacher.map(torch.clone)
    student.biases[0][:, 0] += 1e-4
    certificate = one("teacher-aware-samples", teacher, student, points, epsilon=0.4)
    assert certificate.verdicts[0] == "holds"
    assert certificate.settings["gamma"] == 2.0
    gradient = certificate.parts[0].conditions[-1]
    inside = int(certificate.parts[0].conditions[1].value)
    assert gradient.data["points"] == 3 * inside


def deep(below, bias, above=((1.0,),), above_bias=(9.0,), top=-9.0):
    """One input or more, one unit above that is always active, one output."""
    layers = [torch.tensor([a], dtype=torch.float64) for a in (below, above, ((1.0,),))]
    biases = [torch.tensor([a], dtype=torch.float64) for a in (bias, above_bias, (top,))]
    return Network(tuple(layers), tuple(biases))


@pytest.fixture
def line(build):
    b = build()
    points = torch.rand(6000, 1, generator=b.draw, dtype=torch.float64) * 2 - 1
    return b, deep([[1.0, 0.001]], [0.1, 9.0], [[1.0], [1.0]]), points


def test_it_holds_with_all_boundaries_enumerated(line, one):
    _, teacher, points = line
    student = teacher.map(torch.clone)
    student.biases[0][:, 0] += 1e-4
    certificate = one("deep-lowest-layer", teacher, student, points, epsilon=0.3)
    assert certificate.verdicts[0] == "holds"
    assert certificate.conditions[1].holds is True
    assert "enumerated" in certificate.conditions[1].witness


def test_beyond_the_budget_it_is_not_decided(line, one):
    _, teacher, points = line
    certificate = one("deep-lowest-layer", teacher, teacher, points, epsilon=0.3, regions=1)
    assert certificate.verdicts[0] == "not decided"
    assert certificate.conditions[1].holds is None


def test_in_many_dimensions_too_few_samples_are_certain_all_the_same(build, one):
    b = build(1)
    teacher = b.teacher(inputs=30, hidden=5, deeper=(6,))
    certificate = one("deep-lowest-layer", teacher, b.idle(teacher), b.points(200, 30))
    assert certificate.verdict == "not applicable"
    assert certificate.unmet == ("samples in the band where a student unit is active",)


def test_a_gradient_is_named(line, one):
    _, teacher, points = line
    off = teacher.map(torch.clone)
    off.biases[0][:, 0] += 0.05
    certificate = one("deep-lowest-layer", teacher, off, points, epsilon=0.3)
    assert "gradient on the augmented samples is small" in certificate.unmet


def test_teacher_and_student_side_by_side_are_both(build):
    b = build(3)
    teacher, student = b.teacher(deeper=(4,)), b.teacher(hidden=5, deeper=(2,))
    points = b.points(20, 3)
    both = outputs(side_by_side(teacher, student), points)
    assert torch.allclose(both, torch.cat([outputs(teacher, points), outputs(student, points)], dim=2))


def test_pieces_are_where_a_unit_above_switches_and_samples_never_show_more_of_them(build):
    b = build(4)
    teacher, student = b.teacher(inputs=1, hidden=3, deeper=(4,)), b.teacher(inputs=1, hidden=2, deeper=(3,))
    scene = next(scenes(teacher, student, b.points(400, 1)))
    exact, sampled = boundaries(scene, 0, 0.1, 1000), boundaries(scene, 0, 0.1, 1)
    low, high = float(scene.points.min()) - 0.1, float(scene.points.max()) + 0.1
    x = torch.linspace(low, high, 200_001, dtype=torch.float64)[:, None]
    pair = side_by_side(teacher, student)
    u = torch.relu(x @ pair.weights[0][0] + pair.biases[0][0]) @ pair.weights[1][0] + pair.biases[1][0]
    flips = ((u[1:] > 0) != (u[:-1] > 0)).sum()
    assert exact.count == 5 + int(flips)
    assert sampled.count <= exact.count
    upper = exact.planes[exact.index < 0]
    zeros = -upper[:, 1] / upper[:, 0]
    at = torch.relu(zeros[:, None] @ pair.weights[0][0] + pair.biases[0][0]) @ pair.weights[1][0] + pair.biases[1][0]
    assert (at.abs().amin(1) < 1e-10).all()
    assert (exact.alpha <= sampled.alpha + 1e-12).all()
