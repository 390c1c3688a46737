"""What is asked about two networks on a box."""

from dataclasses import dataclass, replace
from fractions import Fraction

import torch
from torch import Tensor

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
