"""One representative of all networks that differ by permuting hidden units and scaling them, and how many there are.

Two networks that differ by permuting and scaling hidden units alone have the same canonical form, up to rounding; the
reverse is true of every pair. Sorting costs one product per layer. Where keys of two units are equal up to rounding
their order is decided by the fan-out, and where that is equal too it does not matter.
"""

from dataclasses import dataclass, replace
from math import factorial, prod

import torch
from torch import Tensor

from tutelage import draws
from tutelage.functions.checks import bias, in_double, only_networks
from tutelage.networks import Network
from tutelage.printing import printed

_TIE = 64  # roundings up to which two sorting keys count as equal


@printed
@dataclass(frozen=True)
class Orbit:
    r"""Networks of one architecture that are related by permutation and positive scaling (Phuong 2021, section 2.1).

    Attributes
    ----------
    permutations
        :math:`\prod_l d_l!` over hidden layers.
    scalings
        Dimension :math:`\sum_l d_l` of the manifold of scalings.
    identifiable
        Remaining degrees of freedom: parameters minus scalings.
    """

    permutations: int
    scalings: int
    identifiable: int


def orbit_size(network: Network) -> Orbit:
    """Number of networks of this architecture that are the same function by permutation and scaling.

    Parameters
    ----------
    network
        Any members; only the widths matter.

    Returns
    -------
    Orbit

    Examples
    --------
    >>> orbit_size(Network((torch.ones(1, 2, 3), torch.ones(1, 3, 1))))
    Orbit(permutations=6, scalings=3, identifiable=6)
    """
    only_networks(network)
    hidden = network.widths[1:-1]
    parameters = sum(a[0].numel() for a in network.parameters)
    return Orbit(prod(map(factorial, hidden)), sum(hidden), parameters - sum(hidden))


def canonical(network: Network) -> Network:
    """The same function in canonical form: units of length 1 in a fixed order.

    Scales move to the layer above. Units are sorted by their product with a fixed random direction, those with the same
    incoming weights by their fan-out; for "abs", where u and -u are alike, that product is made positive. Networks that
    differ by permutation and positive scaling have the same canonical form, up to rounding.

    Parameters
    ----------
    network
        S members.

    Returns
    -------
    Network
        In float64.

    Examples
    --------
    >>> net = Network((torch.tensor([[[3.0, 0.0], [0.0, 0.5]]]), torch.tensor([[[1.0], [4.0]]])))
    >>> swapped = Network((torch.tensor([[[0.0, 6.0], [1.0, 0.0]]]), torch.tensor([[[2.0], [0.5]]])))
    >>> torch.equal(canonical(net).weights[1], canonical(swapped).weights[1])
    True
    """
    only_networks(network)
    tie = _TIE * torch.finfo(network.dtype).eps
    network, _ = unit_lengths(network)
    for layer in range(network.depth - 1):
        # A random direction tells units apart with probability 1; sorting by the first weight instead would tie for
        # units of sparse layers.
        key = _keys(incoming(network, layer), f"canonical order {layer}")
        if network.activation == "abs":
            network, key = turned(network, layer, torch.where(key < 0, -torch.ones_like(key), 1)), key.abs()
        second = _keys(outgoing(network, layer), f"canonical order above {layer}")
        network = reordered(network, layer, _order(key, second, tie))
    return network


def incoming(network: Network, layer: int) -> Tensor:
    """Weights and bias of every unit of a layer (from 0): [S, in + 1, n], the bias last."""
    return torch.cat([network.weights[layer], bias(network, layer).unsqueeze(1)], dim=1)


def outgoing(network: Network, layer: int) -> Tensor:
    """What tells units apart by their fan-out, whatever the order of the units above: [S, C or n above, n]."""
    above = network.weights[layer + 1]
    if layer + 2 < network.depth:
        above = (above.abs() if network.activation == "abs" else above).sort(dim=2).values
    return above.mT


def unit_lengths(network: Network) -> tuple[Network, tuple[Tensor, ...]]:
    """The same function with incoming weights and bias of every hidden unit of length 1, and the lengths they had.

    float64; lengths [S, n] a hidden layer, 1 for units without any weights, which stay as they are.
    """
    network, lengths = in_double(network), []
    for layer in range(network.depth - 1):
        length = incoming(network, layer).norm(dim=1)
        lengths.append(torch.where(length > 0, length, 1))
        network = scaled(network, layer, 1 / lengths[-1])
    return network, tuple(lengths)


def scaled(network: Network, layer: int, by: Tensor) -> Network:
    """The same function with units of a layer (from 0) multiplied by positive factors [S, n] (Phuong 2021, eqs. 2.3,
    2.4).

    Of an abs unit the factor may be negative.
    """
    weights, biases = list(network.weights), None if network.biases is None else list(network.biases)
    weights[layer] = weights[layer] * by.unsqueeze(1)
    weights[layer + 1] = weights[layer + 1] / by.abs().unsqueeze(2)
    if biases is not None:
        biases[layer] = biases[layer] * by
    return replace(network, weights=tuple(weights), biases=None if biases is None else tuple(biases))


def turned(network: Network, layer: int, sign: Tensor) -> Network:
    """The same function with some units of an abs layer negated: signs [S, n]."""
    return scaled(network, layer, sign)


def reordered(network: Network, layer: int, order: Tensor) -> Network:
    """The same function with unit order[k] of a layer (from 0) in place k: int64 [S, n] (Phuong 2021, eqs. 2.1,
    2.2).
    """
    weights, biases = list(network.weights), None if network.biases is None else list(network.biases)
    weights[layer] = weights[layer].gather(2, order.unsqueeze(1).expand_as(weights[layer]))
    weights[layer + 1] = weights[layer + 1].gather(1, order.unsqueeze(2).expand_as(weights[layer + 1]))
    if biases is not None:
        biases[layer] = biases[layer].gather(1, order)
    return replace(network, weights=tuple(weights), biases=None if biases is None else tuple(biases))


def _keys(vectors: Tensor, name: str) -> Tensor:
    """Products with a fixed random direction: [S, m, n] -> [S, n]."""
    direction = draws.normals(draws.keys([0], name), vectors.shape[1])[0]
    return torch.einsum("smn,m->sn", vectors, direction)


def _order(key: Tensor, second: Tensor, tie: float) -> Tensor:
    """Places sorted by key and, among keys that rounding could have told apart, by the second one: int64 [S, n]."""
    first = key.argsort(dim=1)
    gaps = key.gather(1, first).diff(dim=1, prepend=key.gather(1, first[:, :1])) > tie
    group = torch.empty_like(first).scatter_(1, first, gaps.long().cumsum(1))
    by_second = second.argsort(dim=1)
    return by_second.gather(1, group.gather(1, by_second).argsort(dim=1, stable=True))
