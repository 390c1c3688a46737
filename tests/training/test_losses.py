"""Labels of each loss, and the gradient at the output, held to autograd."""

import pytest
import torch

from tutelage.errors import TutelageError
from tutelage.training import train
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
