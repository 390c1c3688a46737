"""The largest difference that a search finds, over a domain or, in the measure of all inputs, anywhere.

Networks that agree between -1 and 1 may differ where other units are active: without a domain points of all sizes are
looked at, and differences are measured by max(1, |x|), with which outputs grow at most. Nothing is proved by finding
nothing.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from tutelage import draws
from tutelage.deadline import NEVER, Deadline, OutOfTime
from tutelage.functions.domain import Domain
from tutelage.functions.pieces.counts import chords
from tutelage.functions.search.hunt import ascent, corners, crossings, gradient, inside
from tutelage.networks import Network, outputs

SAMPLES = 2048
"""Points drawn from the domain."""
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


def sampled(first: Network, second: Network, domain: Domain | None, seed: int = 0, count: int | None = None) -> Witness:
    """The largest difference on points of the domain drawn at random; both networks are single and float64.

    count: of these points, spread over all sizes where there is no domain; default: all of them.
    """
    points = _draw(first.inputs, domain, seed)
    points = points if count is None else points[:: max(1, len(points) // count)][:count]
    return _best(first, second, points, domain is not None)


def searched(
    first: Network,
    second: Network,
    domain: Domain | None,
    seed: int = 0,
    boundaries: bool = True,
    deadline: Deadline = NEVER,
    untried: list[str] | None = None,
) -> Witness:
    """The largest difference on samples, corners, boundaries and both sides of these, and after a local ascent.

    The names of what a deadline leaves out are added to ``untried``; the samples are looked at within any limit.
    """
    bounded, pair = domain is not None, (first, second)
    samples = _draw(first.inputs, domain, seed)
    best, value = samples, difference_at(first, second, samples, bounded)

    def look(points: Tensor) -> Tensor:
        nonlocal best, value
        # Crossings of huge weights may overflow: what is no number is no witness.
        there = difference_at(first, second, points, bounded).nan_to_num(nan=-torch.inf, posinf=torch.inf)
        best, value = torch.cat([best, points]), torch.cat([value, there])
        # Invariant: `best` are the best points of all that were looked at, so that the next stage starts from them.
        top = value.topk(min(_CLIMBERS, len(best))).indices
        best, value = best[top], value[top]
        return there

    def climb() -> None:
        at, known = best, value  # look() changes both
        step = (1 + at.abs().amax(1, keepdim=True)) / 4 if domain is None else (domain.high - domain.low) / 4
        ascent(at, known, step.expand_as(at), _CLIMB, look, slope, lambda x: inside(x, domain), stop)

    def slope(points: Tensor) -> Tensor:
        return gradient(lambda at: difference_at(first, second, at, bounded), points)

    def stop() -> bool:
        deadline.check()
        return False

    def cross() -> None:
        for network in pair:
            for points in crossings(network, torch.cat([samples, corners(pair, domain)]), domain):
                stop()
                look(points)

    stages = (("corners", lambda: look(corners(pair, domain))), ("boundaries of units", cross), ("an ascent", climb))
    for name, stage in stages:
        if boundaries or stage is not cross:
            try:
                deadline.check()
                stage()
            except OutOfTime:
                if untried is not None:
                    untried.append(name)
    return _best(first, second, best, bounded)


def _best(first: Network, second: Network, points: Tensor, bounded: bool) -> Witness:
    """The point of the largest difference; without bounds the smallest of those that are as good."""
    value = difference_at(first, second, points, bounded).nan_to_num(nan=-torch.inf, posinf=torch.inf)
    best = int(value.argmax())
    if not bounded and value[best].isfinite():
        # The measure grows with |x| at first and then stays: a witness far out is hardly better than one that can be
        # read.
        good = (value >= _AS_GOOD * value[best]).nonzero().flatten()
        best = int(good[points[good].abs().amax(1).argmin()])
    return Witness(value[best].item(), points[best])


def _draw(d: int, domain: Domain | None, seed: int) -> Tensor:
    """Points of the domain, or of all sizes where there is none: [SAMPLES, d]."""
    key = draws.keys([seed], "witness")
    if domain is None:
        # Networks are the same function only if they are so far away too, where other units are active: every size from
        # 0.01 to 10,000 gets the same number of points.
        size = torch.logspace(*_SCALES, SAMPLES, dtype=torch.float64).unsqueeze(1)
        return size * draws.normals(key, SAMPLES * d).view(SAMPLES, d)
    unit = draws.uniforms(key, SAMPLES * d).view(SAMPLES, d)
    if domain.is_box:
        return domain.low + unit * (domain.high - domain.low)
    ends = [torch.cat(chords(domain, s)) for s in range(seed, seed + SAMPLES // 128)]
    start = torch.cat(ends)
    mixed = start.roll(1, 0) + draws.uniforms(key, len(start), SAMPLES * d).view(-1, 1) * (start - start.roll(1, 0))
    return torch.cat([start, mixed])
