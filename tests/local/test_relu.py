"""ReLU students through absolute values."""

import math

import pytest
import torch

from tutelage import TutelageError
from tutelage.local import relu
from tutelage.local.exact import loss
from tutelage.local.grouping import groups
from tutelage.local.setting import LocalSetting, effective
from tutelage.local.starts import local_students, plane_teachers, separated_teachers
from tutelage.population import expectations as population


def setting():
    teachers = separated_teachers(3, 4, [0, 1])
    return LocalSetting(teachers, local_students(teachers, 5, [0, 1], spread=1.0))


def relu_units(w, members):
    ones = torch.ones(members, w.shape[1], 1, dtype=torch.float64)
    return population.Units(w, ones, "relu")


def test_without_a_linear_term_against_the_population_layer():
    s = setting()
    exact = population.loss(relu_units(s.teachers, 2), relu_units(effective(s.students), 2))
    assert torch.allclose(relu.relu_loss(s, linear=False), exact, rtol=1e-11)


def test_the_linear_term_is_the_best_and_leaves_a_quarter():
    s = setting()
    x = torch.randn(2, 300_000, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    off = (x @ s.teachers.mT).relu().sum(2) - (x @ effective(s.students).mT).relu().sum(2)
    fitted = torch.linalg.lstsq(x, off.unsqueeze(2)).solution.squeeze(2)
    assert torch.allclose(fitted, relu.best_linear(s), atol=0.02)
    squares = (off - (x @ relu.best_linear(s).unsqueeze(2)).squeeze(2)) ** 2 / 2
    assert bool(((squares.mean(1) - relu.relu_loss(s)).abs() < 4 * squares.std(1) / 300_000**0.5).all())


def test_labels_are_reduced():
    teachers = setting().teachers
    x = torch.randn(2, 100_000, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    wanted, slope = relu.absolute_labels(x, (x @ teachers.mT).relu().sum(2))
    assert torch.allclose(slope, teachers.sum(1) / 2, atol=0.02)
    assert (wanted - (x @ teachers.mT).abs().sum(2)).std() < 0.05
    with pytest.raises(TutelageError, match="give more"):
        relu.absolute_labels(x[:, :3], x[:, :3, 0])


def test_claim_1_and_the_printed_difference():
    """f - f* = -sum w*.x for mirrored students; the paper prints 2 sum w*.x."""
    balanced = relu.mirrored(plane_teachers([0, 120, 240]))
    assert relu.relu_loss(balanced, linear=False).item() < 1e-15
    student = balanced.students[0, 0] / balanced.students[0, 0].norm()
    cosines = (balanced.teachers[0] @ student).tolist()
    assert max(cosines) == pytest.approx(math.cos(math.pi / 3))
    assert groups(balanced).angle.max() < 1e-6  # as absolute values they are perfect
    assert loss(balanced).item() < 1e-25
    tilted = relu.mirrored(plane_teachers([0, 100, 240]))
    x = torch.randn(50, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    gap = (x @ effective(tilted.students[0]).T).relu().sum(1) - (x @ tilted.teachers[0].T).relu().sum(1)
    total = x @ tilted.teachers[0].sum(0)
    assert torch.allclose(gap, -total)
    assert not torch.allclose(gap, 2 * total)
