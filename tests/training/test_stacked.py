"""The reference engine is SGD, held to autograd step by step."""

import pytest
import torch

from tutelage.networks import outputs
from tutelage.training import Task, Training
from tutelage.training.stacked import Stacked, step


@pytest.mark.parametrize("activation", ["relu", "leaky", "abs", "linear"])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("widths", [(5, 4, 3), (5, 4, 6, 3), (4, 3, 5, 4, 2)])
def test_a_step_is_the_gradient_of_the_loss(problem, activation, bias, widths):
    """W - rate * dJ/dW with J = 1/2 mean over the batch of the squared error summed over outputs (Tian 2020, eq. 2)."""
    p = problem(widths=widths, activation=activation, bias=bias)
    x, y = p.inputs.train[:, :7], outputs(p.teacher, p.inputs.train)[:, :7]
    rates = torch.tensor([0.1, 0.2, 0.3], dtype=torch.float64)
    students = p.students.map(lambda a: a.clone().requires_grad_())
    loss = ((y - outputs(students, x)).square().sum(-1) / 2).mean(-1).sum()
    gradients = torch.autograd.grad(loss, students.parameters)
    moved = p.students.map(torch.clone)
    step(moved, x, y, rates[:, None, None] / 7)
    for before, after, gradient in zip(p.students.parameters, moved.parameters, gradients, strict=True):
        wanted = before - rates.view(-1, *[1] * (before.ndim - 1)) * gradient
        torch.testing.assert_close(after, wanted, rtol=1e-10, atol=1e-12)


def test_training_is_one_step_after_another(problem, dtype):
    p = problem(dtype=dtype)
    labels = outputs(p.teacher, p.inputs.train)
    task = Task(p.inputs.train, labels, Training(steps=9, batch=5, learning_rate=(0.1, 0.2, 0.05)), p.seeds)
    by_hand = p.students.map(torch.clone)
    members = torch.arange(3).unsqueeze(1)
    for t, rows in enumerate(task.rows(0, 9).unbind(1)):
        rates = torch.tensor(task.rates(t, t + 1) / 5).to(dtype)[:, :, None]
        step(by_hand, p.inputs.train[members, rows], labels[members, rows], rates)
    trained = Stacked(task).advance(p.students, 0, 9)
    assert all(torch.equal(a, b) for a, b in zip(trained.parameters, by_hand.parameters, strict=True))


def test_full_batch_descent_lowers_the_training_loss_of_every_member(problem):
    p = problem()
    labels = outputs(p.teacher, p.inputs.train)
    task = Task(p.inputs.train, labels, Training(steps=200, batch="all", learning_rate=0.02), p.seeds)

    def loss(students):
        return (labels - outputs(students, p.inputs.train)).square().sum(-1).mean(-1)

    losses = [loss(p.students)]
    students = p.students
    for t in range(20):
        students = Stacked(task).advance(students, 10 * t, 10 * t + 10)
        losses.append(loss(students))
    assert (torch.stack(losses).diff(dim=0) < 0).all()


def test_shared_points_train_as_copied_points(problem):
    p = problem()
    shared = p.inputs.train[:1].expand(3, -1, -1)
    labels = outputs(p.teacher, shared)
    training = Training(steps=30)
    one = Stacked(Task(shared, labels, training, p.seeds)).advance(p.students, 0, 30)
    two = Stacked(Task(shared.contiguous(), labels, training, p.seeds)).advance(p.students, 0, 30)
    assert all(torch.equal(a, b) for a, b in zip(one.parameters, two.parameters, strict=True))


@pytest.mark.parametrize("activation", ["relu", "leaky", "abs", "linear"])
def test_the_compiled_pass_over_a_layer_has_the_bits_of_separate_passes(random_network, activation, dtype, monkeypatch):
    students = random_network((5, 40, 30, 3), members=2, activation=activation, dtype=dtype)
    points = torch.randn(2, 50, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64).to(dtype)
    points[0, 0] = 0
    task = Task(points, points[..., :3].clone(), Training(steps=9, batch=20, learning_rate=0.01), (0, 1))
    results = []
    for worthwhile in (1, 1 << 60):
        monkeypatch.setattr("tutelage.training.stacked._WORTHWHILE", worthwhile)
        results.append(Stacked(task).advance(students, 0, 9))
    assert all(torch.equal(a, b) for a, b in zip(results[0].parameters, results[1].parameters, strict=True))
