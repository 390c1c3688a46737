"""Two networks as one, and the exact largest distance between them on a domain."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.functions.checks import bias, in_double, only_networks
from tutelage.functions.pieces.domain import Domain, Ends
from tutelage.functions.pieces.regions import BUDGET, Regions, enumerate_regions
from tutelage.functions.pruning.deviation import Deviation
from tutelage.networks import Network, outputs
from tutelage.printing import printed


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

    Features that are never negative pass relu and abs unchanged. Others need two units each, since for relu (slope 0)
    and leaky x = (sigma(x) - sigma(-x)) / (1 + slope); abs forgets their sign, and raises an error.

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
    if network.activation == "linear" or (below and network.activation in ("relu", "abs")):
        into, back = eye, eye
    elif network.activation == "abs":
        raise TutelageError(
            "abs forgets the sign of its inputs: an abs network without hidden layers cannot be deepened"
        )
    else:
        slope = network.slope if network.activation == "leaky" else 0.0
        into, back = torch.cat([eye, -eye], 2), torch.cat([eye, -eye], 1) / (1 + slope)
    weights = (*below, into, *[back @ into] * (missing - 1), back @ top)
    if network.biases is None:
        return replace(network, weights=weights)
    nothing = into.new_zeros(network.members, into.shape[2])
    return replace(network, weights=weights, biases=(*network.biases[:-1], *[nothing] * missing, network.biases[-1]))


@printed
@dataclass(frozen=True, eq=False)
class Extremes:
    """Exact range of each output over a domain.

    Attributes
    ----------
    low, high
        Smallest and largest value, [C].
    at_low, at_high
        Points where they are attained, [C, d].
    """

    low: Tensor
    high: Tensor
    at_low: Tensor
    at_high: Tensor


def extreme_values(regions: Regions, functional: Tensor | None = None) -> Extremes:
    """Exact range of each output over the domain of the regions.

    A function that is affine on every region takes its extremes at vertices.

    Parameters
    ----------
    regions
        Regions of one network.
    functional
        [C, k]: ranges of the columns of outputs @ functional instead.

    Returns
    -------
    Extremes

    Examples
    --------
    >>> net = Network((torch.eye(2)[None], torch.tensor([[[1.0], [-1.0]]])))
    >>> found = extreme_values(enumerate_regions(net, (-1, 2)))
    >>> found.low.item(), found.high.item()
    (-2.0, 2.0)
    """
    values = outputs(regions.network, regions.vertices)[0]
    if functional is not None:
        if functional.ndim != 2 or functional.shape[0] != values.shape[1]:
            raise TutelageError(f"a functional of {values.shape[1]} outputs has shape [{values.shape[1]}, k]")
        values = values @ functional.to(values.dtype)
    low, high = values.min(0), values.max(0)
    return Extremes(low.values, high.values, regions.vertices[low.indices], regions.vertices[high.indices])


def exact_deviation(first: Network, second: Network, domain: Domain | Ends, budget: int = BUDGET) -> Deviation:
    """Largest difference of two networks over a domain, from the vertices of all regions; never sampled.

    Parameters
    ----------
    first, second
        Networks with S members each.
    domain, budget
        As in :func:`enumerate_regions`.

    Returns
    -------
    Deviation
        Largest |first - second| over all outputs per pair of members, up to rounding, and where it occurs.

    Examples
    --------
    >>> a, b = (Network((torch.eye(2)[None], torch.tensor([[[w], [1.0]]]))) for w in (1.0, 3.0))
    >>> exact_deviation(a, b, (-1, 1)).value
    tensor([2.], dtype=torch.float64)
    """
    both = side_by_side(first, second)
    values, points = [], []
    for member in range(both.members):
        extremes = extreme_values(enumerate_regions(both[member], domain, budget))
        size = torch.cat([-extremes.low, extremes.high])
        values.append(size.max())
        points.append(torch.cat([extremes.at_low, extremes.at_high])[size.argmax()])
    return Deviation(torch.stack(values), torch.stack(points))


def _check_pair(first: Network, second: Network, difference: bool) -> None:
    only_networks(first, second)
    for what, a, b in (
        ("inputs", first.inputs, second.inputs),
        ("members", first.members, second.members),
        ("outputs", first.outputs, second.outputs if difference else first.outputs),
    ):
        if a != b:
            raise TutelageError(f"the networks have {a} and {b} {what}: give two networks with the same number")
    if first.activation != second.activation or (first.activation == "leaky" and first.slope != second.slope):
        kinds = " and ".join(f"{n.activation} (slope {n.slope})" for n in (first, second))
        raise TutelageError(f"the networks must have the same activation, got {kinds}")


def _block_diagonal(a: Tensor, b: Tensor) -> Tensor:
    """[S, i, o] and [S, j, p] -> [S, i + j, o + p]."""
    upper = torch.cat([a, a.new_zeros(a.shape[0], a.shape[1], b.shape[2])], 2)
    lower = torch.cat([b.new_zeros(b.shape[0], b.shape[1], a.shape[2]), b], 2)
    return torch.cat([upper, lower], 1)
