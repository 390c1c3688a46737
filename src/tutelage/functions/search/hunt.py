"""The search for an input at which two networks differ: given data, random points, corners, boundaries, an ascent.

Cheap points come first, in batches that grow, so that every time limit leaves something looked at; what a limit leaves
out has a name, and is said. Where one network has a kink that the other lacks, the difference cannot vanish on the
boundary and at equal distances on both sides of it, so that a boundary that a step along a gradient finds is a witness,
however rarely it is met.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import torch
from torch import Tensor

from tutelage import draws
from tutelage.deadline import NEVER, Deadline, OutOfTime, rows_at_a_time
from tutelage.errors import TutelageError
from tutelage.functions.answers import Question
from tutelage.functions.domain import Domain
from tutelage.functions.interruptible import interruptible
from tutelage.functions.rounding import EXACT_WEIGHTS, difference_with_error, exact_outputs, with_error
from tutelage.networks import Network, outputs
from tutelage.networks.forward import activate, linear

_SAMPLES = 2048  # points drawn at first
_CLIMBERS, _CLIMB = 64, 60  # points of a local ascent, and its steps
_FROM_BOXES, _SHORT = 16, 12  # open boxes of a batch from whose middles an ascent starts, and its steps
_WORK = 1 << 30  # products of weights that the first points may take
_GLANCE = 64  # points of each kind that are looked at before anything is bounded
_FIRST = 16  # points of the first batch, which is looked at within any limit
_UNITS, _EACH = 1024, 4  # the most units whose boundaries are looked for, and points each is looked for from
_STARTS = 64  # points that boundaries are looked for from
_NEWTON = 4  # steps towards a boundary


def corners(networks: tuple[Network, ...], domain: Domain | None, most: int = _UNITS) -> Tensor:
    """Where units of the first layers are largest and smallest in a box: corners [N, d], two per unit."""
    if domain is None or not domain.is_box:
        return torch.empty(0, networks[0].inputs, dtype=torch.float64)
    w = torch.cat([network.weights[0][0] for network in networks], dim=1).T[:most]
    return torch.cat([torch.where(side * w > 0, domain.high, domain.low) for side in (1, -1)])


def inside(points: Tensor, domain: Domain | None) -> Tensor:
    """Points outside the domain brought to its boundary: along axes in a box, else towards the centre."""
    if domain is None:
        return points
    if domain.is_box:
        return torch.minimum(torch.maximum(points, domain.low), domain.high)
    away = points - domain.centre
    slope, room = away @ domain.normals.T, domain.offsets - domain.normals @ domain.centre
    share = torch.where(slope > 0, room / slope, torch.inf).amin(1, keepdim=True)
    return torch.where(share < 1, domain.centre + share * away, points)


def crossings(network: Network, points: Tensor, domain: Domain | None, most: int = _UNITS) -> Iterator[Tensor]:
    """Points on boundaries of hidden units, and on both sides, layer by layer: each from a few of the given ones."""
    starts = points[torch.linspace(0, len(points) - 1, _STARTS).long()]
    for layer, width in enumerate(network.widths[1:-1]):
        # From several points, since a boundary bends at those of lower layers and may be missed from one side.
        units = torch.arange(min(width, most)).repeat_interleave(_EACH)
        x = starts[torch.arange(len(units)) % len(starts)]
        # Newton's method on a piecewise linear function: exact once the last piece is met.
        for _ in range(_NEWTON):
            u, slope = _unit(network, layer, units, x)
            step = torch.where(slope.square().sum(1) > 0, u / slope.square().sum(1), 0)
            x = inside(x - step.unsqueeze(1) * slope, domain)
        _, slope = _unit(network, layer, units, x)
        across = slope / slope.norm(dim=1, keepdim=True).clamp_min(torch.finfo(torch.float64).tiny)
        size = 1 + x.norm(dim=1, keepdim=True)
        # A kink that one network has and the other lacks makes the difference of at least one of three points (here,
        # and as far on both sides) as large as the turn: near points for thin pieces, far ones for a difference above
        # rounding.
        sides = [inside(x + side * size * across, domain) for far in (1e-3, 0.1) for side in (-far, far)]
        yield torch.cat([x, *sides])


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


def ascent(
    x: Tensor,
    value: Tensor,
    step: Tensor,
    steps: int,
    look: Callable[[Tensor], Tensor],
    slope: Callable[[Tensor], Tensor],
    into: Callable[[Tensor], Tensor],
    stop: Callable[[], bool] = lambda: False,
) -> tuple[Tensor, Tensor]:
    """Steps along the sign of the gradient from points [..., d] of values [...], kept where they gain, else halved."""
    # Signs instead of gradients, since in a piecewise linear function the length of a gradient says nothing about how
    # far the piece reaches. Invariant: value[i] is the value at x[i], and never falls.
    for _ in range(steps):
        if stop():
            break
        moved = into(x + step * slope(x).sign())
        there = look(moved)
        better = (there > value).unsqueeze(-1)
        x, step = torch.where(better, moved, x), torch.where(better, step, step / 2)
        value = torch.maximum(value, there)
    return x, value


def gradient(function: Callable[[Tensor], Tensor], points: Tensor) -> Tensor:
    """The gradient at every point of a function of points [..., d]."""
    at = points.detach().requires_grad_()
    with torch.enable_grad():
        (slope,) = torch.autograd.grad(function(at).sum(), at)
    return slope


class Hunt:
    """The search for an input of a box at which the answer is no; the best so far is kept.

    best: largest excess; at: its input [d]; largest: [C], the largest differences met; refuted: whether ``at`` is a
    proof, in exact arithmetic where the networks are small enough, else beyond a bound on the rounding; untried: what a
    time limit left out; precisions: of the weights as stored.
    """

    def __init__(self, first: Network, second: Network, domain: Domain, question: Question) -> None:
        self.pair, self.domain, self.question = (first, second), domain, question
        self.low, self.high = domain.low, domain.high
        if question.margin is not None and first.outputs < 2:
            raise TutelageError(
                "a comparison of top classes needs networks with at least two outputs, got 1: use epsilon instead"
            )
        self.best, self.at = -torch.inf, domain.centre
        self.largest = torch.zeros(first.outputs, dtype=torch.float64)
        self.refuted = False
        self.precisions: tuple[torch.dtype, ...] = (first.dtype, second.dtype)
        self.weights = self._weights()
        self.untried: list[str] = []
        self._best = torch.empty(0, len(self.low), dtype=torch.float64), torch.empty(0, dtype=torch.float64)

    work = _WORK

    @property
    def reach(self) -> np.ndarray:
        """The largest sizes of the inputs, [d]."""
        return torch.maximum(self.low.abs(), self.high.abs()).numpy()

    def _weights(self) -> int:
        return sum(a.numel() for n in self.pair for a in n.parameters)

    def values(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Outputs [N, C] of both networks at points [N, d]."""
        first, second = (outputs(n, points)[0] for n in self.pair)
        return first, second

    def slope(self, points: Tensor) -> Tensor:
        """The gradient [N, d] of the excess at points."""
        return gradient(lambda at: self.question.excess(*self.values(at)), points)

    def look(self, points: Tensor) -> Tensor:
        """Evaluate at points [N, d] of the box; their excess [N], minus infinity outside a polytope."""
        first, second = self.values(points)
        gap, excess = (first - second).abs().nan_to_num(0.0), self.question.excess(first, second).nan_to_num(-torch.inf)
        if not self.domain.is_box:
            inside = (points @ self.domain.normals.T <= self.domain.offsets).all(1)
            gap, excess = gap * inside.unsqueeze(1), torch.where(inside, excess, -torch.inf)
        self.largest = torch.maximum(self.largest, gap.amax(0))
        if self.question.follow:
            self._follow(gap, points)
            return excess
        best = int(excess.argmax())
        # An excess of 0 or more that could not be proved may be rounding: other points with one are tried too, even
        # smaller ones.
        if excess[best] > self.best or (excess[best] >= 0 and not self.refuted):
            self.best, self.at = excess[best].item(), points[best].clone()
            self.refuted = excess[best].item() >= 0 and self.proved(self.at)
        return excess

    def _follow(self, gap: Tensor, points: Tensor) -> None:
        """Let the limits grow with the largest differences [C]."""
        row = int(gap.amax(1).argmax())
        if gap[row].max() > self.best:
            self.best, self.at = gap[row].max().item(), points[row].clone()
        self.raise_limits(self.question.follow * self.largest)

    def raise_limits(self, least: Tensor) -> None:
        """Let the limits be no smaller than these [C], where these are finite."""
        self.question.limits.copy_(torch.maximum(self.question.limits, least.nan_to_num(0.0, 0.0)))

    def proved(self, at: Tensor) -> bool:
        """Whether the answer at an input is no beyond any doubt."""
        if not self.domain.is_box and not self._inside(at):
            return False
        (first_value, e), (second_value, h) = ((v[0], r[0]) for v, r in (with_error(n, at[None]) for n in self.pair))
        # Floats decide what is clear: far above any rounding the fractions, which take seconds for 100,000 weights, are
        # left out.
        room = 4 * (e + h).max() + 1e-12 * (first_value.abs().max() + second_value.abs().max())
        room = room + 2 * self.question.room.max()
        if (self.question.excess(first_value, second_value) > room).all():
            return True  # the difference is too large for rounding to matter; fractions take seconds
        if self.weights > EXACT_WEIGHTS:
            return False
        first, second = (exact_outputs(n, at) for n in self.pair)
        return self.question.refuted(first, second)

    def gap(self, at: Tensor) -> tuple[Tensor, Tensor]:
        """Differences of the outputs at an input, and how far each may be off: [C] twice."""
        gap, error = difference_with_error(*self.pair, at[None])
        return gap[0, 0], error[0, 0]

    def _inside(self, at: Tensor) -> bool:
        """Whether an input lies in a polytope, in rational arithmetic."""
        x = [Fraction(v) for v in at.tolist()]
        return all(
            sum(Fraction(a) * v for a, v in zip(row, x, strict=True)) <= Fraction(b)
            for row, b in zip(self.domain.normals.tolist(), self.domain.offsets.tolist(), strict=True)
        )

    def climb(self, points: Tensor, value: Tensor, step: Tensor) -> None:
        """A short ascent from those of some points [N, d] with the largest excess [N]: first to corners of their boxes.

        step: [N, d], half the sides of the boxes.
        """
        if self.refuted or self.question.follow:
            return
        top = value.topk(min(_FROM_BOXES, len(value))).indices
        if value[top].isfinite().any():
            ascent(
                points[top], value[top], step[top], _SHORT, self.look, self.slope, self._clamped, lambda: self.refuted
            )

    def begin(self, seed: int = 0, deadline: Deadline = NEVER, data: Tensor | None = None) -> None:
        """Look at given points [N, d], random ones, corners and boundaries of units, and climb, until a deadline.

        What the deadline leaves out is in ``untried``; the first few points are looked at within any limit.
        """
        self.untried = []
        generator = torch.Generator().manual_seed(*draws.as_seeds([seed]))
        d, count = len(self.low), max(_FIRST, min(_SAMPLES, self.work // self.weights))
        unit = torch.rand(count, d, generator=generator, dtype=torch.float64)
        ends = (torch.rand(count // 4, d, generator=generator) < 0.5).to(torch.float64)
        points, extreme = self.inside(unit), self.inside(ends)
        if not self.domain.is_box:  # half way to the centre from everywhere, some of which lies inside
            both = torch.cat([points, extreme])
            share = torch.rand(len(both), 1, generator=generator, dtype=torch.float64)
            points, extreme = (self.domain.centre + share * (both - self.domain.centre)).split([len(points), len(ends)])
        # Work, not points, is what the first batches are limited by: `work` products in all, a 64th of it for the
        # boundaries and corners of units, which take a Newton step or a row of weights each.
        first, most = min(_FIRST, max(2, rows_at_a_time(self.weights))), max(1, self.work // (64 * self.weights))
        given = points[:0] if data is None else data[((self.low <= data) & (data <= self.high)).all(1)]
        whole = given, points, extreme
        at_once = torch.cat([part[:first] for part in whole])
        self._remember(at_once, self.look(at_once))
        more = [part[first:] for part in whole]
        # From cheap to dear, so that a limit leaves out what costs most per point; an ascent starts from the best of
        # all points before it.
        stages = [
            ("random points", lambda: iter([more[1]])),
            ("corners", lambda: iter([more[2], self.unit_corners(most)])),
            ("boundaries of units", lambda: self.unit_boundaries(points, most)),
            ("an ascent", lambda: self._climbed(deadline)),
        ]
        if len(more[0]):
            stages.insert(0, ("given points", lambda: iter([more[0]])))
        with interruptible(deadline, self.weights):
            self._looked_at(stages, deadline)

    def glance(self, seed: int = 0, data: Tensor | None = None) -> None:
        """Look at a few given points, random ones and corners: what costs next to nothing beside any bound."""
        generator = torch.Generator().manual_seed(*draws.as_seeds([seed]))
        count = min(_GLANCE, max(2, rows_at_a_time(self.weights)))
        unit = torch.rand(count, len(self.low), generator=generator, dtype=torch.float64)
        given = unit[:0] if data is None else data[((self.low <= data) & (data <= self.high)).all(1)][:count]
        ends = self.inside(unit.round())
        self.look(torch.cat([self.domain.centre[None], given, self.inside(unit), ends, self.unit_corners(count)]))

    def _looked_at(self, stages: list[tuple[str, Callable[[], Iterator[Tensor]]]], deadline: Deadline) -> None:
        """Look at the points of one stage after the other; the names of those that were not finished are kept."""
        rows = max(_FIRST, self.work // (64 * self.weights))
        for name, points in stages:
            if self.refuted:
                return
            try:
                deadline.check()
                for part in points():
                    for batch in part.split(rows) if len(part) else ():
                        deadline.check()
                        self._remember(batch, self.look(batch))
                        if self.refuted:
                            return
            except OutOfTime:
                self.untried.append(name)

    def _remember(self, points: Tensor, excess: Tensor) -> None:
        """Keep the best points met so far, from which an ascent starts."""
        points, excess = torch.cat([self._best[0], points]), torch.cat([self._best[1], excess])
        top = excess.topk(min(_CLIMBERS, len(points))).indices
        self._best = points[top], excess[top]

    def unit_corners(self, most: int) -> Tensor:
        """Corners at which units of the first layers are largest or smallest."""
        return corners(self.pair, self.domain, most)

    def unit_boundaries(self, points: Tensor, most: int) -> Iterator[Tensor]:
        """Points of the domain on boundaries of units and beside them."""
        for network in self.pair:
            yield from crossings(network, points, self.domain, most)

    def _clamped(self, points: Tensor) -> Tensor:
        return torch.minimum(torch.maximum(points, self.low), self.high)

    def inside(self, unit: Tensor) -> Tensor:
        """Points [N, d] of the unit cube taken to the box, never outside of it."""
        return self._clamped(self.low + unit * (self.high - self.low))

    def _climbed(self, deadline: Deadline) -> Iterator[Tensor]:
        """An ascent from the best points so far."""
        points, value = self._best
        if not len(points) or not (self.high > self.low).any():
            return
        # For large networks fewer climbers, and a sixth of the steps where even these would exceed the work.
        climbers = min(len(points), max(4, self.work // (16 * self.weights)))
        points, value = points[:climbers], value[:climbers]
        step = ((self.high - self.low) / 4).expand_as(points)
        steps = _CLIMB if _CLIMB * climbers * self.weights < 16 * self.work else _CLIMB // 6

        def stop() -> bool:
            deadline.check()
            return self.refuted

        ascent(points, value, step, steps, self.look, self.slope, self._clamped, stop)
        yield points[:0]
