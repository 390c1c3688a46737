"""What students are asked to reproduce of their teacher, the loss, and its gradient at the output."""

from typing import Annotated, Literal, get_args

import torch
from pydantic import AfterValidator, BeforeValidator
from torch import Tensor
from torch.nn import functional

from tutelage.errors import TutelageError, unknown
from tutelage.training.own_functions import Function, OwnFunction, OwnFunctions

Loss = Literal["mse", "cross-entropy", "soft-cross-entropy", "binary-cross-entropy", "logistic", "exponential"]
"""mse: 1/2 |f* - f|^2, the sum over outputs (Tian 2020, eq. 2); cross-entropy: with the teacher's largest output as the
label; soft-cross-entropy: T^2 times the cross-entropy of the softmax of its outputs over a temperature T;
binary-cross-entropy: of every output by itself, with the teacher's sign as the label; logistic: log(1 + exp(-y f)) with
y = +-1 the teacher's sign, which is the same function; exponential: exp(-y f)."""


class OwnLoss(OwnFunction):
    """A registered loss."""

    def each(self, wanted: Tensor, got: Tensor) -> Tensor:
        """The loss of every sample [S, B]; an error where the function returns another shape."""
        losses = self.function(wanted, got)
        if not isinstance(losses, Tensor) or losses.shape != got.shape[:-1]:
            shape = list(losses.shape) if isinstance(losses, Tensor) else type(losses).__name__
            raise TutelageError(
                f"the loss '{self.name}' must return one number per sample, shape {list(got.shape[:-1])}, got {shape}"
            )
        return losses


LOSSES = OwnFunctions("loss", OwnLoss)


def loss(function: Function) -> Function:
    """Decorator that registers a loss under the name of its function.

    Parameters
    ----------
    function
        Called as ``function(labels, outputs)`` with the teacher's outputs and the students' [S, B, C]; it returns the
        loss of every sample [S, B], in torch operations. Its gradient at the outputs is found by automatic
        differentiation.

    Returns
    -------
    callable
        The same function.

    Examples
    --------
    >>> @loss
    ... def absolute(labels, outputs):
    ...     return (labels - outputs).abs().sum(-1)
    >>> LOSSES.pop("absolute").name
    'absolute'
    """
    if function.__name__ in get_args(Loss):
        raise TutelageError(f"there is a loss '{function.__name__}' already: give the new one another name")
    return LOSSES.register(function)


def _known(name: str) -> str:
    if name not in get_args(Loss) and name not in LOSSES:
        raise unknown("loss", name, [*get_args(Loss), *LOSSES])
    return name


LossName = Annotated[str, BeforeValidator(LOSSES.named), AfterValidator(_known)]
"""Type of a setting that names a loss; a function is accepted and registered under its name."""


def labels(loss: str, taught: Tensor, temperature: float = 1.0) -> Tensor:
    """Labels from a teacher's outputs [S, N, C]: the outputs themselves, signs, or the probability of each class.

    >>> labels("cross-entropy", torch.tensor([[[1.0, 3.0, 2.0]]]))
    tensor([[[0., 1., 0.]]])
    """
    match loss:
        case "cross-entropy":
            return functional.one_hot(taught.argmax(-1), taught.shape[-1]).to(taught.dtype)
        case "soft-cross-entropy":
            return (taught if temperature == 1 else taught / temperature).softmax(-1)
        case "binary-cross-entropy":
            return (taught > 0).to(taught.dtype)
        case "logistic" | "exponential":
            return torch.where(taught > 0, 1.0, -1.0).to(taught.dtype)
        case _:  # the squared error, and losses of a user
            return taught


def descent(loss: str, wanted: Tensor, got: Tensor, temperature: float = 1.0) -> Tensor:
    """Minus the gradient with respect to the outputs, sample by sample: y - f, y - softmax(f) or y - sigmoid(f)."""
    if loss in LOSSES:
        with torch.enable_grad():
            leaf = got.detach().requires_grad_()
            return -torch.autograd.grad(LOSSES[loss].each(wanted, leaf).sum(), leaf)[0]
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


def values(loss: str, wanted: Tensor, got: Tensor, temperature: float = 1.0) -> Tensor:
    """Mean loss of every member over its samples, the sum over outputs: labels and outputs [S, N, C] -> [S].

    >>> values("mse", torch.tensor([[[1.0, 0.0]]]), torch.tensor([[[0.0, 2.0]]]))
    tensor([2.5000])
    """
    if loss in LOSSES:
        return LOSSES[loss].each(wanted, got).mean(1)
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
