"""What is asked about two networks on a box, and the search for an input that answers it with no."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import torch
from torch import Tensor

from tutelage import draws
from tutelage.errors import TutelageError
from tutelage.functions.checks import Deadline
from tutelage.functions.evaluation import EXACT_WEIGHTS, exact_outputs, with_error
from tutelage.functions.pieces.domain import Domain
from tutelage.networks import Network, outputs

_SAMPLES = 2048  # points drawn at first
_CLIMBERS, _CLIMB = 64, 60  # points of a local ascent, and its steps
_WORK = 1 << 30  # products of weights that the first points may take


Rooms = tuple[Tensor, Tensor]


@dataclass(frozen=True, eq=False)
class Question:
    """limits: [C], the differences allowed, infinite for outputs that are not asked about; margin: of the top class.

    follow: how many times the largest difference found the limits grow to, where the question is how far apart the
    networks are; 0 where the limits stay. With a margin the question is whether the second network has the top class
    of the first wherever that exceeds the other classes by the margin or more; the limits are then infinite.

    rooms: two [C], how far either network may be from the one it was read from; limits that do not follow are smaller
    by both.
    """

    limits: Tensor
    margin: float | None = None
    follow: float = 0.0
    rooms: Rooms | None = None

    def with_rooms(self, rooms: Rooms) -> "Question":
        """The same question about the networks that were read."""
        smaller = torch.where(self.limits < torch.inf, self.limits - (rooms[0] + rooms[1]), self.limits)
        limits = self.limits if self.follow else smaller
        return replace(self, limits=limits, rooms=rooms)

    @property
    def room(self) -> Tensor:
        """How far the difference of the networks may be from that of those that were read: [C]."""
        return torch.zeros_like(self.limits) if self.rooms is None else self.rooms[0] + self.rooms[1]

    def excess(self, first: Tensor, second: Tensor) -> Tensor:
        """How far outputs [N, C] are from a yes: [N]; above 0 the answer is no."""
        if self.margin is None:
            return ((first - second).abs() - self.limits).amax(1)
        sure = _lead(first) - self.margin
        return torch.minimum(sure, -_lead(second)).amax(1)

    def proved_by(self, bounds: Tensor) -> bool:
        """Whether bounds on the differences of outputs [C] answer with yes."""
        if self.margin is None:
            return bool((bounds <= self.limits).all())
        return bool((bounds + self.room).topk(2).values.sum() * (1 + 1e-12) <= self.margin)

    def refuted(self, first: list[Fraction], second: list[Fraction]) -> bool:
        """Whether exact outputs at one input answer with no."""
        if not self.room.isfinite().all():
            return False
        if self.margin is None:
            rows = zip(first, second, self.limits.tolist(), self.room.tolist(), strict=True)
            return any(abs(a - b) > Fraction(t) + 2 * Fraction(r) for a, b, t, r in rows if t < float("inf"))
        of_f, of_g = (0, 0) if self.rooms is None else (2 * Fraction(room.max().item()) for room in self.rooms)
        top = max(range(len(first)), key=lambda c: first[c])
        lead = first[top] - max(v for c, v in enumerate(first) if c != top)
        return lead >= Fraction(self.margin) + of_f and max(second) > second[top] + of_g


def _lead(outputs: Tensor) -> Tensor:
    """Every output minus the largest other one: [N, C]."""
    two = outputs.topk(2, dim=1).values
    return outputs - torch.where(outputs == two[:, :1], two[:, 1:], two[:, :1])


class Hunt:
    """The search for an input of a box at which the answer is no; the best so far is kept.

    best: largest excess; at: its input [d]; largest: [C], the largest differences met; refuted: whether ``at`` is a
    proof, in exact arithmetic where the networks are small enough, else beyond a bound on the rounding; precisions: of
    the weights as stored.
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
        at = points.detach().requires_grad_()
        with torch.enable_grad():
            (slope,) = torch.autograd.grad(self.question.excess(*self.values(at)).sum(), at)
        return slope

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
        if self.weights <= EXACT_WEIGHTS:
            first, second = (exact_outputs(n, at) for n in self.pair)
            return self.question.refuted(first, second)
        (first_value, e), (second_value, h) = ((v[0], r[0]) for v, r in (with_error(n, at[None]) for n in self.pair))
        room = 4 * (e + h).max() + 1e-12 * (first_value.abs().max() + second_value.abs().max())
        room = room + 2 * self.question.room.max()
        return bool((self.question.excess(first_value, second_value) > room).all())

    def _inside(self, at: Tensor) -> bool:
        """Whether an input lies in a polytope, in rational arithmetic."""
        x = [Fraction(v) for v in at.tolist()]
        return all(
            sum(Fraction(a) * v for a, v in zip(row, x, strict=True)) <= Fraction(b)
            for row, b in zip(self.domain.normals.tolist(), self.domain.offsets.tolist(), strict=True)
        )

    def begin(self, seed: int = 0, deadline: Deadline | None = None) -> None:
        """Random points and corners, and an ascent from the best of them, until a deadline."""
        generator = torch.Generator().manual_seed(*draws.as_seeds([seed]))
        d, count = len(self.low), max(16, min(_SAMPLES, self.work // self.weights))
        unit = torch.rand(count, d, generator=generator, dtype=torch.float64)
        corners = (torch.rand(count // 4, d, generator=generator) < 0.5).to(torch.float64)
        points = self.inside(torch.cat([unit, corners]))
        if not self.domain.is_box:  # half way to the centre from everywhere, some of which lies inside
            share = torch.rand(len(points), 1, generator=generator, dtype=torch.float64)
            points = self.domain.centre + share * (points - self.domain.centre)
        self.climb(points, deadline)

    def inside(self, unit: Tensor) -> Tensor:
        """Points [N, d] of the unit cube taken to the box, never outside of it."""
        return torch.minimum(torch.maximum(self.low + unit * (self.high - self.low), self.low), self.high)

    def climb(self, points: Tensor, deadline: Deadline | None = None) -> None:
        """An ascent from the best of some points: steps along the sign of the gradient, halved where they lose."""
        excess = self.look(points)
        if self.refuted:
            return
        if not (self.high > self.low).any():
            return
        climbers = min(_CLIMBERS, len(points), max(4, self.work // (16 * self.weights)))
        x = points[excess.topk(climbers).indices]
        value = self.look(x)
        step = ((self.high - self.low) / 4).expand_as(x)
        for _ in range(_CLIMB if _CLIMB * climbers * self.weights < 16 * self.work else _CLIMB // 6):
            if deadline is not None and deadline.passed:
                return
            moved = torch.minimum(torch.maximum(x + step * self.slope(x).sign(), self.low), self.high)
            there = self.look(moved)
            if self.refuted:
                return
            better = (there > value).unsqueeze(1)
            x, step = torch.where(better, moved, x), torch.where(better, step, step / 2)
            value = torch.maximum(value, there)
