"""Per-sample gradients against autograd."""

import pytest
import torch

from tutelage.measures import Snapshot, find
from tutelage.networks import forward, outputs


@pytest.mark.parametrize("widths", [(5, 4, 3), (5, 4, 6, 3)])
def test_gradients_are_those_of_autograd(problem, widths):
    """g_1 is minus the derivative of the loss of a sample by its first pre-activations."""
    p = problem(widths=widths)
    s = Snapshot(p.teacher, p.students, p.inputs.train, p.inputs.evaluate)
    x = p.inputs.train
    shift = torch.zeros(3, x.shape[1], p.students.widths[1], dtype=x.dtype, requires_grad=True)
    f = ((x @ p.students.weights[0]) + p.students.biases[0][:, None] + shift).relu()
    for w, b in list(zip(p.students.weights, p.students.biases, strict=True))[1:]:
        last = f @ w + b[:, None]
        f = last.relu()
    loss = (outputs(p.teacher, x) - last).square().sum() / 2
    (gradient,) = torch.autograd.grad(loss, shift)
    assert forward(p.students, x).outputs.shape == last.shape
    torch.testing.assert_close(find("gradient_max")(s)[:, 0], gradient.abs().amax((1, 2)))
    width = p.students.widths[1]
    torch.testing.assert_close(find("gradient_rms")(s)[:, :width], gradient.square().mean(1).sqrt())


def test_a_student_equal_to_its_teacher_has_no_gradient(problem):
    p = problem()
    s = Snapshot(p.teacher, p.teacher, p.inputs.train, p.inputs.evaluate)
    assert (find("gradient_max")(s) == 0).all()
