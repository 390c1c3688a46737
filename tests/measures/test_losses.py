"""Losses are half the summed squared error."""

import pytest
import torch

from tutelage.measures import Snapshot, half_squares
from tutelage.measures.registry import find
from tutelage.networks import forward, outputs


def test_half_squares_of_a_worked_example():
    wanted, got = torch.tensor([[[1.0, 2.0], [0.0, 0.0]]]), torch.tensor([[[0.0, 0.0], [0.0, 4.0]]])
    assert half_squares(wanted, got).tolist() == [(5 + 16) / 2 / 2]


def test_losses_are_taken_on_their_own_points(problem, dtype):
    p = problem(dtype=dtype)
    s = Snapshot(p.teacher, p.students, p.inputs.train, p.inputs.evaluate)
    for name, points in (("train_loss", p.inputs.train), ("evaluate_loss", p.inputs.evaluate)):
        error = outputs(p.teacher, points) - outputs(p.students, points)
        torch.testing.assert_close(find(name)(s), error.square().sum(-1).mean(-1) / 2)


def test_the_teacher_has_no_loss_and_the_best_constant_has_the_label_power(problem):
    p = problem()
    s = Snapshot(p.teacher, p.teacher, p.inputs.train, p.inputs.evaluate)
    assert (find("evaluate_loss")(s) == 0).all()
    labels = outputs(p.teacher, p.inputs.evaluate)
    torch.testing.assert_close(find("label_power")(s), labels.var(1, correction=0).sum(-1) / 2)


def test_cross_entropy_and_agreement_are_torchs(problem, dtype):
    p = problem(dtype=dtype)
    s = Snapshot(p.teacher, p.students, p.inputs.train, p.inputs.evaluate)
    wanted = outputs(p.teacher, p.inputs.evaluate).argmax(-1)
    got = outputs(p.students, p.inputs.evaluate)
    for member in range(3):
        loss = torch.nn.functional.cross_entropy(got[member], wanted[member])
        torch.testing.assert_close(find("cross_entropy")(s)[member], loss)
        share = (got[member].argmax(-1) == wanted[member]).to(dtype).mean()
        torch.testing.assert_close(find("agreement")(s)[member], share)


def test_of_one_output_the_sign_is_the_class(problem, dtype):
    p = problem(dtype=dtype, widths=(6, 4, 1))
    s = Snapshot(p.teacher, p.students, p.inputs.train, p.inputs.evaluate)
    wanted, got = (outputs(network, p.inputs.evaluate)[..., 0] for network in (p.teacher, p.students))
    assert not ((wanted > 0) == (got > 0)).all()
    torch.testing.assert_close(find("agreement")(s), ((wanted > 0) == (got > 0)).to(dtype).mean(1))
    each = torch.nn.functional.binary_cross_entropy_with_logits(got, (wanted > 0).to(dtype), reduction="none")
    torch.testing.assert_close(find("cross_entropy")(s), each.mean(1))


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
