"""A network of many inputs, looked at along a line, a plane or any flat part of its input space."""

from dataclasses import replace

import torch
from torch import Tensor

from tutelage.arrays import doubles
from tutelage.errors import TutelageError
from tutelage.functions.checks import bias, in_double
from tutelage.networks import Network


def slice_network(network: Network, origin: Tensor, directions: Tensor) -> Network:
    """Restrict a network to a line or plane: t -> f(origin + t . directions), exactly.

    Parameters
    ----------
    network
        S members.
    origin, directions
        [d] and [k, d] for all members, or [S, d] and [S, k, d].

    Returns
    -------
    Network
        With k inputs, in float64; its first layer is composed with the slice.

    Examples
    --------
    >>> net = Network((torch.eye(3)[None], torch.ones(1, 3, 1)))
    >>> line = slice_network(net, torch.zeros(3), torch.tensor([[1.0, 2.0, -1.0]]))
    >>> line.weights[0]
    tensor([[[ 1.,  2., -1.]]], dtype=torch.float64)
    """
    network = in_double(network)
    start, axes = (doubles(t, name).detach().cpu() for t, name in ((origin, "origin"), (directions, "directions")))
    d, members = network.inputs, (1, network.members)
    if (
        start.ndim not in (1, 2)
        or axes.ndim not in (2, 3)
        or not start.shape[-1] == axes.shape[-1] == d
        or (start.ndim == 2 and len(start) not in members)
        or (axes.ndim == 3 and len(axes) not in members)
    ):
        raise TutelageError(
            f"origin and directions of a slice must have shapes [{d}] and [k, {d}] for this network, got "
            f"{list(start.shape)} and {list(axes.shape)}"
        )
    start, axes = start.expand(network.members, -1), axes.expand(network.members, -1, -1)
    if not (start.isfinite().all() and axes.isfinite().all()):
        raise TutelageError("a slice needs finite numbers")
    if (torch.linalg.matrix_rank(axes) < axes.shape[1]).any():
        raise TutelageError(
            "the directions of a slice are not independent: leave out those that follow from the others"
        )
    first = network.weights[0]
    shift = torch.einsum("sd,sdn->sn", start, first) + bias(network, 0)
    others = tuple(bias(network, layer) for layer in range(1, network.depth))
    return replace(network, weights=(axes @ first, *network.weights[1:]), biases=(shift, *others))
