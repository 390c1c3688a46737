"""What learners come to on a task: angle, transfer risk, and whether one more input helps."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from tutelage.distillation.learned import unsigned_angle
from tutelage.distillation.learners import Learner
from tutelage.distillation.tasks import DistillationTask
from tutelage.errors import TutelageError
from tutelage.printing import printed

Reading = Literal["redrawn", "reused"]
_SAME = 1e-10


@printed
@dataclass(frozen=True, eq=False)
class TransferOutcome:
    """S trained students: w [S, d], unsigned angle with the teacher [S], transfer risk [S]."""

    w: Tensor
    angle: Tensor
    risk: Tensor

    @property
    def mean_risk(self) -> tuple[float, float]:
        """Mean over sets, and its standard error."""
        return _mean(self.risk)


@printed
@dataclass(frozen=True, eq=False)
class Monotonicity:
    """Unsigned angles with the teacher before and after one more input: [S], [S].

    Changes within 1e-10 count as none: an input that a max-margin vector does not rest on leaves it as it was.
    """

    before: Tensor
    after: Tensor

    @property
    def better(self) -> Tensor:
        """Whether the student came nearer: bool [S]."""
        return self.after < self.before - _SAME

    @property
    def worse(self) -> Tensor:
        """Whether it went away: bool [S]."""
        return self.after > self.before + _SAME

    @property
    def index(self) -> tuple[float, float]:
        """The share of sets that became better, m of (Phuong 2021, eq. 5.34), and its standard error."""
        return _mean(self.better.double())


def outcome(learner: Learner, task: DistillationTask, seeds: Sequence[int], count: int) -> TransferOutcome:
    """Train a learner on a transfer set of ``count`` inputs a seed.

    >>> from tutelage.distillation import Distillation, Polynomial
    >>> found = outcome(Distillation(), Polynomial(10, kappa=1.0), range(4), 10)
    >>> found.risk.tolist()
    [0.0, 0.0, 0.0, 0.0]
    """
    transfer = task.transfer(seeds, count)
    w = learner(transfer, seeds)
    return TransferOutcome(w, unsigned_angle(w, transfer.teacher), task.risk(w))


def monotonicity(
    learner: Learner, task: DistillationTask, seeds: Sequence[int], count: int, reading: Reading = "redrawn"
) -> Monotonicity:
    """The probability that one more input brings the student nearer to the teacher (Phuong 2021, eq. 5.34).

    reading: the seed does not say whether a learner that draws keeps its draw when the input is added ("reused") or
    draws anew ("redrawn"); it matters for ``Weakened`` alone. Once n >= d nothing can improve, and the index is 0.
    """
    if reading not in ("redrawn", "reused"):
        raise TutelageError(f"a learner's draw is 'redrawn' or 'reused', not '{reading}'")
    longer = task.transfer(seeds, count + 1)  # begins with the shorter set
    shorter = longer.first(count)
    second = "bias" if reading == "reused" else "bias, drawn anew"
    before = unsigned_angle(learner(shorter, seeds), longer.teacher)
    after = unsigned_angle(learner(longer, seeds, second), longer.teacher)
    return Monotonicity(before, after)


def _mean(values: Tensor) -> tuple[float, float]:
    error = float(values.std() / len(values) ** 0.5) if len(values) > 1 else torch.inf
    return float(values.mean()), float(error)
