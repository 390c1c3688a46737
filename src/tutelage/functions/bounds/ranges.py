"""Bounds on what a unit can do over a box of inputs, rounding included, so that they may be used in proofs.

Three kinds, each tighter and dearer than the one before: intervals, layer by layer; lines below and above every
activation, carried back to the inputs; and linear programs over those lines. First-layer bounds are exact but for
rounding.

Below them what follows from ranges: how far outputs can move when a unit or a weight does (:func:`gains`,
:func:`reach`, :func:`rounding`). No activation is steeper than 1, so that moves grow by absolute weights alone.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from tutelage.deadline import Deadline
from tutelage.errors import TutelageError
from tutelage.functions.bounds import programs
from tutelage.functions.checks import as_network, bias, slopes
from tutelage.functions.domain import Domain
from tutelage.functions.relaxations import Interval, activated, lines
from tutelage.functions.rounding import TINY, gamma
from tutelage.networks import Network
from tutelage.networks.forward import activate, linear

_SAMPLES = 512  # unseen: points tried before a program is asked; any number gives true bounds, of another tightness


def bounds(
    network: Network, box: Domain, solve: bool = False, deadline: Deadline | None = None
) -> tuple[Interval, ...]:
    """Bounds on the pre-activations of every layer over a box.

    Parameters
    ----------
    network
        S members.
    box
        The inputs.
    solve
        Whether to solve linear programs for units whose sign the cheaper bounds and samples leave open.
    deadline
        When to solve no more linear programs; default: never.

    Returns
    -------
    tuple
        (low, high) per layer, the outputs last, float64 [S, n_l] each.

    Examples
    --------
    >>> from tutelage.functions.domain import box_for
    >>> net = Network((torch.tensor([[[1.0], [-1.0]]], dtype=torch.float64),))
    >>> [[round(end.item(), 12) for end in layer] for layer in bounds(net, box_for(net, (0, 1)))]
    [[-1.0, 1.0]]
    """
    network = as_network(network)
    if not isinstance(box, Domain) or box.low.shape != (network.members, network.inputs):
        shape = list(box.low.shape) if isinstance(box, Domain) else type(box).__name__
        raise TutelageError(f"box must be a domain with ends [{network.members}, {network.inputs}], got {shape}")
    # Invariant: `known` holds all layers below, each bound the better one of intervals, lines and programs.
    known: list[Interval] = []
    f = (box.low, box.high)
    tried = box.sample(_SAMPLES) if solve and box.bounded else None
    for layer in range(network.depth):
        u = affine(f, network.weights[layer], bias(network, layer))
        if layer and box.bounded:
            u = _tighter(u, _by_lines(network, known, box, layer))
        if tried is not None:
            tried = linear(network, layer, tried)
            # Samples first: most undecided units show a point on either side, and no program can decide those. Outputs
            # have no kink whose side could be decided.
            if layer and layer < network.depth - 1:
                u = programs.tightened(network, known, box, layer, u, tried, deadline)
            tried = activate(network, tried)
        known.append(u)
        f = activated(network, u)
    return tuple(known)


def _tighter(first: Interval, second: Interval) -> Interval:
    return torch.maximum(first[0], second[0]), torch.minimum(first[1], second[1])


def _by_lines(network: Network, known: Sequence[Interval], box: Domain, layer: int) -> Interval:
    """Bounds of one layer with every lower activation between two lines, carried back to the inputs."""
    # Invariant: lower z + start <= the pre-activations of `layer` <= upper z + stop, z the features below, for one
    # layer further down in every pass.
    lower = upper = network.weights[layer].mT  # [S, out, n] over the features below
    start = stop = bias(network, layer)
    for below in reversed(range(layer)):
        chord, offset, under, _ = lines(*known[below], slopes(network)[0])
        start = start + torch.einsum("soi,si->so", lower.clamp_max(0), offset)
        stop = stop + torch.einsum("soi,si->so", upper.clamp_min(0), offset)
        lower = lower.clamp_min(0) * under.unsqueeze(1) + lower.clamp_max(0) * chord.unsqueeze(1)
        upper = upper.clamp_min(0) * chord.unsqueeze(1) + upper.clamp_max(0) * under.unsqueeze(1)
        b = bias(network, below)
        start, stop = (c + torch.einsum("soi,si->so", a, b) for c, a in ((start, lower), (stop, upper)))
        lower, upper = torch.bmm(lower, network.weights[below].mT), torch.bmm(upper, network.weights[below].mT)
    room = gamma(4 * sum(network.widths[: layer + 1]) + 16 * layer) * _size(network, known, box, layer)
    room = room + underflow(network, box)
    low = affine((box.low, box.high), lower.mT, start)[0] - room
    high = affine((box.low, box.high), upper.mT, stop)[1] + room
    return low.nan_to_num(-torch.inf, torch.inf, -torch.inf), high.nan_to_num(torch.inf, torch.inf, -torch.inf)


def underflow(network: Network, box: Domain) -> float:
    """What all products along a network that underflow can move an output by: a number, infinite beyond float64.

    Each is off by at most the smallest normal number, times the largest factor that anything after it multiplies by.
    None reaches an output where all weights of the top layer are 0.
    """
    if not network.weights[-1].any():
        return 0.0
    reach = max(1.0, box.low.abs().max().item(), box.high.abs().max().item()) if box.bounded else 1.0
    factors = [max(w.abs().sum(1).max().item(), w.abs().sum(2).max().item()) for w in network.weights]
    factors += [reach, max(b.abs().max().item() for b in network.biases or (torch.zeros(1),))]
    powers = [math.log2(max(1.0, factor)) for factor in factors]
    count = 4 * sum(w[0].numel() for w in network.weights) + 64
    power = 2 * sum(powers) + math.log2(count) - 1022
    return 2.0**power if power < 1023 else math.inf


def _size(network: Network, known: Sequence[Interval], box: Domain, layer: int) -> Tensor:
    """Sum of the absolute values of all terms that :func:`_by_lines` adds up: [S, out]."""
    size = torch.maximum(box.low.abs(), box.high.abs())
    for below in range(layer + 1):
        size = torch.einsum("si,sio->so", size, network.weights[below].abs()) + bias(network, below).abs()
        if below < layer:
            size = size + lines(*known[below], slopes(network)[0]).offset
    return size


def affine(f: Interval, w: Tensor, b: Tensor) -> Interval:
    """Ends of f W + b for f between its ends, rounded outwards: [S, in], [S, in, out], [S, out] -> [S, out] twice."""
    plus, minus = w.clamp_min(0), w.clamp_max(0)
    return _end(f[0], plus, f[1], minus, b, -1), _end(f[1], plus, f[0], minus, b, +1)


def _end(f: Tensor, w: Tensor, g: Tensor, v: Tensor, b: Tensor, side: int) -> Tensor:
    """f W + g V + b, moved outwards by rounding and underflow; infinite where an infinite end or an overflow enters."""

    def times(x: Tensor, y: Tensor) -> Tensor:
        return torch.bmm(x.unsqueeze(1), y).squeeze(1)

    def met(x: Tensor, y: Tensor) -> Tensor:
        return times(x.to(w), (y != 0).to(w))

    # 0 times infinity is NaN: infinite ends are taken out of the sum and put back where a weight other than 0 meets
    # one.
    finite_f, finite_g = torch.where(f.isinf(), 0, f), torch.where(g.isinf(), 0, g)
    value = times(finite_f, w) + times(finite_g, v) + b
    size = times(finite_f.abs(), w.abs()) + times(finite_g.abs(), v.abs()) + b.abs()
    products = met(finite_f != 0, w) + met(finite_g != 0, v)  # a product with a zero factor cannot underflow
    end = value + side * (gamma(2 * w.shape[1]) * size + TINY * products)
    open_end = met(f.isinf(), w) + met(g.isinf(), v) > 0
    return torch.where(open_end | end.isnan(), side * torch.inf, end)


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
