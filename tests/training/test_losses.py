"""Labels of each loss, and the gradient at the output, held to autograd."""

import numpy as np
import pytest
import torch

import tutelage as tt
from tutelage.errors import TutelageError
from tutelage.training import LOSSES, Training, loss, train
from tutelage.training.losses import descent, labels


@pytest.mark.parametrize("loss", ["mse", "cross-entropy", "soft-cross-entropy"])
def test_descent_is_minus_the_gradient(loss, dtype):
    taught, got = torch.randn(2, 5, 4, dtype=dtype), torch.randn(2, 5, 4, dtype=dtype, requires_grad=True)
    wanted = labels(loss, taught)
    if loss == "mse":
        value = (wanted - got).square().sum() / 2
    else:
        value = torch.nn.functional.cross_entropy(got.flatten(0, 1), wanted.flatten(0, 1), reduction="sum")
    (gradient,) = torch.autograd.grad(value, got)
    torch.testing.assert_close(descent(loss, wanted, got), -gradient)


def test_labels_are_probabilities_or_the_outputs():
    taught = torch.randn(3, 7, 5)
    assert labels("mse", taught) is taught
    hard, soft = labels("cross-entropy", taught), labels("soft-cross-entropy", taught)
    assert (hard.sum(-1) == 1).all()
    assert (hard.argmax(-1) == taught.argmax(-1)).all()
    torch.testing.assert_close(soft, taught.softmax(-1))


@pytest.mark.parametrize("loss", ["cross-entropy", "soft-cross-entropy"])
def test_a_loss_that_compares_outputs_needs_several(problem, loss):
    p = problem(widths=(6, 4, 1))
    with pytest.raises(TutelageError, match=f"the loss '{loss}' compares outputs, and there is one: use 'logistic'"):
        train(p.teacher, p.students, p.inputs, steps=5, batch=4, loss=loss)


@pytest.fixture
def quartic():
    before = dict(LOSSES)

    @loss
    def quartic(labels, outputs):
        return (labels - outputs).pow(4).sum(-1)

    yield quartic
    LOSSES.clear()
    LOSSES.update(before)


def test_a_loss_of_a_user_is_its_loop(problem, quartic):
    p = problem(scale=0.5)
    rate, steps = 1e-4, 15
    settings = {"steps": steps, "batch": "all", "learning_rate": rate, "loss": quartic}
    run = train(p.teacher, p.students, p.inputs, **settings)
    assert "the loss 'quartic' is a function" in run.why
    taught = tt.networks.outputs(p.teacher, p.inputs.train).numpy()
    for member in range(3):
        w, v, b, c = (a[member].numpy().copy() for a in p.students.parameters)
        x = p.inputs.train[member].numpy()
        for _ in range(steps):
            u = x @ w + b
            error = 4 * (np.maximum(u, 0) @ v + c - taught[member]) ** 3 / len(x)
            sent = error @ v.T * (u > 0)
            v, c = v - rate * np.maximum(u, 0).T @ error, c - rate * error.sum(0)
            w, b = w - rate * x.T @ sent, b - rate * sent.sum(0)
        for mine, wanted in zip((a[member] for a in run.students.parameters), (w, v, b, c), strict=True):
            np.testing.assert_allclose(mine.numpy(), wanted, rtol=1e-9, atol=1e-11)


def test_a_stopping_rule_looks_at_the_loss_of_the_user(problem, quartic):
    p = problem()
    stop = {"kind": "loss-below", "threshold": 1e9, "every": 2}
    assert train(p.teacher, p.students, p.inputs, steps=6, loss=quartic, stop=stop).stopped_at.tolist() == [2, 2, 2]


def test_losses_that_are_none(problem, quartic):
    p = problem()
    with pytest.raises(TutelageError, match="unknown loss 'quartix'; did you mean 'quartic'"):
        Training(steps=1, loss="quartix")

    @loss
    def summed(labels, outputs):
        return (labels - outputs).sum()

    with pytest.raises(
        TutelageError, match=r"the loss 'summed' must return one number per sample, shape \[3, 16\], got"
    ):
        train(p.teacher, p.students, p.inputs, steps=1, loss=summed)
    with pytest.raises(TutelageError, match="there is a loss 'logistic' already"):
        loss(type(quartic)(quartic.__code__, {}, "logistic"))
