"""Which units are on one side of their kink over a whole box: a search for the others, then branch and bound.

A point on either side shows that a unit bends, which most units do; no program is solved for these. For the rest, upper
bounds of u (or -u) are proved by branch and bound on the units below (:mod:`tutelage.functions.bounds.branch_units`),
with rounding counted in. A unit that is not decided within its time is kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from tutelage.deadline import Deadline
from tutelage.functions.bounds.branch_units import branch
from tutelage.functions.checks import bias
from tutelage.functions.domain import Domain
from tutelage.functions.relaxations import Interval
from tutelage.functions.search.hunt import ascent, gradient
from tutelage.networks import Network
from tutelage.networks.forward import activate, linear
from tutelage.printing import printed

SECONDS = 2.0
"""Time per unit for branch and bound; small networks, whose units linear programs have looked at, take less."""
MOST_SECONDS = 120.0
"""Time per layer for branch and bound."""
_STEPS = 24  # of the search
_BRIEFLY, _SMALL = 0.1, 2_000  # seconds per unit of networks with so few weights
_ROWS = 1 << 22  # numbers held at a time by the search


@printed
@dataclass(frozen=True)
class Decided:
    """How the units of one layer of a member, counted from 1, were decided on a box.

    Attributes
    ----------
    member, layer
        The member from 0, the layer from 1.
    by_bounds
        Units that bounds alone show to be on one side of their kink.
    bending
        Units with a point on either side.
    by_branching
        Units shown to be on one side by branch and bound.
    undecided
        Units left open.
    """

    member: int
    layer: int
    by_bounds: int
    bending: int
    by_branching: tuple[int, ...]
    undecided: tuple[int, ...]


def settled(
    network: Network, box: Domain, known: Sequence[Interval], points: Tensor | None, deadline: Deadline
) -> tuple[list[Interval], tuple[Decided, ...]]:
    """Bounds of all pre-activations, tightened for units that bounds leave open, and how units were decided.

    network, box: of S members, the box bounded; known: (low, high) [S, n] per layer, the outputs last; points: where
    the search may start, [S, N, d].
    """
    tight = [(low.clone(), high.clone()) for low, high in known]
    decided = []
    for member in range(network.members):
        member_network = network[member]
        ends = box.low[member], box.high[member]
        start = None if points is None else points[member]
        for layer in range(network.depth - 1):
            low, high = (end[member] for end in tight[layer])
            open_ = (low < 0) & (high > 0)
            by_bounds = int((~open_).sum())
            bends, proved = torch.zeros_like(open_), torch.zeros_like(open_)
            if layer and open_.any() and not deadline.passed:
                # Search first: a point on either side settles a unit without any proof, and most units that bounds
                # leave open bend.
                bends, above = _search(member_network, layer, ends, open_, start)
                below = [(lo[member], hi[member]) for lo, hi in tight[:layer]]
                bound = _branched(member_network, layer, ends, open_ & ~bends, above, below, deadline)
                tight[layer][0][member] = torch.where(above, torch.maximum(low, -bound), low)
                tight[layer][1][member] = torch.where(above, high, torch.minimum(high, bound))
                proved = open_ & ~bends & (bound <= 0)
            elif not layer:
                bends = open_  # bounds of the first layer are exact but for rounding
            left = open_ & ~bends & ~proved
            numbers = [tuple(mask.nonzero().flatten().tolist()) for mask in (proved, left)]
            decided.append(Decided(member, layer + 1, by_bounds, int(bends.sum()), *numbers))
    return tight, tuple(decided)


def _search(network: Network, layer: int, ends: Interval, open_: Tensor, start: Tensor | None) -> tuple[Tensor, Tensor]:
    """Units with a point on either side of their kink, and units whose points lie above it: bool [n] twice."""
    low, high = ends
    tried = Domain(low[None], high[None]).sample(512)[0]
    tried = tried if start is None else torch.cat([tried, start])
    u = _values(network, layer, tried)
    most, least = u.amax(0), u.amin(0)
    for sign in (1, -1):
        reached = most if sign == 1 else -least
        units = (open_ & (reached <= 0)).nonzero().flatten()
        for rows in units.split(max(1, _ROWS // max(network.widths))):
            at = tried[(sign * u[:, rows]).argmax(0)]
            value = _ascended(network, layer, at, rows, sign, ends)
            reached[rows] = torch.maximum(reached[rows], value)
        most, least = (reached, least) if sign == 1 else (most, -reached)
    return open_ & (most > 0) & (least < 0), most > 0


def _values(network: Network, layer: int, x: Tensor) -> Tensor:
    """Pre-activations of a layer (from 0): [N, n]."""
    f = x[None]
    for below in range(layer):
        f = activate(network, linear(network, below, f))
    return linear(network, layer, f)[0]


def _ascended(network: Network, layer: int, x: Tensor, units: Tensor, sign: int, ends: Interval) -> Tensor:
    """The largest sign * u of each unit found from its own point [k, d]: steps to corners, then shorter ones: [k]."""
    low, high = ends
    row = torch.arange(len(units))
    best = torch.zeros(len(units), dtype=torch.float64)

    def look(points: Tensor) -> Tensor:
        return sign * _values(network, layer, points)[row, units]

    def watched(points: Tensor) -> Tensor:
        there = look(points)
        best.copy_(torch.maximum(best, there))
        return there

    def into(points: Tensor) -> Tensor:
        return torch.minimum(torch.maximum(points, low), high)

    # Full steps lead from corner to corner, where a unit of the first layer is largest; only then are they halved.
    step = (high - low).expand_as(x)
    _, value = ascent(
        x, look(x), step, _STEPS, watched, lambda at: gradient(look, at), into, lambda: bool((best > 0).all())
    )
    return value


def _branched(
    network: Network,
    layer: int,
    ends: Interval,
    units: Tensor,
    above: Tensor,
    below: Sequence[Interval],
    deadline: Deadline,
) -> Tensor:
    """Proven upper bounds of u, or of -u for units above their kink at all points: [n], infinite for other units."""
    bound = torch.full_like(below[0][0][:1], torch.inf).expand(len(units)).clone()
    chosen = units.nonzero().flatten()
    if not len(chosen):
        return bound
    top = replace(
        network, weights=network.weights[: layer + 1], biases=tuple(bias(network, k) for k in range(layer + 1))
    )
    objectives = torch.zeros(len(chosen), len(units), dtype=torch.float64)
    objectives[torch.arange(len(chosen)), chosen] = torch.where(above[chosen], -1.0, 1.0).to(objectives)
    limit = torch.full((len(chosen),), torch.finfo(torch.float64).tiny, dtype=torch.float64)
    # All units at once without any branching: one product of matrices per layer and step proves the easy ones.
    bounds = branch(top, *ends, objectives, limit, deadline, known=below, stop=lambda: True).bounds
    whole = deadline.within(MOST_SECONDS)
    longest = SECONDS if sum(w.numel() for w in top.weights) > _SMALL else _BRIEFLY
    for number in (bounds > 0).nonzero().flatten().tolist():  # one at a time: a hopeless one would hold up all others
        if whole.passed:
            break
        asked = slice(number, number + 1)
        each = whole.within(longest)
        bounds[asked] = branch(top, *ends, objectives[asked], limit[asked], each, known=below).bounds
    bound[chosen] = bounds
    return bound
