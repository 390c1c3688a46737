r"""Losses of the margin m = y h(x): by their logarithms, so that nothing vanishes where the loss is 1e-300.

.. math:: \ell_i = \phi(m_i), \qquad -\phi' > 0

The sector lemmas of Phuong 2021, chapter 3 hold for every one of them; the max-margin limit wants an exponential tail.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from tutelage.errors import unknown


@dataclass(frozen=True)
class Loss:
    """A loss by name. at_zero: -phi'(0); bound: the largest -phi'; exponential_tail: whether the limits apply."""

    name: str
    code: int
    at_zero: float
    bound: float
    exponential_tail: bool


LOSSES = {
    loss.name: loss
    for loss in (
        Loss("logistic", 0, 0.5, 1.0, True),
        Loss("exponential", 1, 1.0, math.inf, True),
        Loss("polynomial", 2, 1.0, 1.0, False),
    )
}
"""log(1 + e^-m); e^-m; and (1 + m)^-2 / 2 for m >= 0 with its tangent below, whose tail is a power."""


def loss_of(name: str) -> Loss:
    """The loss of that name.

    >>> loss_of("logistic").at_zero
    0.5
    """
    if name not in LOSSES:
        raise unknown("loss", name, LOSSES)
    return LOSSES[name]


def log_loss(name: str, margin: Tensor) -> Tensor:
    """log phi(m), any shape.

    >>> [round(v, 4) for v in log_loss("logistic", torch.tensor([0.0, 800.0], dtype=torch.float64)).tolist()]
    [-0.3665, -800.0]
    """
    match loss_of(name).code:
        case 0:
            # Beyond a margin of 30, log(1 + e^-m) is e^-m to the last digit of float64, and its logarithm is -m.
            small = torch.nn.functional.softplus(-margin.clamp_max(30.0)).log()
            return torch.where(margin > 30, -margin, small)
        case 1:
            return -margin
        case _:
            above = -2 * margin.clamp_min(0).log1p() - math.log(2)
            return torch.where(margin > 0, above, (0.5 - margin.clamp_max(0)).log())


def log_slope(name: str, margin: Tensor) -> Tensor:
    """log -phi'(m), any shape."""
    match loss_of(name).code:
        case 0:
            return -torch.logaddexp(torch.zeros_like(margin), margin)
        case 1:
            return -margin
        case _:
            return -3 * margin.clamp_min(0).log1p()


def margin_of(name: str, log_value: Tensor) -> Tensor:
    """The margin at which the loss has a given logarithm, the inverse of :func:`log_loss`; g of (Phuong 2021, eq.
    3.19).

    >>> bool((margin_of("logistic", log_loss("logistic", torch.tensor(2.5))) - 2.5).abs() < 1e-5)
    True
    """
    match loss_of(name).code:
        case 0:
            # m = -log(e^l - 1). Three ranges: for small losses e^l - 1 is l to second order, for tiny ones only the
            # logarithm of the loss is representable, and for large ones e^l swallows the 1.
            value = log_value.clamp_max(6.0).exp()
            plain = -torch.where(value > 1e-5, value.expm1(), value * (1 + value / 2)).log()
            return torch.where(log_value < -30, -log_value, torch.where(log_value > 6, -log_value.exp(), plain))
        case 1:
            return -log_value
        case _:
            above = (-(log_value + math.log(2)) / 2).expm1()
            return torch.where(log_value < -math.log(2), above, 0.5 - log_value.exp())
