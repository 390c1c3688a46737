"""What the statements of Phuong 2021, chapter 5 look at, and the conditions that many of them share."""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from tutelage import draws
from tutelage.certificates.records import Condition, check
from tutelage.distillation.convexity import log_strong_convexity
from tutelage.distillation.deep import imbalance
from tutelage.distillation.flows import StudentFlow
from tutelage.distillation.learned import learned
from tutelage.distillation.tasks import DistillationTask
from tutelage.distillation.transfer import TransferSet
from tutelage.errors import TutelageError

BALANCED = 1e-10
"""Of the largest entry of W^T W: within this a start counts as balanced."""


@dataclass(frozen=True, eq=False)
class DistillationScene:
    """Transfer sets, and where there are any the course of their students and the task they were drawn from."""

    transfer: TransferSet
    course: StudentFlow | None = None
    task: DistillationTask | None = None

    @property
    def members(self) -> int:
        return self.transfer.members

    @property
    def way(self) -> StudentFlow:
        if self.course is None:
            raise TutelageError("there is no course to look at: give one")
        return self.course

    @cached_property
    def goal(self) -> Tensor:
        """w_hat [S, d]."""
        return learned(self.transfer)

    @cached_property
    def loss_at_zero(self) -> Tensor:
        return self.transfer.loss(torch.zeros_like(self.transfer.teacher))

    @cached_property
    def log_mu(self) -> Tensor:
        """log of the constant on {l1 <= l1(w(0))}, or on {l1 <= l1(0)} without a course: [S]."""
        level = self.loss_at_zero if self.course is None else self.transfer.loss(self.course.w[0])
        return log_strong_convexity(self.transfer, level)

    def probes(self, count: int, stream: str = "probes") -> Tensor:
        """Random directions [count, S, d]."""
        key = draws.keys(range(self.members), stream)
        flat = draws.normals(key, count * self.transfer.dimension)
        return flat.reshape(self.members, count, -1).transpose(0, 1)

    def full_rank(self, s: int) -> Condition:
        wanted = min(self.transfer.count, self.transfer.dimension)
        return check("rank of the inputs", int(self.transfer.rank[s]), ">=", wanted)

    def at_first_from_zero(self, s: int) -> tuple[Condition, Condition]:
        """One layer, and w(0) = 0."""
        way = self.way
        return (
            check("layers", way.layers, "<=", 1),
            check("length of w(0)", float(way.w[0, s].norm()), "<=", 0.0),
        )

    def small_start(self, s: int) -> Condition:
        """|w(0)| < |w_hat|, the part of (Phuong 2021, eq. 5.11) that does not name eps."""
        length, goal = float(self.way.w[0, s].norm()), float(self.goal[s].norm())
        return check("length of w(0), below that of w_hat", length, "<", goal)

    def better_than_zero(self, s: int) -> Condition:
        start = float(self.transfer.loss(self.way.w[0])[s])
        return check("loss at the start, below that of 0 (5.12)", start, "<", float(self.loss_at_zero[s]))

    def balanced(self, s: int) -> Condition:
        """(5.13) at the first record; a course of the product alone is of balanced students by construction."""
        if self.way.weights is None:
            return check("imbalance at the start (5.13)", 0.0, "<=", 0.0, "the product alone was followed")
        first = self.way.network(0)
        size = max(float(w[s].square().sum()) for w in first.weights)
        return check("imbalance at the start (5.13)", float(imbalance(first)[s]), "<=", BALANCED * size)

    def deep(self, s: int) -> tuple[Condition, ...]:
        """The conditions of Theorem 5.2."""
        return self.full_rank(s), self.small_start(s), self.better_than_zero(s), self.balanced(s)

    def arrived(self, s: int, tolerance: float) -> bool:
        """Whether the last record's student fits its labels: logits within ``tolerance`` of the teacher's."""
        transfer = self.transfer
        off = (transfer.heights(self.way.w[-1]) - transfer.logits)[s].abs().max()
        return bool(off <= tolerance * (1 + transfer.logits[s].abs().max()))
