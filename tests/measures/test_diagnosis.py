"""Each reason is given for a unit made to have it, with the numbers that were put in."""

import numpy as np
import pytest
import torch

from tutelage.measures import Report
from tutelage.measures.diagnosis import REASONS, diagnose, summary
from tutelage.networks import Network
from tutelage.training.inputs import Inputs

DIMENSION = 4


def two_layers(directions, biases, strengths, dtype=torch.float64):
    """A network whose units look along unit vectors, with fan-outs of given norms along different outputs."""
    w = torch.stack([torch.eye(DIMENSION, dtype=dtype)[i] for i in directions], dim=1)
    v = torch.diag(torch.tensor(strengths, dtype=dtype))
    b = torch.tensor([biases], dtype=dtype)
    return Network((w[None], v[None]), (b, torch.zeros(1, len(strengths), dtype=dtype)))


def points(count, dtype=torch.float64, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(1, count, DIMENSION, generator=generator, dtype=torch.float64).to(dtype)


def missed(teacher, student, train, **options):
    inputs = Inputs(train, points(2000, train.dtype, seed=1), (0,))
    return diagnose(teacher, student, inputs, **options)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_what_was_found_needs_no_reason(dtype):
    teacher = two_layers([0, 1], [-0.1, 0.2], [1.0, 0.5], dtype)
    assert missed(teacher, teacher, points(500, dtype)) == []


def test_a_boundary_outside_the_data():
    """A unit that is linear on all training samples, though the evaluation samples are not confined so."""
    teacher, student = two_layers([0, 1], [0.0, 0.0], [1.0, 1.0]), two_layers([0, 0], [0.0, 0.5], [1.0, 1.0])
    train = points(500)
    train[..., 1] = train[..., 1].abs() + 0.1
    (only,) = missed(teacher, student, train)
    assert (only.layer, only.unit, only.reason, only.samples) == (1, 1, "outside the data", 0)
    assert "one side" in str(only)


def test_a_boundary_that_no_student_observes():
    """All students are active on one side of it alone."""
    teacher, student = two_layers([0, 1], [0.0, 0.0], [1.0, 1.0]), two_layers([0, 0], [0.0, 0.5], [1.0, 1.0])
    train = points(500)
    train[..., 1] = torch.where(train[..., 0] > -0.5, train[..., 1].abs() + 0.05, train[..., 1])
    (only,) = missed(teacher, student, train)
    assert (only.unit, only.reason, only.observed) == (1, "unobserved", 0)
    assert only.samples > 0


def test_a_boundary_with_fewer_samples_near_it_than_it_has_unknowns():
    teacher, student = two_layers([0, 1], [0.0, 0.0], [1.0, 1.0]), two_layers([0, 0], [0.0, 0.5], [1.0, 1.0])
    train = points(500)
    train[..., 1] = train[..., 1] + train[..., 1].sign()
    (only,) = missed(teacher, student, train)
    assert (only.reason, only.near, only.unknowns) == ("starved", 0, DIMENSION + 1)


def test_a_weak_unit_and_one_that_is_merely_late():
    for strength, reason in ((0.05, "weak"), (0.5, "not yet reached")):
        teacher = two_layers([0, 1], [0.0, 0.0], [1.0, strength])
        student = two_layers([0, 0], [0.0, 0.5], [1.0, 1.0])
        (only,) = missed(teacher, student, points(2000))
        assert (only.reason, only.strength, only.strongest) == (reason, pytest.approx(strength), 1.0)
        assert only.rise is None


def test_the_history_tells_whether_a_unit_is_being_approached():
    teacher, student = two_layers([0, 1], [0.0, 0.0], [1.0, 0.5]), two_layers([0, 0], [0.0, 0.5], [1.0, 1.0])
    history = Report((0, 10, 20), {"best_correlation": np.array([[[0.1, 0.1]], [[0.9, 0.2]], [[1.0, 0.5]]])})
    (only,) = missed(teacher, student, points(2000), history=history)
    assert only.rise == pytest.approx(0.3)
    assert "+0.300" in str(only)


def test_a_unit_that_is_no_longer_approached_is_stuck():
    teacher, student = two_layers([0, 1], [0.0, 0.0], [1.0, 0.5]), two_layers([0, 0], [0.0, 0.5], [1.0, 1.0])
    for last, reason in ((0.4, "stuck"), (0.5, "stuck"), (0.5009, "stuck"), (0.51, "not yet reached")):
        history = Report((0, 10, 20), {"best_correlation": np.array([[[0.1, 0.1]], [[0.9, 0.5]], [[1.0, last]]])})
        (only,) = missed(teacher, student, points(2000), history=history)
        assert only.reason == reason
        assert str(only).startswith(f"{reason}: it is observed")


def test_deep_networks_and_several_members():
    """Units are named by layer; a member's diagnoses do not depend on who stands beside it."""
    generator = torch.Generator().manual_seed(0)

    def deep():
        shapes = (DIMENSION, 3), (3, 2), (2, 2)
        return Network(tuple(torch.randn(5, *shape, generator=generator, dtype=torch.float64) for shape in shapes))

    teacher, student = deep(), deep()
    inputs = Inputs(points(300).expand(5, -1, -1), points(300, seed=1).expand(5, -1, -1), tuple(range(5)))
    together = diagnose(teacher, student, inputs)
    assert {d.layer for d in together} == {1, 2}
    assert sum(summary(together).values()) == len(together)
    assert list(summary(together)) == list(REASONS)
    alone = diagnose(teacher[3], student[3], Inputs(inputs.train[3:4], inputs.evaluate[3:4], (3,)))
    assert [str(d) for d in together if d.member == 3] == [str(d) for d in alone]
