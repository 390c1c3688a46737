"""Overlaps and the exact generalisation error of recorded students."""

import numpy as np
import pytest
import torch

import tutelage as tt
from tutelage import TutelageError
from tutelage.measures import MEASURES, Snapshot
from tutelage.measures import overlaps as fan_out_module
from tutelage.measures.overlaps import fan_out, fan_out_norms, observations, strength
from tutelage.measures.registry import find
from tutelage.measures.snapshot import slices
from tutelage.networks import beta, forward
from tutelage.networks import fan_out as fan_out_matrices


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


@pytest.mark.parametrize("widths", [(5, 4, 3), (5, 4, 6, 3), (4, 3, 5, 4, 2)])
def test_norms_are_the_root_mean_of_beta_at_every_layer(problem, widths, monkeypatch):
    """sqrt(E beta_kk), also when the samples are worked through a few at a time."""
    monkeypatch.setattr(fan_out_module, "_ELEMENTS", 200)
    p = problem(widths=widths)
    activity = forward(p.students, p.inputs.evaluate)
    wanted = []
    for layer in range(1, p.students.depth):
        b = beta(fan_out_matrices(p.students, activity, layer))
        diagonal = torch.diagonal(b, dim1=-2, dim2=-1)[..., : p.students.widths[layer]]
        wanted.append(diagonal.mean(1).sqrt())
    torch.testing.assert_close(fan_out_norms(p.students, activity), torch.cat(wanted, dim=1))


def test_two_layers_need_no_samples(problem, dtype):
    p = problem(dtype=dtype)
    s = Snapshot(p.teacher, p.students, p.inputs.train, p.inputs.evaluate)
    assert torch.equal(fan_out(s), p.students.weights[1].norm(dim=2))
    assert torch.equal(strength(s), p.teacher.weights[1].norm(dim=2))


def test_counts_equal_a_loop_over_samples(dtype):
    draw = torch.Generator().manual_seed(2)
    teacher, students = (torch.randn(2, 30, n, generator=draw, dtype=dtype).relu() for n in (3, 4))
    measured = observations(teacher, students)
    for s in range(2):
        for j in range(3):
            for k in range(4):
                active = students[s, :, k] > 0
                above = int(((teacher[s, :, j] > 0) & active).sum())
                below = int(((teacher[s, :, j] <= 0) & active).sum())
                assert measured[s, j, k] == min(above, below)


def test_a_dead_student_observes_nothing_and_a_unit_does_not_observe_itself():
    teacher = torch.tensor([[[1.0], [0.0], [2.0]]])
    students = torch.cat([torch.zeros(1, 3, 1), teacher, torch.ones(1, 3, 1)], dim=-1)
    assert observations(teacher, students).tolist() == [[[0.0, 0.0, 1.0]]]


def test_observed_is_the_best_observer(problem):
    p = problem()
    s = Snapshot(p.teacher, p.students, p.inputs.train, p.inputs.evaluate)
    assert torch.equal(find("observed")(s), find("observers")(s).amax(2))
