"""How far two networks of the same inputs and outputs are apart: bounds carried upwards, and a search from below."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from tutelage.deadline import NEVER, Deadline, rows_at_a_time
from tutelage.functions.checks import bias, points_for
from tutelage.functions.pruning.intervals import Box, Interval, activated, gamma
from tutelage.networks import Network, outputs
from tutelage.printing import printed

_STARTS = 16  # points a member's ascent starts from
_CLIMB = 40  # steps of an ascent


@printed
@dataclass(frozen=True, eq=False)
class Deviation:
    """Largest difference of any output that was found.

    Attributes
    ----------
    value
        Per member, [S].
    at
        Input at which it was found, [S, d].
    """

    value: Tensor
    at: Tensor


def gains(network: Network) -> list[Tensor]:
    r"""How much outputs can move for a move of a pre-activation: [S, n_l, C] for layers l = 1 .. L.

    :math:`G_L = I`, :math:`G_l = |W_{l+1}| G_{l+1}`, since no activation is steeper than 1.
    """
    eye = torch.eye(network.outputs, dtype=network.dtype).expand(network.members, -1, -1)
    upwards = [eye]
    for w in network.weights[:0:-1]:
        upwards.append(torch.bmm(w.abs(), upwards[-1]))
    return upwards[::-1]


def reach(network: Network, box: Box, known: Sequence[Interval]) -> list[Tensor]:
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


def largest_deviation(
    first: Network, second: Network, box: Box, points: Tensor | None = None, deadline: Deadline = NEVER
) -> Deviation:
    """Search for the largest difference of two networks: samples of a box and given points, then local ascent.

    Parameters
    ----------
    first, second
        Networks with S members each.
    box
        Inputs; unbounded sides are sampled near 0.
    points
        Further starting points [S, N, d] or [N, d].
    deadline
        When to end; a first few points are looked at within any.

    Returns
    -------
    Deviation
        A lower bound on the largest difference.
    """
    tried = box.sample(1024)
    if points is not None:
        tried = torch.cat([tried, points_for(first, points)], dim=1)
    rows = max(_STARTS, rows_at_a_time(sum(w.numel() for w in first.weights)))
    parts: list[Tensor] = []
    for part in tried.split(rows, dim=1):
        if parts and deadline.passed:
            break
        parts.append(_difference(first, second, part))
    difference = torch.cat(parts, dim=1)
    tried = tried[:, : difference.shape[1]]
    best = difference.topk(min(_STARTS, tried.shape[1]), dim=1)
    x = tried.gather(1, best.indices.unsqueeze(2).expand(-1, -1, tried.shape[2]))
    value, x = _climb(first, second, box, x, best.values, deadline)
    top = value.argmax(1, keepdim=True)
    at = x.gather(1, top.unsqueeze(2).expand(-1, -1, x.shape[2]))
    return Deviation(value.gather(1, top).squeeze(1), at.squeeze(1))


def _difference(first: Network, second: Network, x: Tensor) -> Tensor:
    return (outputs(first, x) - outputs(second, x)).abs().nan_to_num(0.0).amax(2)  # 0 where both overflow


def _climb(
    first: Network, second: Network, box: Box, x: Tensor, value: Tensor, deadline: Deadline
) -> tuple[Tensor, Tensor]:
    """Steps along the sign of the gradient, kept where they gain and halved where they do not."""
    low, high = box.low.unsqueeze(1), box.high.unsqueeze(1)
    step = (high - low).expand_as(x) / 4
    for _ in range(_CLIMB):
        if deadline.passed:
            break
        at = x.detach().requires_grad_()
        with torch.enable_grad():
            (slope,) = torch.autograd.grad(_difference(first, second, at).sum(), at)
        moved = torch.minimum(torch.maximum(x + step * slope.sign(), low), high)
        there = _difference(first, second, moved)
        better = (there > value).unsqueeze(2)
        x, step = torch.where(better, moved, x), torch.where(better, step, step / 2)
        value = torch.maximum(value, there)
    return value, x
