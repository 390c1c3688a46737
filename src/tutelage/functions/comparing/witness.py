"""A search for an input at which two networks differ: samples, corners, boundaries of units and both sides of them.

Where one network has a kink that the other lacks, the difference cannot vanish on the boundary and at equal distances
on both sides of it, so that a boundary that a step along a gradient finds is a witness, however rarely it is met.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from tutelage import draws
from tutelage.functions.pieces.counts import chords
from tutelage.functions.pieces.domain import Domain
from tutelage.networks import Network, outputs
from tutelage.networks.forward import activate, linear

SAMPLES = 2048
"""Points drawn from the domain."""
_UNITS, _EACH = 1024, 4  # the most units whose boundaries are looked for, and points each is looked for from
_STARTS = 64  # points that boundaries are looked for from
_NEWTON = 4  # steps towards a boundary
_SCALES = (-2, 4)  # without a domain, points are drawn at sizes from 10^-2 to 10^4
_AS_GOOD = 0.9  # of the largest difference
_CLIMBERS, _CLIMB = 32, 40  # points of the local ascent, and its steps


@dataclass(frozen=True, eq=False)
class Witness:
    """The largest difference found: value, in the measure of the domain, at an input [d]."""

    value: float
    at: Tensor


def difference_at(first: Network, second: Network, points: Tensor, bounded: bool) -> Tensor:
    """|a - b|, the largest of all outputs, at points [N, d]; without bounds it is divided by max(1, |x|): [N].

    0 where both overflow, which tells nothing.
    """
    value = (outputs(first, points) - outputs(second, points))[0].abs().nan_to_num(0.0).amax(1)
    return value if bounded else value / points.abs().amax(1).clamp_min(1)


def sampled(first: Network, second: Network, domain: Domain | None, seed: int = 0) -> Witness:
    """The largest difference on points of the domain drawn at random; both networks are single and float64."""
    return _best(first, second, _draw(first.inputs, domain, seed), domain is not None)


def searched(first: Network, second: Network, domain: Domain | None, seed: int = 0, boundaries: bool = True) -> Witness:
    """The largest difference on samples, corners, boundaries and both sides of these, and after a local ascent."""
    points = torch.cat([_draw(first.inputs, domain, seed), *_corners((first, second), domain)])
    if boundaries:
        starts = points[torch.linspace(0, len(points) - 1, _STARTS).long()]
        points = torch.cat([points, *(_crossings(network, starts, domain) for network in (first, second))])
    value = difference_at(first, second, points, domain is not None)
    top = points[value.topk(min(_CLIMBERS, len(points))).indices]
    return _best(first, second, torch.cat([top, _climbed(first, second, top, domain)]), domain is not None)


def _best(first: Network, second: Network, points: Tensor, bounded: bool) -> Witness:
    """The point of the largest difference; without bounds the smallest of those that are as good."""
    value = difference_at(first, second, points, bounded)
    best = int(value.argmax())
    if not bounded:
        good = (value >= _AS_GOOD * value[best]).nonzero().flatten()
        best = int(good[points[good].abs().amax(1).argmin()])
    return Witness(value[best].item(), points[best])


def _draw(d: int, domain: Domain | None, seed: int) -> Tensor:
    """Points of the domain, or of all sizes where there is none: [SAMPLES, d]."""
    key = draws.keys([seed], "witness")
    if domain is None:
        size = torch.logspace(*_SCALES, SAMPLES, dtype=torch.float64).unsqueeze(1)
        return size * draws.normals(key, SAMPLES * d).view(SAMPLES, d)
    unit = draws.uniforms(key, SAMPLES * d).view(SAMPLES, d)
    if domain.is_box:
        return domain.low + unit * (domain.high - domain.low)
    ends = [torch.cat(chords(domain, s)) for s in range(seed, seed + SAMPLES // 128)]
    start = torch.cat(ends)
    mixed = start.roll(1, 0) + draws.uniforms(key, len(start), SAMPLES * d).view(-1, 1) * (start - start.roll(1, 0))
    return torch.cat([start, mixed])


def _corners(networks: tuple[Network, ...], domain: Domain | None) -> list[Tensor]:
    """Where units of the first layers are largest and smallest in a box: corners, two per unit."""
    if domain is None or not domain.is_box:
        return []
    w = torch.cat([network.weights[0][0] for network in networks], dim=1).T[:_UNITS]
    return [torch.where(side * w > 0, domain.high, domain.low) for side in (1, -1)]


def _inside(points: Tensor, domain: Domain | None) -> Tensor:
    """Points outside the domain brought to its boundary: along axes in a box, else towards the centre."""
    if domain is None:
        return points
    if domain.is_box:
        return torch.minimum(torch.maximum(points, domain.low), domain.high)
    away = points - domain.centre
    slope, room = away @ domain.normals.T, domain.offsets - domain.normals @ domain.centre
    share = torch.where(slope > 0, room / slope, torch.inf).amin(1, keepdim=True)
    return torch.where(share < 1, domain.centre + share * away, points)


def _crossings(network: Network, starts: Tensor, domain: Domain | None) -> Tensor:
    """Points on boundaries of hidden units, and on both sides: each unit is approached from a few starts."""
    points = []
    for layer, width in enumerate(network.widths[1:-1]):
        units = torch.arange(min(width, _UNITS)).repeat_interleave(_EACH)
        x = starts[torch.arange(len(units)) % len(starts)]
        for _ in range(_NEWTON):
            u, slope = _unit(network, layer, units, x)
            step = torch.where(slope.square().sum(1) > 0, u / slope.square().sum(1), 0)
            x = _inside(x - step.unsqueeze(1) * slope, domain)
        _, slope = _unit(network, layer, units, x)
        across = slope / slope.norm(dim=1, keepdim=True).clamp_min(torch.finfo(torch.float64).tiny)
        size = 1 + x.norm(dim=1, keepdim=True)
        sides = [_inside(x + side * size * across, domain) for far in (1e-3, 0.1) for side in (-far, far)]
        points += [x, *sides]
    return torch.cat(points) if points else starts[:0]


def _unit(network: Network, layer: int, units: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """The pre-activation of unit units[i] of a layer (from 0) at x[i], and its gradient: [N], [N, d]."""
    x = x.detach().requires_grad_()
    with torch.enable_grad():
        u = linear(network, 0, x.unsqueeze(0))
        for lower in range(layer):
            u = linear(network, lower + 1, activate(network, u))
        u = u[0].gather(1, units.unsqueeze(1)).squeeze(1)
        (slope,) = torch.autograd.grad(u.sum(), x)
    return u.detach(), slope


def _climbed(first: Network, second: Network, x: Tensor, domain: Domain | None) -> Tensor:
    """Steps along the sign of the gradient, kept where they gain and halved where they do not."""
    bounded = domain is not None
    value = difference_at(first, second, x, bounded)
    if domain is None:
        step = (1 + x.abs().amax(1, keepdim=True)).expand_as(x) / 4
    else:
        step = (domain.high - domain.low).expand_as(x) / 4
    for _ in range(_CLIMB):
        at = x.detach().requires_grad_()
        with torch.enable_grad():
            (slope,) = torch.autograd.grad(difference_at(first, second, at, bounded).sum(), at)
        moved = _inside(x + step * slope.sign(), domain)
        there = difference_at(first, second, moved, bounded)
        better = (there > value).unsqueeze(1)
        x, step = torch.where(better, moved, x), torch.where(better, step, step / 2)
        value = torch.maximum(value, there)
    return x
