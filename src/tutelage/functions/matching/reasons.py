"""Why a network half-way between two matched ones is worse than both: which layer, and for what reason.

Half-way, features of two networks are averaged. Where paired units do not agree, the average varies less than either,
and the layers above see too small a signal (Jordan et al. 2023: variance collapse). That part goes away when every unit
gets back the mean and deviation of the ends; what is left then is due to units that have no partner.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from tutelage.functions.checks import as_network, in_double, points_for
from tutelage.functions.matching.barriers import Barrier, inner, repaired
from tutelage.functions.matching.judging import judged, labels_for
from tutelage.functions.matching.paths import straight
from tutelage.networks import Network
from tutelage.printing import printed


@printed
@dataclass(frozen=True, eq=False)
class BarrierReasons:
    """What the loss half-way between two matched networks comes from.

    Attributes
    ----------
    excess
        [S]: loss half-way above the mean of both ends.
    repaired
        [S]: the same with the mean and deviation of hidden units restored.
    layer
        [L, S]: the same where this layer alone is half-way and the others are those of one end, mean of both ends. The
        parts need not add up to ``excess``.
    spread
        [L - 1, S]: deviation over the points of pre-activations half-way over the mean deviation at the ends; below 1
        where it collapsed. Mean over units.
    agreement
        [L - 1, S]: correlation over the points of the pre-activations of paired units, mean over units that vary in
        both networks.
    """

    excess: Tensor
    repaired: Tensor
    layer: Tensor
    spread: Tensor
    agreement: Tensor

    @property
    def collapse(self) -> Tensor:
        """Share of the excess that restoring the statistics takes away: [S], from 0 to 1; nan without an excess."""
        share = ((self.excess - self.repaired) / self.excess).clamp(0, 1)
        return torch.where(self.excess > 0, share, torch.nan)

    def _title(self) -> str:
        worst = int(self.layer.mean(1).argmax()) + 1
        collapse = 100 * float(self.collapse.nanmean())
        return f"excess {float(self.excess.mean()):.3g}, {collapse:.0f} % by collapse; most in layer {worst}"


def explain_barrier(
    first: Network | nn.Module, second: Network | nn.Module | Barrier, points: Tensor, labels: Tensor
) -> BarrierReasons:
    """Say where the loss half-way between two networks comes from.

    Parameters
    ----------
    first
        Network of S members, or what ``compare`` reads as one.
    second
        What :func:`barrier` returned for it, or a network whose units are in the order of the first's.
    points, labels
        As for :func:`barrier`.

    Returns
    -------
    BarrierReasons

    Examples
    --------
    >>> from tutelage.functions.matching.barriers import barrier
    >>> torch.manual_seed(0) and None
    >>> one, other = (Network((torch.randn(1, 3, 30), torch.randn(1, 30, 30), torch.randn(1, 30, 2))) for _ in "ab")
    >>> x = torch.randn(500, 3)
    >>> found = explain_barrier(one, barrier(one, other, x, torch.zeros(500, 2)), x, torch.zeros(500, 2))
    >>> found.spread.shape, bool((found.spread < 1).all()), bool((found.agreement < 0.9).all())
    (torch.Size([2, 1]), True, True)
    """
    other = second.second if isinstance(second, Barrier) else second
    a, b = in_double(as_network(first, "first")), in_double(as_network(other, "second"))
    x = points_for(a, points)
    wanted = labels_for(labels, x, a.outputs)
    middle = straight(a, b).at(0.5)
    ends = [(0.5, a), (0.5, b)]
    single = [_one_layer(network, middle, layer) for layer in range(a.depth) for network in (a, b)]
    loss = judged([a, b, middle, repaired(middle, ends, x), *single], x, wanted)[0]
    above = loss[2:] - loss[:2].mean(0)
    own = loss[4:].unflatten(0, (a.depth, 2)) - loss[:2]
    spread, agreement = zip(*map(_compared, inner(middle, x), inner(a, x), inner(b, x)), strict=True)
    return BarrierReasons(above[0], above[1], own.mean(1), torch.stack(spread), torch.stack(agreement))


def _one_layer(network: Network, middle: Network, layer: int) -> Network:
    """The network with one layer half-way."""
    weights = [m if l == layer else w for l, (w, m) in enumerate(zip(network.weights, middle.weights, strict=True))]
    biases = network.biases
    if biases is not None and middle.biases is not None:
        biases = tuple(m if l == layer else c for l, (c, m) in enumerate(zip(biases, middle.biases, strict=True)))
    return replace(network, weights=tuple(weights), biases=biases)


def _compared(middle: Tensor, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
    """Spread and agreement [S] of one layer, from pre-activations [S, N, n]."""
    ends = [u - u.mean(1, keepdim=True) for u in (first, second)]
    deviations = [u.square().mean(1).sqrt() for u in ends]
    varies = (deviations[0] > 0) & (deviations[1] > 0)
    between = middle.std(1, correction=0) / ((deviations[0] + deviations[1]) / 2)
    correlation = (ends[0] * ends[1]).mean(1) / (deviations[0] * deviations[1])
    return _mean(between, varies), _mean(correlation, varies)


def _mean(values: Tensor, where: Tensor) -> Tensor:
    return torch.where(where, values, 0.0).sum(1) / where.sum(1)
