"""Tian 2019, eq. 6 and Theorem 6: growth of norms against small steps, the pull against Monte Carlo."""

import math

import pytest
import torch

from tutelage.networks import outputs
from tutelage.specialisation.certificates.growth import closed_pull, pull


def stepped(student, teacher, points, size):
    """|w_k|^2 of every unit after one step of gradient descent, bias included, per hidden layer."""
    net = student.map(lambda a: a.clone().requires_grad_())
    loss = (outputs(teacher, points[None]) - outputs(net, points[None])).square().sum(2).mean() / 2
    loss.backward()
    after = net.map(lambda a: (a - size * a.grad).detach())
    return [w.square().sum(1) + b.square() for w, b in zip(after.weights[:-1], after.biases[:-1], strict=True)]


@pytest.mark.parametrize("activation", ["relu", "leaky"])
@pytest.mark.parametrize("deeper", [(), (4,)], ids=["two layers", "three layers"])
def test_norms_grow_as_small_steps_make_them_grow(build, one, activation, deeper):
    b = build(3)
    teacher = b.teacher(activation=activation, deeper=deeper)
    student = b.teacher(hidden=5, activation=activation, deeper=deeper)
    points = b.points(200, 3)
    certificate = one("norm-growth", teacher, student, points)
    assert certificate.verdict == "holds"
    forward, backward = (stepped(student, teacher, points, size) for size in (1e-5, -1e-5))
    for part, more, less in zip(certificate.parts, forward, backward, strict=True):
        assert part.conclusion.data["growth"] == pytest.approx(((more - less) / 4e-5)[0].tolist(), rel=1e-6)


def test_a_student_that_has_learned_everything_stands_still(build, one):
    b = build(1)
    teacher = b.teacher()
    certificate = one("norm-growth", teacher, teacher, b.points(50, 3))
    assert certificate.verdict == "holds"
    assert certificate.parts[0].conclusion.data["growth"] == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("wrong", [0.999, -1.0])
def test_another_growth_would_be_noticed(build, one, monkeypatch, wrong):
    from tutelage.specialisation.certificates import growth

    true = growth._half_growth
    monkeypatch.setattr(growth, "_half_growth", lambda *about: [wrong * speed for speed in true(*about)])
    b = build(1)
    assert one("norm-growth", b.teacher(), b.teacher(), b.points(50, 3)).verdict == "fails"


ANGLES = torch.tensor([0.0, 1e-8, 0.3, 1.0, math.pi / 2, 2.5, math.pi - 1e-8, math.pi], dtype=torch.float64)


@pytest.mark.parametrize("leak", [0.0, 0.1, 1.0, -1.0])
def test_the_pull_is_the_integral_at_every_angle(leak):
    first, second = closed_pull(ANGLES, leak)
    x, y = pull(ANGLES, leak)
    assert torch.allclose(x, first + second * ANGLES.cos(), rtol=0, atol=1e-14)
    assert torch.allclose(y, second * ANGLES.sin(), rtol=0, atol=1e-14)


@pytest.mark.parametrize("activation", ["relu", "leaky"])
def test_the_pull_is_that_of_gaussian_inputs(build, activation):
    """Monte Carlo in five dimensions, with standard errors."""
    b = build(5)
    w, u = b.normal(5), 3 * b.normal(5)
    leak = 0.1 if activation == "leaky" else 0.0
    theta = torch.arccos(w @ u / (w.norm() * u.norm()))
    first, second = closed_pull(theta, leak)
    expected = first * w + second * w.norm() * u / u.norm()
    x = b.normal(400_000, 5)
    gate, height = torch.where(x @ u > 0, 1.0, leak), x @ w
    each = x * (gate * torch.where(height > 0, height, leak * height))[:, None]
    error = each.std(0) / len(x) ** 0.5
    assert ((each.mean(0) - expected).abs() < 5 * error).all()


def test_the_formula_as_printed_is_wrong_for_units_of_unequal_length():
    """Its direction (pi - theta) w* + sin(theta) w_k is not that of the mean where |w_k| is not |w*|."""
    theta = torch.tensor(1.0, dtype=torch.float64)
    x, y = pull(theta)
    length = 4.0
    printed = (math.pi - 1 + length * math.sin(1) * math.cos(1), length * math.sin(1) ** 2)
    assert abs(math.atan2(float(y), float(x)) - math.atan2(printed[1], printed[0])) > 0.2


@pytest.mark.parametrize("activation", ["relu", "leaky"])
def test_the_certificate_holds_without_biases_and_names_what_is_missing(build, one, activation):
    b = build(2)
    teacher, student = (b.teacher(activation=activation, inputs=4) for _ in range(2))
    points = b.points(20, 4)
    assert one("teacher-pull", teacher, student, points).unmet == ("units have no bias",)
    for net in (teacher, student):
        net.biases[0][:] = 0
    certificate = one("teacher-pull", teacher, student, points)
    assert certificate.verdict == "holds"
    assert all(min(part.conclusion.data["weights"]) >= 0 for part in certificate.parts)
    student.weights[0][:, :, 0] = 0
    assert one("teacher-pull", teacher, student, points).unmet == ("units have weights",)
