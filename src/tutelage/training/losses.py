"""What students are asked to reproduce of their teacher, the loss, and its gradient at the output."""

from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

Loss = Literal["mse", "cross-entropy", "soft-cross-entropy", "binary-cross-entropy", "logistic", "exponential"]
"""mse: 1/2 |f* - f|^2, the sum over outputs (Tian 2020, eq. 2); cross-entropy: with the teacher's largest output as the
label; soft-cross-entropy: T^2 times the cross-entropy of the softmax of its outputs over a temperature T;
binary-cross-entropy: of every output by itself, with the teacher's sign as the label; logistic: log(1 + exp(-y f)) with
y = +-1 the teacher's sign, which is the same function; exponential: exp(-y f)."""


def labels(loss: Loss, taught: Tensor, temperature: float = 1.0) -> Tensor:
    """Labels from a teacher's outputs [S, N, C]: the outputs themselves, signs, or the probability of each class.

    >>> labels("cross-entropy", torch.tensor([[[1.0, 3.0, 2.0]]]))
    tensor([[[0., 1., 0.]]])
    """
    match loss:
        case "mse":
            return taught
        case "cross-entropy":
            return functional.one_hot(taught.argmax(-1), taught.shape[-1]).to(taught.dtype)
        case "soft-cross-entropy":
            return (taught if temperature == 1 else taught / temperature).softmax(-1)
        case "binary-cross-entropy":
            return (taught > 0).to(taught.dtype)
        case "logistic" | "exponential":
            return torch.where(taught > 0, 1.0, -1.0).to(taught.dtype)


def descent(loss: Loss, wanted: Tensor, got: Tensor, temperature: float = 1.0) -> Tensor:
    """Minus the gradient with respect to the outputs, sample by sample: y - f, y - softmax(f) or y - sigmoid(f)."""
    match loss:
        case "mse":
            return wanted - got
        case "binary-cross-entropy":
            return wanted - got.sigmoid()
        case "logistic":
            return wanted * (-wanted * got).sigmoid()
        case "exponential":
            return wanted * (-wanted * got).exp()
        case "soft-cross-entropy" if temperature != 1:
            return temperature * (wanted - (got / temperature).softmax(-1))
        case _:
            return wanted - got.softmax(-1)


def values(loss: Loss, wanted: Tensor, got: Tensor, temperature: float = 1.0) -> Tensor:
    """Mean loss of every member over its samples, the sum over outputs: labels and outputs [S, N, C] -> [S].

    >>> values("mse", torch.tensor([[[1.0, 0.0]]]), torch.tensor([[[0.0, 2.0]]]))
    tensor([2.5000])
    """
    match loss:
        case "mse":
            each = (wanted - got).square() / 2
        case "binary-cross-entropy":
            each = functional.binary_cross_entropy_with_logits(got, wanted, reduction="none")
        case "logistic":
            each = functional.softplus(-wanted * got)
        case "exponential":
            each = (-wanted * got).exp()
        case _:
            scale = temperature if loss == "soft-cross-entropy" else 1.0
            each = -(scale**2) * wanted * (got / scale).log_softmax(-1)
    return each.sum(-1).mean(1)
