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
    """Trained linear students.

    Attributes
    ----------
    w
        [S, d].
    angle
        Unsigned angle with the teacher, [S].
    risk
        Transfer risk, [S].
    """

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
    """Unsigned angles with the teacher before and after one more input; changes within 1e-10 count as none.

    Attributes
    ----------
    before, after
        [S] each.
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
    """Train a learner on transfer sets and measure the students.

    Parameters
    ----------
    learner, task
        What is trained on what.
    seeds
        One per transfer set.
    count
        n.

    Returns
    -------
    TransferOutcome

    Examples
    --------
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
    """Probability that one more input brings the student nearer to the teacher (Phuong 2021, eq. 5.34).

    Parameters
    ----------
    learner, task
        What is trained on what.
    seeds
        One per pair of transfer sets.
    count
        n before the additional input; once n >= d nothing can improve and the index is 0.
    reading
        Whether a learner that draws keeps its draw when the input is added ("reused") or draws anew ("redrawn"), which
        the thesis does not say; it matters for :class:`Weakened` only.

    Returns
    -------
    Monotonicity
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
