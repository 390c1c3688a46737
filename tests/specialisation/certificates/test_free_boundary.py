"""Tian 2019, Lemma 5: a boundary that no other is near has a point to itself."""

import pytest
import torch

from tutelage.errors import TutelageError


@pytest.mark.parametrize("seed", range(4))
def test_it_holds_for_random_units_and_the_point_lies_on_the_boundary_alone(build, one, seed):
    b = build(seed)
    teacher, student = b.teacher(inputs=3), b.teacher(inputs=3)
    certificate = one("free-boundary-point", teacher, student, b.points(200, 3), epsilon=1e-4)
    assert certificate.verdict == "holds"
    for j, part in enumerate(certificate.parts):
        point = torch.tensor(part.conclusion.data["point"], dtype=torch.float64)
        distances = []
        for net in (teacher, student):
            w, bias = net.weights[0][0], net.biases[0][0]
            distances += ((point @ w + bias).abs() / w.norm(dim=0)).tolist()
        assert distances.pop(j) < 1e-12
        assert min(distances) == pytest.approx(part.conclusion.value)
        assert part.conclusion.value > 5e-4


def test_the_bound_on_the_angle_is_not_idle(build, one):
    """Two lines in the plane that cross within the ball: with a wide band no point is left, and the lemma says so."""
    b = build(1)
    teacher = b.two_layers([[1.0], [0.0]], [0.0], [[1.0]], [0.0])
    student = b.two_layers([[0.0], [1.0]], [0.0], [[1.0]], [0.0])
    points = b.points(400, 2)
    assert one("free-boundary-point", teacher, student, points, epsilon=1e-2).verdict == "holds"
    wide = one("free-boundary-point", teacher, student, points, epsilon=2.0)
    assert wide.unmet == ("sine or offset of the nearest other unit over its bound",)
    assert wide.parts[0].conclusion.holds is None


def test_conditions_are_missed_by_name(build, one):
    b = build(1)
    teacher, points = b.teacher(inputs=3), b.points(100, 3)
    aligned = one("free-boundary-point", teacher, b.permuted(teacher), points)
    assert aligned.unmet == ("sine or offset of the nearest other unit over its bound",)
    turned = teacher.map(torch.clone)
    turned.weights[0].neg_()
    turned.biases[0].neg_()
    assert one("free-boundary-point", teacher, turned, points).unmet == aligned.unmet
    far = teacher.map(torch.clone)
    far.biases[0][:] = 100.0
    assert "the boundary crosses the region" in one("free-boundary-point", far, b.teacher(), points).unmet
    line = b.teacher(inputs=1)
    assert "inputs have at least two dimensions" in one("free-boundary-point", line, line, b.points(9, 1)).unmet
    flat = teacher.map(torch.clone)
    flat.weights[0][:, :, 0] = 0
    assert "the unit has weights" in one("free-boundary-point", flat, b.teacher(), points).unmet
    with pytest.raises(TutelageError, match="epsilon must be above 0"):
        one("free-boundary-point", teacher, teacher, points, epsilon=0.0)


@pytest.mark.parametrize("seed", range(6))
def test_no_network_near_the_bounds_refutes_it(build, one, seed):
    b = build(seed)
    teacher, points = b.teacher(inputs=2, hidden=2), b.points(300, 2)
    verdicts = set()
    for size in (1e-3, 1e-2, 1e-1, 1.0):
        for epsilon in (1e-4, 1e-3, 1e-2):
            student = b.perturbed(teacher, size)
            verdicts.add(one("free-boundary-point", teacher, student, points, epsilon=epsilon).verdict)
    assert verdicts <= {"holds", "not applicable"}
