"""Two networks as one: their difference, or both side by side, and one network written with other units or layers.

All of it is exact, but for slopes that are no power of two less 1: what stands for their units has rounded weights.
"""

from dataclasses import replace

import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.functions.checks import bias, in_double, only_networks, slopes
from tutelage.networks import Network


def side_by_side(first: Network, second: Network, difference: bool = True) -> Network:
    """The difference of two networks as one network, or a network with the outputs of both.

    Parameters
    ----------
    first, second
        Networks with S members each. The shallower one is carried through the layers it lacks, exactly.
    difference
        Whether the outputs are subtracted.

    Returns
    -------
    Network
        In float64; hidden widths are added.

    Examples
    --------
    >>> from tutelage.networks import outputs
    >>> net = Network((torch.ones(1, 2, 3), torch.ones(1, 3, 1)))
    >>> both = side_by_side(net, net)
    >>> both.widths, outputs(both, torch.ones(1, 2, dtype=torch.float64)).item()
    ((2, 6, 1), 0.0)
    """
    _check_pair(first, second, difference)
    depth = max(first.depth, second.depth)
    first, second = deepen(in_double(first, "first network"), depth), deepen(in_double(second, "second network"), depth)
    weights, biases = [], []
    for layer in range(depth):
        a, b = first.weights[layer], second.weights[layer]
        lower = torch.cat([a, b], 2) if layer == 0 else _block_diagonal(a, b)
        joined = torch.cat([bias(first, layer), bias(second, layer)], 1)
        if layer == depth - 1 and difference:
            lower = lower[..., : first.outputs] - lower[..., first.outputs :]
            joined = joined[:, : first.outputs] - joined[:, first.outputs :]
        weights.append(lower)
        biases.append(joined)
    return replace(first, weights=tuple(weights), biases=tuple(biases))


def deepen(network: Network, depth: int) -> Network:
    """The same function with more layers: the highest hidden features, or the inputs, pass through the new ones.

    Features that are never negative, those of units with a slope of at most 0 below their kink, pass such units
    unchanged. Others need two units each, since x = (sigma(x) - sigma(-x)) / (1 + slope); abs forgets their sign, and
    raises an error.

    >>> net = Network((torch.ones(1, 2, 3), torch.ones(1, 3, 1)))
    >>> deepen(net, 4).widths
    (2, 3, 3, 3, 1)
    """
    missing = depth - network.depth
    if missing < 0:
        raise TutelageError(f"a network of {network.depth} layers cannot be made one of {depth}: ask for more layers")
    if missing == 0:
        return network
    below, top = network.weights[:-1], network.weights[-1]
    eye = torch.eye(top.shape[1], dtype=top.dtype, device=top.device).expand(network.members, -1, -1)
    left, _ = slopes(network)
    if left == 1 or (below and left <= 0):
        into, back = eye, eye
    elif left == -1:
        raise TutelageError(
            f"{network.activation} forgets the sign of its inputs: such a network without hidden layers cannot be "
            "deepened"
        )
    else:
        # x = (sigma(x) - sigma(-x)) / (1 + slope): of (1 + slope) a power of two is divided exactly, any other rounds,
        # which callers that prove something refuse or count.
        into, back = torch.cat([eye, -eye], 2), torch.cat([eye, -eye], 1) / (1 + left)
    weights = (*below, into, *[back @ into] * (missing - 1), back @ top)
    if network.biases is None:
        return replace(network, weights=weights)
    nothing = into.new_zeros(network.members, into.shape[2])
    return replace(network, weights=weights, biases=(*network.biases[:-1], *[nothing] * missing, network.biases[-1]))


def _check_pair(first: Network, second: Network, difference: bool) -> None:
    only_networks(first, second)
    for what, a, b in (
        ("inputs", first.inputs, second.inputs),
        ("members", first.members, second.members),
        ("outputs", first.outputs, second.outputs if difference else first.outputs),
    ):
        if a != b:
            raise TutelageError(f"the networks have {a} and {b} {what}: give two networks with the same number")
    if slopes(first) != slopes(second):
        kinds = " and ".join(f"{n.activation} (slope {n.slope})" for n in (first, second))
        raise TutelageError(f"the networks must have the same activation, got {kinds}")


def _block_diagonal(a: Tensor, b: Tensor) -> Tensor:
    """[S, i, o] and [S, j, p] -> [S, i + j, o + p]."""
    upper = torch.cat([a, a.new_zeros(a.shape[0], a.shape[1], b.shape[2])], 2)
    lower = torch.cat([b.new_zeros(b.shape[0], b.shape[1], a.shape[2]), b], 2)
    return torch.cat([upper, lower], 1)


def as_relu(network: Network) -> Network:
    """The same function with relu units: two for each leaky, abs or linear one; float64.

    For slopes s below and 1 above the kink, sigma(u) = max(0, u) - s max(0, -u).

    >>> as_relu(Network((torch.ones(1, 2, 3), torch.ones(1, 3, 1)), activation="abs")).widths
    (2, 6, 1)
    """
    network = in_double(network)
    if network.activation == "relu":
        return network
    left, _ = slopes(network)
    weights, biases = [], []
    for layer, w in enumerate(network.weights):
        b = bias(network, layer)
        if layer:
            w = torch.cat([w, -left * w], dim=1)
        if layer < network.depth - 1:
            w, b = torch.cat([w, -w], dim=2), torch.cat([b, -b], dim=1)
        weights.append(w)
        biases.append(b)
    return Network(tuple(weights), None if network.biases is None else tuple(biases), "relu")


def apart(first: Network, second: Network) -> Network:
    """The difference of two networks as one, whatever their activations and depths."""
    if slopes(first) != slopes(second) or first.depth != second.depth or first.activation == "linear":
        first, second = as_relu(first), as_relu(second)
    return side_by_side(first, second)


def homogeneous(network: Network) -> Network:
    """The network (y, t) -> t f(y / t) for t > 0, and its limit for t = 0: d + 1 inputs, t last, no biases; float64.

    One more unit per layer carries t upwards.

    >>> from tutelage.networks import outputs
    >>> net = Network((torch.ones(1, 1, 1), torch.ones(1, 1, 1)), (torch.ones(1, 1), torch.ones(1, 1)))
    >>> outputs(homogeneous(net), torch.tensor([[3.0, 0.5]], dtype=torch.float64)).item()  # half of f(6) = 8
    4.0
    """
    network = in_double(network)
    weights = []
    for layer, w in enumerate(network.weights):
        w = torch.cat([w, bias(network, layer).unsqueeze(1)], dim=1)
        if layer < network.depth - 1:
            carry = torch.zeros_like(w[:, :, :1])
            carry[:, -1] = 1
            w = torch.cat([w, carry], dim=2)
        weights.append(w)
    return replace(network, weights=tuple(weights), biases=None)
