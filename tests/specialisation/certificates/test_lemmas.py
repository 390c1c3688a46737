"""Lemmas 3 and 4 of Tian 2020: shown by second differences, and by the rank of the features."""

import pytest
import torch

from tutelage.specialisation.certificates.scene import scenes


@pytest.mark.parametrize("activation", ["relu", "leaky"])
@pytest.mark.parametrize("seed", range(4))
def test_it_holds_where_features_and_linear_functions_have_full_rank(build, one, activation, seed):
    b = build(seed)
    teacher, student = b.teacher(activation=activation), b.teacher(hidden=4, activation=activation)
    points = b.points(2000, 3)
    certificate = one("relu-independence", teacher, student, points)
    assert certificate.verdict == "holds"
    u = next(scenes(teacher, student, points)).sample_heights[0]
    features = torch.cat([torch.where(u > 0, u, (activation == "leaky") * 0.1 * u), points, torch.ones(2000, 1)], dim=1)
    assert torch.linalg.matrix_rank(features) == 3 + 4 + 3 + 1


def test_it_is_about_the_first_layer_of_deep_networks_too(build, one):
    b = build()
    assert one("relu-independence", b.teacher(deeper=(4,)), b.teacher(deeper=(4,)), b.points(500, 3)).verdict == "holds"


def test_conditions_are_missed_by_name(build, one):
    b = build(1)
    teacher, points = b.teacher(), b.points(300, 3)
    same = one("relu-independence", teacher, b.idle(teacher), points)
    assert same.unmet == ("no two units have the same boundary",)
    turned = b.teacher()
    turned.weights[0][:, :, 0], turned.biases[0][:, 0] = -teacher.weights[0][:, :, 2], -teacher.biases[0][:, 2]
    found = one("relu-independence", teacher, turned, points)
    assert found.unmet == ("no two units have the same boundary",)
    assert found.parts[0].conditions[1].witness == "teacher unit 2 and student unit 0"
    flat = b.teacher()
    flat.weights[0][:, :, 0] = 0
    assert one("relu-independence", teacher, flat, points).unmet == ("every unit has weights",)
    far = [net.map(torch.clone) for net in (teacher, b.teacher())]
    for net in far:
        net.biases[0][:] = 100.0
    assert one("relu-independence", *far, points).unmet == ("boundaries cross the data",)


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


def test_conditions_are_missed_by_name_three_points(build, one):
    b = build(1)
    teacher, points = b.teacher(inputs=2, hidden=2, outputs=2), b.points(500, 2)
    same = one("three-points", teacher, teacher, points)
    assert same.unmet == ("a sample is nearer to this boundary than to any other",)
    silent = b.teacher(inputs=2, hidden=2, outputs=2)
    silent.weights[1][:] = 0
    assert "the unit's coefficient is not zero" in one("three-points", teacher, silent, points).unmet
    teacher.weights[0][:, :, 0] = 0
    assert "the unit has weights" in one("three-points", teacher, b.teacher(inputs=2), points).unmet


def grid(count, low=-2.0, high=2.0):
    return torch.linspace(low, high, count, dtype=torch.float64)[:, None]


@pytest.fixture
def line(build):
    """One input: boundaries at 0 (teacher) and at 1 (student), well apart."""
    b = build()
    return b, b.two_layers([[1.0]], [0.0], [[1.0]], [0.0]), b.two_layers([[-2.0]], [2.0], [[1.0]], [0.0])


def test_it_holds_and_the_sample_is_free(line, one):
    _, teacher, student = line
    points = grid(2001)
    certificate = one("free-point", teacher, student, points, epsilon=0.1)
    assert certificate.verdict == "holds"
    x = float(points[certificate.parts[0].conclusion.data["sample"]])
    assert abs(x) <= 0.1 + 1e-12
    assert abs(x - 1) > 0.2


def test_it_holds_in_the_plane_with_constants_from_the_samples(build, one):
    b = build(1)
    teacher = b.two_layers([[1.0], [0.0]], [0.0], [[1.0]], [0.0])
    student = b.two_layers([[0.0], [1.0]], [0.3], [[1.0]], [0.0])
    points = torch.rand(40_000, 2, generator=b.draw, dtype=torch.float64) * 2 - 1
    certificate = one("free-point", teacher, student, points, epsilon=0.02, gamma=1.0)
    assert certificate.verdict == "holds"
    data = certificate.parts[0].conditions[-1].data
    assert data["M_1"] == pytest.approx(4 * data["eta"] * 2)
    assert data["M_2"] == pytest.approx(2 + data["M_1"] * (4 * data["mu"] * 2 / 2) ** 0.5)


def test_every_condition_is_missed_by_name(line, one, build):
    b, teacher, student = line
    assert one("free-point", teacher, student, grid(101)).unmet == ("samples in the band",)
    near = b.two_layers([[2.0]], [0.1], [[1.0]], [0.0])
    aligned = one("free-point", teacher, near, grid(2001))
    assert aligned.unmet == ("no other unit is aligned by (M_1 eps, M_2 eps)",)
    flat = b.two_layers([[0.0]], [1.0], [[1.0]], [0.0])
    assert "the unit has weights" in one("free-point", flat, student, grid(2001)).unmet
    teacher, student = (b.two_layers([[x], [y]], [0.0], [[1.0]], [0.0]) for x, y in ((1.0, 0.0), (0.0, 1.0)))
    piled = torch.stack([torch.zeros(4000), torch.ones(4000)], dim=1).double()
    assert one("free-point", teacher, student, piled).verdict == "holds"
    on_it = torch.zeros(4000, 2, dtype=torch.float64)
    certificate = one("free-point", teacher, student, on_it)
    assert certificate.unmet == ("at most d + 1 samples of the band lie on one hyperplane",)
    assert certificate.parts[0].conclusion.holds is False


def test_too_few_samples_leave_the_other_conditions_unevaluated(line, one):
    _, teacher, student = line
    conditions = one("free-point", teacher, student, grid(11)).parts[0].conditions
    assert [c.holds for c in conditions] == [True, False, None, None]
    assert conditions[-1].value is None
