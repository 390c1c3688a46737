"""What every operation on networks asks of its arguments; geometry is worked out in float64."""

import math
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any

import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.networks import Network, SparseNetwork, to_network
from tutelage.networks.activations import find, piecewise_linear
from tutelage.networks.forward import stacked_points

PRECISIONS = (torch.bfloat16, torch.float16, torch.float32, torch.float64)
"""The precisions of weights that geometry understands: all of them are exact in float64."""


def rounded_up(bound: float, digits: int = 2) -> str:
    """A bound in words with so many digits, never below its value.

    >>> rounded_up(3.14e-10), rounded_up(0.5), rounded_up(0.0)
    ('3.2e-10', '0.5', '0')
    """
    if not math.isfinite(bound):
        return str(bound)
    up = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(Decimal(bound))
    return f"{float(up):.{digits}g}"


def as_number(value: Any, name: str) -> float:
    """A number as a float; an error for anything else."""
    try:
        return float(value)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        raise TutelageError(f"{name} must be a number, got {value!r}") from None


def as_bound(value: Any, name: str) -> float:
    """A finite number of at least 0; an error for anything else."""
    number = as_number(value, name)
    if not 0 <= number < math.inf:
        raise TutelageError(f"{name} must be a finite number of at least 0, got {number}")
    return number


def as_network(network: object, name: str = "network") -> Network:
    """A network as it is, or imported from a torch module, a model of scikit-learn or a file; otherwise an error.

    >>> from torch import nn
    >>> as_network(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))).widths
    (3, 4, 2)
    """
    if not isinstance(network, Network):
        network = to_network(network, name)
    if find(network.activation).gate is None:
        raise TutelageError(
            f"the {name} has the activation '{network.activation}', which is not piecewise linear: "
            f"this needs one of {', '.join(piecewise_linear())}"
        )
    if network.dtype not in PRECISIONS:
        allowed = ", ".join(str(p).removeprefix("torch.") for p in PRECISIONS)
        raise TutelageError(
            f"the weights of the {name} must be {allowed}, got {str(network.dtype).removeprefix('torch.')}: "
            "convert them with network.to(dtype=torch.float32)"
        )
    if 0 in (network.members, *network.widths):
        widths = "-".join(map(str, network.widths))
        raise TutelageError(
            f"the {name} must have at least one member and one unit per layer, "
            f"got {network.members} members of widths {widths}"
        )
    return network


def in_double(network: Network, name: str = "network") -> Network:
    """The network in float64 on the CPU; an error when it cannot be used or a weight is not finite."""
    network = as_network(network, name)
    if not all(a.isfinite().all() for a in network.parameters):
        raise TutelageError(f"the {name} has weights that are not finite: leave out members that diverged")
    return network.map(lambda a: a.detach().to("cpu", torch.float64))


def points_for(network: Network | SparseNetwork, points: Tensor) -> Tensor:
    """Points in float64 as [S, N, d]; an error when there are none, or when they do not fit or are not finite."""
    if not isinstance(points, Tensor):
        raise TutelageError(f"points must be a torch tensor [N, {network.inputs}], got {type(points).__name__}")
    if points.is_complex():
        raise TutelageError("points must be real numbers, got complex ones: leave the imaginary parts out")
    if not points.numel():
        raise TutelageError(f"points must have at least one row of {network.inputs} numbers, got none")
    if not points.isfinite().all():
        raise TutelageError("some points are not finite: leave them out")
    points = points.detach().to("cpu", torch.float64)
    if isinstance(network, SparseNetwork):
        if points.ndim != 2 or points.shape[1] != network.inputs:
            raise TutelageError(f"points must have shape [N, {network.inputs}], got {list(points.shape)}")
        return points.unsqueeze(0)
    return stacked_points(network, points)


def only_networks(*networks: object) -> None:
    """Reject what is no network."""
    for network in networks:
        if not isinstance(network, Network):
            raise TutelageError(
                f"expected a network, got {type(network).__name__}: turn a torch module into one with "
                "networks.to_network"
            )


def same_function_space(first: Network, second: Network) -> None:
    """Reject two stacks that do not map the same inputs to the same outputs for as many members."""
    only_networks(first, second)
    for what, a, b in (
        ("inputs", first.inputs, second.inputs),
        ("outputs", first.outputs, second.outputs),
        ("members", first.members, second.members),
    ):
        if a != b:
            raise TutelageError(f"the networks have {a} and {b} {what}: give two networks with the same number")


def single_pair(first: Network, second: Network) -> None:
    """Reject two networks that are stacks of several, or that do not have the same inputs and outputs."""
    for name, network in (("first", first), ("second", second)):
        if network.members != 1:
            raise TutelageError(
                f"the {name} must be one network, got a stack of {network.members}: choose one, such as network[0]"
            )
    same_function_space(first, second)


def bias(network: Network, layer: int) -> Tensor:
    """b of one layer (counted from 0), zeros where the network has none: [S, out]."""
    return torch.zeros_like(network.weights[layer][:, 0]) if network.biases is None else network.biases[layer]


def slopes(network: Network) -> tuple[float, float]:
    """The slopes of a network's units below and above their kink, as the gate of the activation gives them.

    >>> slopes(Network((torch.ones(1, 1, 1),), activation="abs"))
    (-1.0, 1.0)
    """
    gate = find(network.activation).gate
    assert gate is not None  # as_network let it in
    left, right = gate(torch.tensor([-1.0, 1.0], dtype=torch.float64), network.slope).tolist()
    if not -1 <= left <= right == 1:
        raise TutelageError(
            f"a piecewise linear activation must have the slope 1 above 0 and one from -1 to 1 below, got {right:g} "
            f"and {left:g} for '{network.activation}'"
        )
    return left, right
