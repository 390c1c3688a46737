"""Gradient norms against autograd, and eigenvalues of the Hessian against the whole matrix."""

import pytest
import torch

from tutelage.measures import MEASURES, hessian_eigenvalues
from tutelage.measures.snapshot import slices


def flat_loss(network, points, labels, activation):
    """J of one member as a function of its weights in one vector."""
    shapes = [a.shape[1:] for a in network.parameters]

    def loss(vector):
        arrays = [p.view(shape) for p, shape in zip(vector.split([s.numel() for s in shapes]), shapes, strict=True)]
        f = points
        for layer in range(network.depth):
            f = f @ arrays[layer] + arrays[network.depth + layer]
            if layer < network.depth - 1:
                f = activation(f)
        return (labels - f).square().sum() / (2 * len(points))

    return loss


@pytest.mark.parametrize(("name", "function"), [("tanh", torch.tanh), ("relu", torch.relu)])
@pytest.mark.parametrize("widths", [(4, 3, 2), (3, 3, 2, 2)])
def test_eigenvalues_are_those_of_the_whole_hessian(random_network, name, function, widths):
    students = random_network(widths, members=2, activation=name)
    teacher = random_network(widths, members=2, seed=1)
    x = torch.randn(2, 30, widths[0], dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    y = torch.randn(2, 30, widths[-1], dtype=torch.float64, generator=torch.Generator().manual_seed(4))
    found = hessian_eigenvalues(students, x, y, count=3)
    assert teacher.members == found.shape[0]
    for s in range(2):
        vector = torch.cat([a[s].flatten() for a in students.parameters])
        whole = torch.autograd.functional.hessian(flat_loss(students, x[s], y[s], function), vector)
        torch.testing.assert_close(found[s], torch.linalg.eigvalsh(whole).flip(0)[:3], rtol=1e-8, atol=1e-9)


def test_the_gradient_norm_is_autograds(problem):
    p = problem(activation="erf")
    (now,) = slices(p.teacher, p.students, p.inputs)
    measured = MEASURES["gradient_norm"](now)
    labels = now.teacher_training_activity.outputs
    for s in range(3):
        vector = torch.cat([a[s].flatten() for a in p.students.parameters]).requires_grad_()
        loss = flat_loss(p.students, now.train[s], labels[s], lambda u: torch.erf(u / 2**0.5))(vector)
        (gradient,) = torch.autograd.grad(loss, vector)
        torch.testing.assert_close(measured[s], gradient.norm())


def test_sharpness_is_the_first_of_the_eigenvalues(problem):
    p = problem(activation="tanh")
    (now,) = slices(p.teacher, p.students, p.inputs)
    labels = now.teacher_training_activity.outputs
    torch.testing.assert_close(MEASURES["sharpness"](now), hessian_eigenvalues(p.students, now.train, labels, 2)[:, 0])
