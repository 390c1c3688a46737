"""Overlaps and the exact generalisation error of recorded students."""

import numpy as np
import pytest
import torch

import tutelage as tt
from tutelage import TutelageError
from tutelage.measures import MEASURES
from tutelage.measures.snapshot import slices


def test_overlaps_are_those_of_the_order_parameters(problem):
    p = problem(bias=False)
    (now,) = slices(p.teacher, p.students, p.inputs)
    torch.testing.assert_close(
        MEASURES["overlap"](now)[1, 2, 5], p.teacher.weights[0][1, :, 2] @ p.students.weights[0][1, :, 5]
    )
    torch.testing.assert_close(MEASURES["self_overlap"](now)[2, 3], p.students.weights[0][2, :, 3].square().sum())
    torch.testing.assert_close(MEASURES["teacher_overlap"](now)[2, 3], p.teacher.weights[0][2, :, 3].square().sum())
    for name, weights in (("student_overlaps", p.students.weights[0]), ("teacher_overlaps", p.teacher.weights[0])):
        found = MEASURES[name](now)
        assert found.shape == (len(weights), weights.shape[2], weights.shape[2])
        torch.testing.assert_close(found[1, 2, 3], weights[1, :, 2] @ weights[1, :, 3])


def test_the_population_loss_is_the_loss_on_very_many_points(problem):
    p = problem()
    many = tt.inputs.Gaussian(std=1.5, train=1, evaluate=200_000).draw(p.teacher, p.seeds)
    (now, *_) = slices(p.teacher, p.students, many)
    exact = np.concatenate([MEASURES["population_loss"](part).numpy() for part in slices(p.teacher, p.students, many)])
    sampled = np.concatenate([MEASURES["evaluate_loss"](part).numpy() for part in slices(p.teacher, p.students, many)])
    assert now.distribution == tt.inputs.Gaussian(std=1.5, train=1, evaluate=200_000)
    np.testing.assert_allclose(exact, sampled, rtol=0.02)


def test_other_inputs_than_gaussian_have_no_population_loss(problem):
    p = problem()
    inputs = tt.inputs.Sphere(train=5, evaluate=5).draw(p.teacher, p.seeds)
    (now,) = slices(p.teacher, p.students, inputs)
    with pytest.raises(TutelageError, match="inputs of the kind 'gaussian', and these are 'sphere'"):
        MEASURES["population_loss"](now)
