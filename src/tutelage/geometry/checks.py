"""What every operation on networks asks of its arguments; geometry is worked out in float64."""

import torch
from torch import Tensor

from tutelage.errors import Refusal
from tutelage.networks import Network
from tutelage.networks.forward import stacked_points


def in_double(network: Network, name: str = "network") -> Network:
    """The network in float64 on the CPU; refused when a weight is not finite."""
    if not all(a.isfinite().all() for a in network.parameters):
        raise Refusal(f"the {name} has weights that are not finite: leave out members that diverged")
    return network.map(lambda a: a.detach().to("cpu", torch.float64))


def points_for(network: Network, points: Tensor) -> Tensor:
    """Points in float64 as [S, N, d]; refused when there are none, or when they do not fit or are not finite."""
    if not points.numel():
        raise Refusal(f"there are no points to look at: give at least one row of {network.inputs} numbers")
    if not points.isfinite().all():
        raise Refusal("some points are not finite: leave them out")
    return stacked_points(network, points.detach().to("cpu", torch.float64))


def same_function_space(first: Network, second: Network) -> None:
    """Refuse two stacks that do not map the same inputs to the same outputs for as many members."""
    for what, a, b in (
        ("inputs", first.inputs, second.inputs),
        ("outputs", first.outputs, second.outputs),
        ("members", first.members, second.members),
    ):
        if a != b:
            raise Refusal(f"the networks have {a} and {b} {what}: give two with as many of them")


def bias(network: Network, layer: int) -> Tensor:
    """b of one layer (counted from 0), zeros where the network has none: [S, out]."""
    return torch.zeros_like(network.weights[layer][:, 0]) if network.biases is None else network.biases[layer]
