"""Units a network can do without: found and taken out one layer at a time, on all members at once.

A unit that goes leaves zeros behind, so that indices stay those of the original until the end. Every change states by
how much it can move the pre-activations above it; :class:`Work` carries that to the outputs and adds it up.

A step that is made is proved: what it moves is bounded for all inputs of the box, or relative to max(1, |x|) for all
inputs. A unit that is redundant by several layers together is not seen here (:mod:`.normalising` sees some).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import torch
from torch import Tensor

from tutelage.deadline import NEVER, Deadline, OutOfTime
from tutelage.functions.bounds.forms import distances
from tutelage.functions.bounds.ranges import bounds, gains, reach
from tutelage.functions.checks import bias, slopes
from tutelage.functions.domain import Domain, box_for
from tutelage.functions.interruptible import interruptible
from tutelage.functions.relaxations import Interval
from tutelage.functions.rounding import TINY, cancelled, gamma
from tutelage.networks import Network, forward
from tutelage.networks.forward import activate, linear
from tutelage.printing import printed

Valid = Literal["all inputs", "the box", "the points"]
VALID: tuple[Valid, ...] = ("all inputs", "the box", "the points")
"""Where a step holds; the codes 0, 1, 2 stand for them."""


@printed
@dataclass(frozen=True)
class Step:
    """What was done to one unit: counted from 0 in its layer, layers from 1.

    action: removed, merged (its fan-out went to unit ``into``), folded (into the units ``into`` and the bias above),
    rewritten (not part of the normal form, from which the network was built again) or seen (nothing was done). valid:
    where the step leaves the function as it was; bound: by how much it alone can move an output, in the measure of the
    proof, or None where nothing is known; exact: rounding is all that the bound holds.
    """

    member: int
    layer: int
    unit: int
    action: Literal["removed", "merged", "folded", "rewritten", "seen"]
    reason: str
    valid: Valid
    bound: float | None
    exact: bool
    into: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class View:
    """What is known of a network at one moment of the surgery, worked out when first asked for."""

    network: Network
    box: Domain
    points: Tensor | None
    proved: tuple[Interval, ...] | None = None
    deadline: Deadline | None = None

    @cached_property
    def known(self) -> tuple[Interval, ...]:
        """Ends of all pre-activations over the box, with those that were proved before."""
        ends = bounds(self.network, self.box, solve=True, deadline=self.deadline)
        if self.proved is None:
            return ends
        pairs = zip(ends, self.proved, strict=True)
        return tuple((torch.maximum(a[0], b[0]), torch.minimum(a[1], b[1])) for a, b in pairs)

    @cached_property
    def everywhere(self) -> tuple[Interval, ...]:
        """The same over all inputs, which is what signs of weights tell."""
        return bounds(self.network, box_for(self.network, None)) if self.box.bounded else self.known

    @cached_property
    def reach(self) -> list[Tensor]:
        return reach(self.network, self.box, self.known)

    @cached_property
    def gains(self) -> list[Tensor]:
        return gains(self.network)

    @cached_property
    def features(self) -> tuple[Tensor, ...]:
        """Inputs and features on the points."""
        assert self.points is not None
        return forward(self.network, self.points).features

    def on_points(self, layer: int) -> Tensor | None:
        """Pre-activations of a layer (from 1) on the points: [S, N, n]."""
        return None if self.points is None else linear(self.network, layer - 1, self.features[layer - 1])


@dataclass
class Work:
    """A network during pruning: which units are left, the steps so far, how far outputs can have moved: moved [S, C].

    dtype: the precision the result is stored in; every new weight is rounded to it at once, and the rounding counted.
    allowed: [S, C], how far all steps together may move an output and still leave the function equal up to rounding;
    None for no limit. slack: what products that underflow can hide of any change of a weight. deadline: when to solve
    no more linear programs.
    """

    network: Network
    box: Domain
    points: Tensor | None
    tolerance: float
    eps: float
    on_samples: bool
    dtype: torch.dtype = torch.float64
    allowed: Tensor | None = None
    slack: float = 0.0
    deadline: Deadline | None = None
    steps: list[Step] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.alive = [torch.ones_like(w[:, 0], dtype=torch.bool) for w in self.network.weights[:-1]]
        self.moved = torch.zeros(self.network.members, self.network.outputs, dtype=torch.float64)
        self.view = View(self.network, self.box, self.points, None, self.deadline)

    def attempt(self, step: Callable[[], bool]) -> bool:
        """Whether a step found something; one that runs out of time in its middle is undone, and found nothing."""
        before = {**self.__dict__, "alive": list(self.alive), "steps": list(self.steps)}
        try:
            with interruptible(self.deadline or NEVER, sum(w.numel() for w in self.network.weights)):
                return step()
        except OutOfTime:
            self.__dict__.update(before)
            return False

    def arrays(self, layer: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Incoming weights and bias of a hidden layer (from 1), its fan-out, the bias above: copies to work on."""
        w, b = self.network.weights, [bias(self.network, i) for i in (layer - 1, layer)]
        return w[layer - 1].clone(), b[0].clone(), w[layer].clone(), b[1].clone()

    def stored(self, values: Tensor) -> Tensor:
        """Values as the result can store them, in float64 again; infinite where they overflow."""
        return values.to(self.dtype).to(torch.float64)

    def cost(self, layer: int, delta: Tensor, gone: Tensor, changes: Tensor) -> Tensor:
        """How far outputs move when each unit of ``gone`` moves those above by delta [S, n, n_above]: [S, n, C].

        changes: bool [S, n], units whose removal changes weights of others, or is no more than small.
        """
        cost = torch.bmm(delta.masked_fill(~gone.unsqueeze(2), 0), self.view.gains[layer])
        cost = cost + self.slack * (gone & changes).unsqueeze(2).to(cost) if self.slack < torch.inf else cost
        # A slack that is infinite says that products may underflow anywhere: no change of weights is proved then.
        lost = (gone & changes).unsqueeze(2) & (self.slack == torch.inf)
        return torch.where(lost, torch.inf, cost).nan_to_num(torch.inf, torch.inf)

    def within(self, cost: Tensor) -> Tensor:
        """Whether the removal of a unit stays within its share of what is allowed: [S, n, C] -> bool [S, n]."""
        if self.allowed is None:
            return (cost < torch.inf).all(2)
        units = max(1, sum(self.network.widths[1:-1]))
        return (cost <= (self.allowed / units).unsqueeze(1)).all(2)

    def accepted(self, cost: Tensor) -> Tensor:
        """Whether the removal of a unit is to be made: any with a tolerance or on samples, else those within it."""
        if self.tolerance > 0 or self.on_samples:
            return torch.ones_like(cost[..., 0], dtype=torch.bool)
        return self.within(cost)

    def put(self, layer: int, w: Tensor, b: Tensor, v: Tensor, above: Tensor, gone: Tensor, moved: Tensor) -> None:
        """Put changed arrays back, with nothing left of the units that are gone [S, n].

        moved: [S, n_above], by how much the pre-activations above can have moved.
        """
        proved = self._still_proved(layer, w, b, gone, moved)
        weights, biases = list(self.network.weights), list(self.network.biases or ())
        weights[layer - 1], weights[layer] = w.masked_fill(gone.unsqueeze(1), 0), v.masked_fill(gone.unsqueeze(2), 0)
        biases[layer - 1], biases[layer] = b.masked_fill(gone, 0), above
        self.network = replace(self.network, weights=tuple(weights), biases=tuple(biases))
        self.alive[layer - 1] = self.alive[layer - 1] & ~gone
        self.view = View(self.network, self.box, self.points, proved, self.deadline)

    def prove(self, ends: Sequence[Interval]) -> None:
        """Keep proven ends of all pre-activations [S, n] per layer for this and later views."""
        self.view = View(self.network, self.box, self.points, tuple(ends), self.deadline)

    def _still_proved(
        self, layer: int, w: Tensor, b: Tensor, gone: Tensor, moved: Tensor
    ) -> tuple[Interval, ...] | None:
        """Proven ends that hold after a change of a layer (from 1): nothing for its changed units, wider ones above."""
        if self.view.proved is None:
            return None
        # Ends that branch and bound has proved are not thrown away by a step: layers below the changed one keep them,
        # its changed units lose them, and those above are widened by how far the step can have moved them.
        ends = list(self.view.proved)
        fixed = (w == self.network.weights[layer - 1]).all(1) & (b == bias(self.network, layer - 1)) & ~gone
        low, high = ends[layer - 1]
        ends[layer - 1] = torch.where(fixed, low, -torch.inf), torch.where(fixed, high, torch.inf)
        room = (moved + self.slack) * (1 + gamma(w.shape[2]))
        for above in range(layer, self.network.depth):
            room = (room * (1 + gamma(8))).nan_to_num(torch.inf, torch.inf)
            ends[above] = ends[above][0] - room - TINY, ends[above][1] + room + TINY
            if above + 1 < self.network.depth:
                w = self.network.weights[above + 1]
                room = torch.einsum("si,sio->so", room, w.abs()) * (1 + gamma(w.shape[1]))
        return tuple(ends)

    def tell(self, layer: int, cost: Tensor, gone: Tensor, valid: Tensor, exact: Tensor, action, reasons, into=None):
        """Record one step per unit that goes: cost [S, n, C] from :meth:`cost`; codes of valid [S, n]."""
        self.moved = self.moved + cost.sum(1)
        exact = exact & self.within(cost)
        for member, unit in gone.nonzero().tolist():
            bound = cost[member, unit].max().item()
            self.steps.append(
                Step(
                    member,
                    layer,
                    unit,
                    action,
                    reasons(member, unit),
                    VALID[int(valid[member, unit])],
                    bound if bound < torch.inf else None,
                    bool(exact[member, unit]),
                    () if into is None else (int(into[member, unit]),),
                )
            )


def constant(work: Work, layer: int) -> bool:
    """Remove units whose activation is a constant: no incoming weights, or never active (relu alone)."""
    w, b, v, above = work.arrays(layer)
    alive, relu = work.alive[layer - 1], slopes(work.network)[0] == 0
    bare = (w == 0).all(1)
    off = [relu & (ends[layer - 1][1] <= 0) for ends in (work.view.everywhere, work.view.known)]
    u = work.view.on_points(layer) if work.on_samples and relu else None
    unseen = torch.zeros_like(bare) if u is None else (u <= 0).all(1)
    proved = bare | off[0] | off[1]
    gone = alive & (proved | unseen)
    overshoot = torch.where(proved, 0, work.view.known[layer - 1][1].clamp_min(0))
    delta = torch.where(v == 0, 0, overshoot.unsqueeze(2) * v.abs())
    # Constants share the bias above, so that one that does not fit spoils the sum: all that touch it stay.
    for _ in range(2):  # once more without the constants that the bias above cannot take up
        value = torch.where(gone & bare, activate(work.network, b.clone()), 0)
        summed = above + torch.einsum("sn,snc->sc", value, v)
        joined = work.stored(summed)
        room = gamma(w.shape[2]) * ((value.unsqueeze(2) * v).abs() + above.abs().unsqueeze(1))
        room = room + (joined - summed).abs().unsqueeze(1)
        cost = work.cost(layer, delta + torch.where(value.unsqueeze(2) != 0, room, 0), gone, value != 0)
        keep = gone & (value != 0) & ~(work.accepted(cost) & joined.isfinite().all(1, keepdim=True))
        if not keep.any():
            break
        gone = gone & ~((value != 0) & keep.any(1, keepdim=True))
    if not gone.any():
        return False
    valid = torch.where(bare | off[0], 0, torch.where(off[1] | (work.box.bounded & ~proved), 1, 2))

    def reason(member: int, unit: int) -> str:
        if bare[member, unit]:
            return "no incoming weights, so it is a constant"
        return "never active" if proved[member, unit] else "never active on the points"

    work.tell(layer, cost, gone, valid, proved, "removed", reason)
    work.put(layer, w, b, v, joined, gone, _summed(delta + torch.where(value.unsqueeze(2) != 0, room, 0), gone))
    return True


def idle(work: Work, layer: int) -> bool:
    """Remove units without fan-out, or with next to none of it."""
    w, b, v, above = work.arrays(layer)
    gone = none = work.alive[layer - 1] & (v == 0).all(2)
    if work.tolerance > 0:
        size = v.norm(dim=2) * torch.cat([w, b.unsqueeze(1)], dim=1).norm(dim=1)
        gone = work.alive[layer - 1] & (none | (size <= work.tolerance * size.amax(1, keepdim=True)))
    if not gone.any():
        return False
    delta = torch.where(v == 0, 0, v.abs() * work.view.reach[layer].unsqueeze(2))
    valid = torch.zeros_like(gone, dtype=torch.int64)
    if work.box.bounded:
        valid = torch.where(none, 0, 1)
    words = ("next to no fan-out", "no fan-out")
    cost = work.cost(layer, delta, gone, ~none)
    work.tell(layer, cost, gone, valid, none, "removed", lambda s, k: words[int(none[s, k])])
    work.put(layer, w, b, v, above, gone, _summed(delta, gone))
    return True


def _summed(delta: Tensor, gone: Tensor) -> Tensor:
    """How far pre-activations above move when each unit that goes moves them by delta [S, n, n_above]: [S, n_above]."""
    return delta.masked_fill(~gone.unsqueeze(2), 0).sum(1)


def colinear(work: Work, layer: int) -> bool:
    """Merge units that are positive multiples of one another: the fan-out goes to the largest of them."""
    w, b, v, above = work.arrays(layer)
    full = torch.cat([w, b.unsqueeze(1)], dim=1)  # [S, in + 1, n]
    first, turned, exact, gone = _partners(work, layer, full, v)
    there, scale = first.unsqueeze(2).expand_as(v), turned.abs()
    for _ in range(2):  # once more without the groups that cannot be merged
        if not gone.any():
            return False
        moved = torch.where(gone.unsqueeze(2), scale.unsqueeze(2) * v, 0)
        terms = v.abs().scatter_add(1, there, moved.abs())
        summed, lost = cancelled(v.scatter_add(1, there, moved), terms, work.eps)
        written = work.stored(summed)
        lost = lost + (written - summed).abs()
        rounded = gamma(w.shape[2]) * (moved.abs() + v.gather(1, there).abs()) + lost.gather(1, there)
        delta = _apart(work, layer, full, first, turned).unsqueeze(2) * v.abs()
        delta = delta + rounded * work.view.reach[layer].gather(1, first).unsqueeze(2)
        cost = work.cost(layer, delta, gone, gone)
        fits = work.accepted(cost) & written.isfinite().all(2).gather(1, first)
        groups = torch.ones_like(gone, dtype=torch.int8).scatter_reduce(1, first, (fits | ~gone).to(torch.int8), "amin")
        if (groups.gather(1, first) > 0)[gone].all():
            break
        gone = gone & (groups.gather(1, first) > 0)
    valid = torch.where(exact, 0, int(work.box.bounded))
    work.tell(layer, cost, gone, valid, exact, "merged", lambda s, k: f"co-linear with unit {first[s, k]}", first)
    work.put(layer, w, b, written, above, gone, _summed(delta, gone))
    return True


def _partners(work: Work, layer: int, full: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The unit each unit can be merged into, the factor between them, whether they are multiples, which units go.

    [S, n] each; the factor is negative for opposite abs units.
    """
    length = full.norm(dim=1)
    alive = work.alive[layer - 1] & (length > 0) & length.isfinite()
    unit = torch.where(alive.unsqueeze(1), full / torch.where(alive, length, 1).unsqueeze(1), 0).mT
    most = max(work.tolerance, work.eps)
    distance = distances(unit, unit, most)
    sign = torch.ones_like(distance)
    if work.network.activation == "abs":
        opposite = distances(unit, -unit, most)
        sign, distance = torch.where(opposite < distance, -sign, sign), torch.minimum(distance, opposite)
    close = (distance <= most) & alive.unsqueeze(1) & alive.unsqueeze(2)
    index = torch.arange(full.shape[2])
    size = torch.where(close, (length * v.norm(dim=2)).unsqueeze(1), -1)
    first = torch.where(alive, size.argmax(2), index)
    gone = alive & (first != index) & (first.gather(1, first) == first)
    scale = torch.where(gone, length / torch.where(alive, length, 1).gather(1, first), 0)
    exact = distance.gather(2, first.unsqueeze(2)).squeeze(2) <= work.eps
    return first, scale * sign.gather(2, first.unsqueeze(2)).squeeze(2), exact, gone


def _apart(work: Work, layer: int, full: Tensor, first: Tensor, turned: Tensor) -> Tensor:
    """How far a unit can be from the multiple of the other that replaces it, rounding included: [S, n]."""
    multiple = turned.unsqueeze(1) * full.gather(2, first.unsqueeze(1).expand_as(full))
    gap = (full - multiple).abs()
    rounds = (turned.frexp().mantissa.abs() != 0.5).unsqueeze(1)  # a power of two multiplies exactly
    gap = gap + torch.where(rounds, gamma(0) * (full.abs() + multiple.abs()), gamma(0) * gap)
    below = torch.cat([work.view.reach[layer - 1], torch.ones_like(full[:, 0, :1])], dim=1)
    return torch.einsum("si,sin->sn", below, gap) * (1 + gamma(full.shape[1]))
