"""What students are asked to reproduce of their teacher, and the gradient of the loss at the output."""

from typing import Literal

import torch
from torch import Tensor

Loss = Literal["mse", "cross-entropy", "soft-cross-entropy", "binary-cross-entropy"]
"""mse: 1/2 |f* - f|^2, the sum over outputs (Tian 2020, eq. 2); cross-entropy: with the teacher's largest output as the
label; soft-cross-entropy: with the softmax of its outputs as probabilities;
binary-cross-entropy: of every output by itself, with the teacher's sign as the label."""


def labels(loss: Loss, taught: Tensor) -> Tensor:
    """Labels from a teacher's outputs [S, N, C]: the outputs themselves, or the probability of each class.

    >>> labels("cross-entropy", torch.tensor([[[1.0, 3.0, 2.0]]]))
    tensor([[[0., 1., 0.]]])
    """
    match loss:
        case "mse":
            return taught
        case "cross-entropy":
            return torch.nn.functional.one_hot(taught.argmax(-1), taught.shape[-1]).to(taught.dtype)
        case "soft-cross-entropy":
            return taught.softmax(-1)
        case "binary-cross-entropy":
            return (taught > 0).to(taught.dtype)


def descent(loss: Loss, wanted: Tensor, got: Tensor) -> Tensor:
    """Minus the gradient with respect to the outputs, sample by sample: y - f, y - softmax(f) or y - sigmoid(f)."""
    if loss == "binary-cross-entropy":
        return wanted - got.sigmoid()
    return wanted - (got if loss == "mse" else got.softmax(-1))
