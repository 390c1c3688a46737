"""Three and more networks put into one order of units, so that all of them can be averaged.

Every network gets one permutation per layer, into an order that all share. What unit of one is what unit of another
then follows, and agrees round every cycle of networks; matchings of separate pairs need not (Crisostomi et al. 2024).
The order is found in turns: one network is assigned anew to the sum of the others until nothing changes (Ainsworth et
al. 2023, Algorithm 3, with weights), a local optimum.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor
from torch.nn.functional import pad

from tutelage.errors import TutelageError
from tutelage.functions.checks import bias, in_double, points_for, same_function_space
from tutelage.functions.comparing.canonical import reordered
from tutelage.functions.matching.aligning import weight_matched
from tutelage.functions.matching.barriers import repaired
from tutelage.functions.matching.judging import judged, labels_for
from tutelage.networks import Network, forward
from tutelage.printing import printed

_SWEEPS = 50  # the most turns over all networks


@printed
@dataclass(frozen=True, eq=False)
class Merged:
    """Several networks in one order of units, and their average.

    Attributes
    ----------
    networks
        The networks with their units in the common order: the same functions as before. A narrower one has idle units.
    average
        The network of the mean weights.
    loss
        [K, S]: of each network on the points.
    average_loss, unmatched_loss
        [S]: of the average, and of the average of the networks as they were given.
    accuracy, average_accuracy
        [K, S] and [S]: shares of points with the right class; None for a squared error.
    by
        What units were matched by, "weights" or "activations".
    """

    networks: tuple[Network, ...]
    average: Network
    loss: Tensor
    average_loss: Tensor
    unmatched_loss: Tensor
    accuracy: Tensor | None
    average_accuracy: Tensor | None
    by: str

    def _title(self) -> str:
        each, average, before = (float(t.mean()) for t in (self.loss, self.average_loss, self.unmatched_loss))
        return f"{len(self.networks)} networks, loss {each:.3g}; of their average {average:.3g}, unmatched {before:.3g}"


def merge(
    networks: Sequence[Any],
    points: Tensor,
    labels: Tensor,
    *,
    by: Literal["weights", "activations", "best"] = "best",
    repair: bool = False,
) -> Merged:
    """Put the units of several networks into one order and average the networks.

    Parameters
    ----------
    networks
        Two or more networks of one depth and activation with S members each, or what ``compare`` reads as one. Widths
        may differ: a narrower layer is filled with units that have no weights, which changes no function.
    points
        Inputs [N, d] or [S, N, d].
    labels
        Numbers [N, C] or [S, N, C] for half the squared error, or classes [N] or [S, N] for the cross-entropy.
    by
        What units are matched by: the "weights" on both sides, the correlations of "activations" on the points, or
        "best": whichever average has the lower loss, summed over members.
    repair
        Whether hidden units of the average get the mean and deviation that they have in the networks, on average over
        these (Jordan et al. 2023).

    Returns
    -------
    Merged

    Examples
    --------
    >>> torch.manual_seed(0) and None
    >>> one = Network((torch.randn(1, 3, 4), torch.randn(1, 4, 2)))
    >>> orders = [torch.randperm(4) for _ in range(3)]
    >>> same = [Network((one.weights[0][..., p], one.weights[1][:, p])) for p in orders]
    >>> x = torch.randn(50, 3)
    >>> found = merge(same, x, torch.zeros(50, 2))
    >>> bool((found.average_loss - found.loss).abs().max() < 1e-12), bool(found.unmatched_loss < found.loss[0])
    (True, True)
    """
    if by not in ("weights", "activations", "best"):
        raise TutelageError(f"by must be 'weights', 'activations' or 'best', got '{by}'")
    given = _of_one_width(networks)
    x = points_for(given[0], points)
    wanted = labels_for(labels, x, given[0].outputs)
    orders = {way: _ORDERED[way](given, x) for way in _ORDERED if by in (way, "best")}
    averages = {way: average(order) for way, order in orders.items()}
    if repair:
        share = 1 / len(given)
        averages = {w: repaired(averages[w], [(share, n) for n in order], x) for w, order in orders.items()}
    chosen = min(averages, key=lambda way: float(judged([averages[way]], x, wanted)[0].sum()))
    loss, right = judged([*orders[chosen], averages[chosen], average(given)], x, wanted)
    k = len(given)
    return Merged(
        tuple(orders[chosen]),
        averages[chosen],
        loss[:k],
        loss[k],
        loss[k + 1],
        None if right is None else right[:k],
        None if right is None else right[k],
        chosen,
    )


def average(networks: Sequence[Network]) -> Network:
    """The network whose weights and biases are the means of those of all."""
    others = [iter(network.parameters) for network in networks[1:]]
    return networks[0].map(lambda a: torch.stack([a, *(next(o) for o in others)]).mean(0))


def _of_one_width(networks: Sequence[Any]) -> list[Network]:
    """The networks in float64, narrower layers filled with units without weights."""
    if not isinstance(networks, Sequence) or isinstance(networks, str):
        raise TutelageError(f"networks must be a list of two or more networks, got {type(networks).__name__}")
    if len(networks) < 2:
        raise TutelageError(f"networks must be two or more, got {len(networks)}")
    given = [in_double(network, f"network {number}") for number, network in enumerate(networks)]
    for number, network in enumerate(given[1:], 1):
        same_function_space(given[0], network)
        for what in ("depth", "activation", "slope"):
            wanted, got = getattr(given[0], what), getattr(network, what)
            if got != wanted:
                raise TutelageError(
                    f"all networks must have one {what}, got {wanted} of network 0 and {got} of {number}"
                )
    widths = [max(layer) for layer in zip(*(network.widths for network in given), strict=True)]
    biased = any(network.biases is not None for network in given)
    return [_widened(network, widths, biased) for network in given]


def _widened(network: Network, widths: list[int], biased: bool) -> Network:
    more = [wide - own for wide, own in zip(widths, network.widths, strict=True)]
    weights = tuple(pad(w, (0, more[l + 1], 0, more[l])) for l, w in enumerate(network.weights))
    biases = tuple(pad(bias(network, l), (0, more[l + 1])) for l in range(network.depth)) if biased else None
    return replace(network, weights=weights, biases=biases)


def _by_weights(networks: list[Network], x: Tensor) -> list[Network]:
    now = [networks[0], *(weight_matched(networks[0], other) for other in networks[1:])]
    for _ in range(_SWEEPS):
        # Invariant: the sum over all pairs of the products of their weights never falls, for each turn is an ascent of
        # one network's product with the sum of the others. A round that changes nothing is a local optimum.
        changed = False
        for k, network in enumerate(now):
            moved = weight_matched(average([*now[:k], *now[k + 1 :]]), network)
            changed |= any(not torch.equal(p, q) for p, q in zip(moved.parameters, network.parameters, strict=True))
            now[k] = moved
        if not changed:
            break
    return now


def _by_activations(networks: list[Network], x: Tensor) -> list[Network]:
    """The order of a layer does not depend on that of others: correlations of units are what they are."""
    now = list(networks)
    for layer in range(networks[0].depth - 1):
        features = [_standard(forward(network, x).features[layer + 1]) for network in networks]
        orders = [_paired(features[0], z) for z in features]
        for _ in range(_SWEEPS):
            before = [order.clone() for order in orders]
            for k, z in enumerate(features):
                others = sum(z_j.gather(2, o.unsqueeze(1).expand_as(z_j)) for j, (z_j, o) in
                             enumerate(zip(features, orders, strict=True)) if j != k)  # fmt: skip
                assert isinstance(others, Tensor)
                orders[k] = _paired(others, z)
            if all(torch.equal(a, b) for a, b in zip(before, orders, strict=True)):
                break
        now = [reordered(network, layer, order) for network, order in zip(now, orders, strict=True)]
    return now


def _standard(features: Tensor) -> Tensor:
    """Every unit with mean 0 and length 1 over the points; 0 where it is constant."""
    centred = features - features.mean(1, keepdim=True)
    return centred / centred.norm(dim=1, keepdim=True).clamp_min(torch.finfo(centred.dtype).tiny)


def _paired(reference: Tensor, features: Tensor) -> Tensor:
    """The order of units [S, n] with the largest sum of products with those of the reference."""
    gains = torch.bmm(reference.mT, features)
    return torch.stack([torch.as_tensor(linear_sum_assignment(-gain.numpy())[1]) for gain in gains])


_ORDERED = {"weights": _by_weights, "activations": _by_activations}
