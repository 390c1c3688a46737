"""Branch and bound on hidden units: linear bounds of one network's outputs, tightened by which side of its kink a unit
is on. For boxes of many inputs, where cutting the box itself gets nowhere.

The idea (Bunel et al. 2018; multiples for fixed units: Wang et al. 2021, beta-CROWN): on either side of its kink a unit
is linear, so that a part of the box in which it is known to be on one side has tighter bounds. The unit is fixed whose
chord adds most to the bound. A bound of any part holds for all inputs in it, whatever the gradient steps did; the proof
is complete when no part waits. It takes up to 2^n parts for n units that bend; when a limit ends it, the largest bound
of the parts that wait is the answer.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from tutelage.deadline import Deadline
from tutelage.functions.answers import OnClosing, Question
from tutelage.functions.bounds.backward import Parts, given_ranges, hidden_ranges, improved, layers_of, whole
from tutelage.functions.checks import bias, slopes
from tutelage.functions.layers.joint import apart
from tutelage.functions.rounding import EPS
from tutelage.functions.search.hunt import Hunt
from tutelage.networks import Network, outputs

_BATCH = 256  # parts at a time: one product of matrices for all of them, and still the most doubtful ones first
_ROOT, _STEPS, _RANGES = 40, 12, 8  # gradient steps for the whole box, for parts, and for ranges of hidden units
_MOST = 200_000  # parts that may wait


@dataclass(frozen=True, eq=False)
class Branching:
    """bounds: [J], of every objective over the box; proved: whether all stay below their limits; parts: how many were
    bounded."""

    bounds: Tensor
    proved: bool
    parts: int


def branch(
    network: Network,
    low: Tensor,
    high: Tensor,
    objectives: Tensor,
    limits: Tensor,
    deadline: Deadline,
    *,
    device: str = "cpu",
    stop: Callable[[], bool] = lambda: False,
    known: Sequence[tuple[Tensor, Tensor]] | None = None,
    tell: Callable[[Tensor, int], None] | None = None,
) -> Branching:
    """Prove objectives [J, C] times the outputs of a network of one member to be below limits [J] on a box [d].

    known: ranges of all hidden pre-activations, [n] twice per layer, where there are any; tell: called with the bounds
    [J] so far and the number of open parts.
    """
    # Ranges of hidden units are bounded once, for the whole box; parts inherit them and know better about the units
    # that were fixed on their way alone. Bounding all of them again for every part would cost a product of matrices per
    # layer and part.
    layers = layers_of(network, low, high, device)
    lows, highs, sizes = hidden_ranges(layers, _RANGES, deadline) if known is None else given_ranges(layers, known)
    wanted = limits.to(layers.centre)
    parts = whole(layers, objectives.to(layers.centre), lows, highs)
    parts, bound, adds = improved(layers, parts, sizes, _ROOT, deadline)
    number, count = torch.arange(len(objectives), device=bound.device), len(objectives)
    closed = torch.where(bound < wanted, bound, -torch.inf)
    open_ = ~(bound < wanted)  # a bound that is no number proves nothing, so not `>=`
    waiting = _Waiting(parts.rows(open_), bound[open_], number[open_], [a[open_] for a in adds])
    # Invariant: for every objective, the parts that wait and those that are closed cover the box, and `closed` is the
    # largest bound of the latter. A unit that is fixed on one side leaves both halves of its hyperplane in the cover.
    while len(waiting) and not (deadline.passed or stop() or len(waiting) > _MOST):
        now, waiting = waiting.split(wanted)
        halves, numbers, fixed = _cut(now)
        if halves is None or fixed:  # nothing bends any more, so that no cut can lower these bounds
            waiting = waiting.joined(now)
            break
        halves, bound, adds = improved(layers, halves, sizes, _STEPS, deadline)
        count += len(halves)
        bound = torch.minimum(bound, torch.cat([now.bound, now.bound]))  # gradient steps may end higher than the whole
        open_ = ~(bound < wanted[numbers])
        closed = closed.scatter_reduce(0, numbers[~open_], bound[~open_], "amax")
        waiting = waiting.joined(_Waiting(halves.rows(open_), bound[open_], numbers[open_], [a[open_] for a in adds]))
        if tell is not None:
            tell(waiting.above(closed), len(waiting))
    bounds = waiting.above(closed)
    return Branching(bounds, not len(waiting), count)


@dataclass(frozen=True, eq=False)
class _Waiting:
    """Parts with their bounds [B], the number of the objective of each [B] and what chords add [B, n] per layer."""

    parts: Parts
    bound: Tensor
    number: Tensor
    adds: list[Tensor]

    def __len__(self) -> int:
        return len(self.bound)

    def rows(self, chosen: Tensor) -> "_Waiting":
        return _Waiting(
            self.parts.rows(chosen), self.bound[chosen], self.number[chosen], [a[chosen] for a in self.adds]
        )

    def joined(self, other: "_Waiting") -> "_Waiting":
        adds = [torch.cat(pair) for pair in zip(self.adds, other.adds, strict=True)]
        parts = self.parts.joined(other.parts)
        return _Waiting(parts, torch.cat([self.bound, other.bound]), torch.cat([self.number, other.number]), adds)

    def above(self, closed: Tensor) -> Tensor:
        """Bounds [J] of all objectives, from those of closed parts [J] and of the parts that wait."""
        return closed.scatter_reduce(0, self.number, self.bound, "amax").cpu() if len(self) else closed.cpu()

    def split(self, wanted: Tensor) -> tuple["_Waiting", "_Waiting"]:
        """The parts furthest from their limits, and the others."""
        order = (self.bound - wanted[self.number]).argsort(descending=True)
        return self.rows(order[:_BATCH]), self.rows(order[_BATCH:])


def _cut(now: _Waiting) -> tuple[Parts | None, Tensor, bool]:
    """Every part twice, its most costly unit on either side; None without hidden units; whether one has none to cut."""
    parts, hidden = now.parts, len(now.parts.low)
    if not hidden:
        return None, now.number, True
    # What the chord of a unit adds to the bound is what fixing the unit can gain at most, and is known for free
    # (compare the scores of Bunel et al. 2020).
    costs = torch.cat(now.adds, dim=1)
    unit, rows = costs.argmax(1), torch.arange(len(parts), device=costs.device)
    fixed = bool((costs[rows, unit] <= 0).any())
    halves, start = parts.joined(parts), 0
    low, high, sides = list(halves.low), list(halves.high), list(halves.sides)
    for layer in range(hidden):
        width = low[layer].shape[1]
        in_layer = (unit >= start) & (unit < start + width)
        mine, at = rows[in_layer], unit[in_layer] - start
        other = mine + len(parts)
        low[layer][mine, at] = 0.0
        sides[layer][mine, at] = 1.0
        high[layer][other, at] = 0.0
        sides[layer][other, at] = -1.0
        start += width
    halves = replace(halves, low=tuple(low), high=tuple(high), sides=tuple(sides))
    return halves, torch.cat([now.number, now.number]), fixed


def prove_by_units(
    pair: tuple[Network, Network],
    question: Question,
    hunt: Hunt,
    at_most: Tensor,
    deadline: Deadline,
    device: str,
    on_progress: OnClosing | None = None,
) -> tuple[bool, Tensor, int]:
    """Whether the question is answered with yes, bounds on the differences [C] and how many parts were bounded.

    at_most: bounds [C] known before; on_progress: called with the largest bound, the largest difference found and the
    number of open parts.
    """

    def tell(most: float, left: int) -> None:
        if on_progress:
            on_progress(most, float(hunt.largest.max()), left)

    if question.margin is not None:
        proved, parts = _one_class(
            pair, question, hunt, deadline, device, lambda _, left: tell(float(at_most.max()), left)
        )
        return proved, at_most, parts
    asked = (question.limits < torch.inf).nonzero().flatten()
    asked = asked[at_most[asked] > question.limits[asked]]
    rounds = any(slopes(network)[0] not in (-1.0, 0.0, 1.0) for network in pair)
    if rounds and (slopes(pair[0]) != slopes(pair[1]) or pair[0].depth != pair[1].depth):
        return False, at_most, 0  # relu units in place of others have rounded weights
    rounded = EPS * (bias(pair[0], pair[0].depth - 1)[0].abs() + bias(pair[1], pair[1].depth - 1)[0].abs())
    eye = torch.eye(pair[0].outputs, dtype=torch.float64)[asked]
    limits = (question.limits - rounded)[asked]
    known = at_most[(question.limits < torch.inf) & (at_most <= question.limits)]  # of outputs that are proved
    result = branch(
        apart(*pair), hunt.low, hunt.high, torch.cat([eye, -eye]), torch.cat([limits, limits]), deadline, device=device,
        tell=lambda bounds, left: tell(float(torch.cat([bounds, known]).max()), left),
    )  # fmt: skip
    both = torch.maximum(result.bounds[: len(asked)], result.bounds[len(asked) :]) + rounded[asked]
    at_most = at_most.clone()
    at_most[asked] = torch.minimum(at_most[asked], both.clamp_min(0) * (1 + 4 * EPS))
    return result.proved, at_most, result.parts


def _one_class(
    pair: tuple[Network, Network],
    question: Question,
    hunt: Hunt,
    deadline: Deadline,
    device: str,
    tell: Callable[[Tensor, int], None],
) -> tuple[bool, int]:
    """Whether one class alone can be the first network's sure choice and is the second one's top class throughout."""
    # Two separate proofs, each about one network: in f no class but `top` leads by the margin, in g `top` leads. It is
    # sufficient, not necessary: boxes with two classes are left open, since branching on units has one objective per
    # row.
    centre = (0.5 * hunt.low + 0.5 * hunt.high)[None]
    top = int(outputs(pair[0], centre)[0, 0].argmax())
    eye = torch.eye(pair[0].outputs, dtype=torch.float64)
    others = torch.arange(pair[0].outputs) != top
    objectives, parts = (eye - eye[top])[others], 0
    assert question.margin is not None
    rooms = (0.0, 0.0) if question.rooms is None else [2 * float(room.max()) for room in question.rooms]
    for network, limit in zip(pair, (question.margin - rooms[0], -rooms[1]), strict=True):
        limits = torch.full((len(objectives),), limit, dtype=torch.float64)
        result = branch(network, hunt.low, hunt.high, objectives, limits, deadline, device=device, tell=tell)
        parts += result.parts
        if not result.proved:
            return False, parts
    return True, parts
