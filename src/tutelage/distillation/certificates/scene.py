"""What the statements of Phuong 2021, chapter 5 look at, and the conditions that many of them share."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from tutelage import draws
from tutelage.certificates.records import Condition, check
from tutelage.certificates.registry import Subject, Theorem
from tutelage.distillation.convexity import log_strong_convexity
from tutelage.distillation.deep import balanced_start, imbalance
from tutelage.distillation.flows import StudentFlow, flow
from tutelage.distillation.learners import learned
from tutelage.distillation.tasks import DistillationTask, Polynomial
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
            raise TutelageError("the certificate needs a course: give one")
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


def _accepts(*about: Any) -> bool:
    first = len(about) in (1, 2) and isinstance(about[0], TransferSet | StudentFlow | DistillationScene)
    return first and all(hasattr(task, "risk") and hasattr(task, "p") for task in about[1:])


def _scenes(
    about: TransferSet | StudentFlow | DistillationScene, task: DistillationTask | None = None
) -> Iterator[tuple[int, Any]]:
    if isinstance(about, DistillationScene):
        yield 0, about
    elif isinstance(about, StudentFlow):
        yield 0, DistillationScene(about.transfer, about, task)
    else:
        yield 0, DistillationScene(about, None, task)


def _unfit(theorem: Theorem, scene: DistillationScene) -> str:
    if theorem.needs in ("course", "layers") and scene.course is None:
        return "needs a flow: pass the StudentFlow that flow, induced_flow or descent returns"
    if theorem.needs == "layers" and (scene.course is None or scene.course.weights is None):
        return "needs every layer: follow the students with flow or descent"
    if theorem.needs == "task" and scene.task is None:
        return "needs the distribution of inputs: pass the task from which the sets were drawn as a second argument"
    return ""


def _example(
    *, dimension: int = 20, kappa: float = 1.0, inputs: int = 8, layers: int = 2, time: float = 1e4, seed: int = 0
) -> tuple[StudentFlow, DistillationTask]:
    """Deep linear students of a polynomial task, followed from a small balanced start."""
    task = Polynomial(dimension, kappa=kappa)
    sets = task.transfer([seed], inputs)
    times = [0.0, *(t for t in (0.1, 1.0, 10.0, 100.0, 1e3) if t < time), time]
    return flow(sets, balanced_start(sets, [seed], layers).network, times), task


DISTILLATION = Subject(
    "distillation",
    about="transfer sets or a flow of their students (TransferSet, StudentFlow or DistillationScene), "
    "and a DistillationTask if needed",
    accepts=_accepts,
    scenes=_scenes,
    unfit=_unfit,
    example=_example,
)


def distillation_certificate(name: str, *, source: str, needs: str = "") -> Any:
    """Register a function (scene, *, options) -> findings."""
    return DISTILLATION.certificate(name, source=f"Phuong 2021, {source}", needs=needs)
