"""How far two networks of the same inputs and outputs are apart: bounds carried upwards, and a search from below."""

from collections.abc import Sequence

import torch
from torch import Tensor

from tutelage.functions.checks import bias
from tutelage.functions.domain import Domain
from tutelage.functions.relaxations import Interval, activated
from tutelage.functions.rounding import gamma
from tutelage.networks import Network


def gains(network: Network) -> list[Tensor]:
    r"""How much outputs can move for a move of a pre-activation: [S, n_l, C] for layers l = 1 .. L.

    :math:`G_L = I`, :math:`G_l = |W_{l+1}| G_{l+1}`, since no activation is steeper than 1.
    """
    eye = torch.eye(network.outputs, dtype=network.dtype).expand(network.members, -1, -1)
    upwards = [eye]
    for w in network.weights[:0:-1]:
        upwards.append(torch.bmm(w.abs(), upwards[-1]))
    return upwards[::-1]


def reach(network: Network, box: Domain, known: Sequence[Interval]) -> list[Tensor]:
    r"""Largest size of the inputs and of every hidden feature: [S, n_l] for l = 0 .. L-1.

    Over a bounded box from the bounds of its layers. Over all inputs the sizes for :math:`|x|_\infty \le 1`: features
    grow at most as fast as :math:`\max(1, |x|_\infty)`.
    """
    if box.bounded:
        ends = [(box.low, box.high), *(activated(network, u) for u in known[:-1])]
        return [torch.maximum(low.abs(), high.abs()) for low, high in ends]
    sizes = [torch.ones_like(box.low)]
    for layer, w in enumerate(network.weights[:-1]):
        size = torch.bmm(sizes[-1].unsqueeze(1), w.abs()).squeeze(1) + bias(network, layer).abs()
        sizes.append(size * (1 + gamma(w.shape[1])))
    return sizes


def rounding(before: Network, after: Network, sizes: Sequence[Tensor]) -> Tensor:
    """What replacing weights by nearby ones can do to the outputs: [S, C].

    sizes: :func:`reach` of the network ``after``; the layers are replaced one by one from below.
    """
    total = before.weights[0].new_zeros(before.members, before.outputs)
    for layer, gain in enumerate(gains(before)):
        moved = torch.bmm(sizes[layer].unsqueeze(1), (after.weights[layer] - before.weights[layer]).abs())
        moved = moved + (bias(after, layer) - bias(before, layer)).abs().unsqueeze(1)
        total = total + torch.bmm(moved, gain).squeeze(1)
    return total
