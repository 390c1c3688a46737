"""Activations that are a gate times the pre-activation, sigma(u) = z(u) u: relu, leaky, abs and linear.

The gate is all the theory of the papers needs (Tian 2020, section 3): f = z u, and back-propagation multiplies by z.
"""

from collections.abc import Callable

import torch
from torch import Tensor

Gate = Callable[[Tensor, float], Tensor]


def _relu(u: Tensor, slope: float) -> Tensor:
    return (u > 0).to(u.dtype)


def _leaky(u: Tensor, slope: float) -> Tensor:
    return torch.where(u > 0, torch.ones_like(u), torch.full_like(u, slope))


def _abs(u: Tensor, slope: float) -> Tensor:
    return torch.sign(u)


def _linear(u: Tensor, slope: float) -> Tensor:
    return torch.ones_like(u)


ACTIVATIONS: dict[str, Gate] = {"relu": _relu, "leaky": _leaky, "abs": _abs, "linear": _linear}


def gate(activation: str, u: Tensor, slope: float) -> Tensor:
    """z(u), any shape.

    At u = 0 the gate is 0 for relu and abs and the slope for leaky, as in torch's derivatives.

    >>> gate("leaky", torch.tensor([-2.0, 3.0]), 0.1)
    tensor([0.1000, 1.0000])
    """
    return ACTIVATIONS[activation](u, slope)
