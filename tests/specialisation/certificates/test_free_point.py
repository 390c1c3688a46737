"""Lemma 6 of Tian 2020: enough samples in a band, and nothing aligned with it, leave a sample free of all others."""

import pytest
import torch


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
