"""Theorem 5 of Tian 2020: as in two layers, with the flat pieces of all boundaries in the place of the units."""

import pytest
import torch

from tutelage.networks import Network, outputs
from tutelage.specialisation.certificates._boundaries import boundaries, side_by_side
from tutelage.specialisation.certificates.scene import scenes


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
