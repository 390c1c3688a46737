r"""Learners to compare: distillation, distillation with its bias toward the data's span weakened, and hard labels.

A learner is a function of transfer sets and of member seeds, which it uses if it draws: (sets, seeds) -> w [S, d].
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from tutelage import draws
from tutelage.distillation.learned import learned
from tutelage.distillation.transfer import TransferSet
from tutelage.errors import TutelageError
from tutelage.margins.datasets import LabelledPoints
from tutelage.margins.max_margin import max_margins
from tutelage.printing import printed


class Learner(Protocol):
    """Protocol of a learner: from transfer sets to students; ``stream`` tells several draws of one member apart."""

    def __call__(self, transfer: TransferSet, seeds: Sequence[int], stream: str = ...) -> Tensor: ...


@printed
@dataclass(frozen=True)
class Distillation:
    """Learner: gradient descent on soft labels from 0, trained to the end (Phuong 2021, Theorem 5.1)."""

    def __call__(self, transfer: TransferSet, seeds: Sequence[int], stream: str = "bias") -> Tensor:
        return learned(transfer)


@printed
@dataclass(frozen=True)
class Weakened:
    """Learner with a weaker bias towards the span of the data (Phuong 2021, section 5.4.2).

    It returns w_hat + delta (|w_hat| / |q|) q with q Gaussian orthogonal to the data, which fits the soft labels
    exactly. For n >= d there is nothing orthogonal to the data.

    Parameters
    ----------
    delta
        Size of the part outside the span.
    """

    delta: float

    def __post_init__(self) -> None:
        if not 0 <= self.delta < torch.inf:
            raise TutelageError(f"delta is 0 or more and finite, not {self.delta}")

    def __call__(self, transfer: TransferSet, seeds: Sequence[int], stream: str = "bias") -> Tensor:
        goal = learned(transfer)
        q = transfer.across(draws.normals(draws.keys(seeds, stream), transfer.dimension))
        length = q.norm(dim=1, keepdim=True)
        aside = q / torch.where(length > 0, length, 1.0)
        return goal + self.delta * goal.norm(dim=1, keepdim=True) * aside


@printed
@dataclass(frozen=True)
class HardTarget:
    """Learner: gradient descent on the teacher's classes from 0.

    Parameters
    ----------
    steps
        Number of steps; None for the limit, the homogeneous max-margin vector.
    rate
        Learning rate; default: 4 n / lambda_max.
    """

    steps: int | None = 2000
    rate: float | None = None

    def __post_init__(self) -> None:
        if (self.steps is not None and self.steps < 1) or (self.rate is not None and not self.rate > 0):
            raise TutelageError(f"wanted at least one step of a positive rate, not {self.steps} and {self.rate}")

    def __call__(self, transfer: TransferSet, seeds: Sequence[int], stream: str = "bias") -> Tensor:
        signed = transfer.x * (2 * transfer.hard_labels - 1).unsqueeze(2)
        if self.steps is None:
            return _max_margin(signed)
        pace = transfer.safe_step if self.rate is None else torch.full_like(transfer.safe_step, self.rate)
        gram, share = signed @ signed.mT, (pace / transfer.count)[:, None, None]
        dual = torch.zeros(*signed.shape[:2], 1, dtype=torch.float64)  # w = sum_i dual_i y_i x_i
        for _ in range(self.steps):
            dual = dual + share * torch.sigmoid(-(gram @ dual))
        return (signed.mT @ dual).squeeze(2)


def _max_margin(signed: Tensor) -> Tensor:
    """argmin |w| with w.y_i x_i >= 1, in the span's own coordinates: [S, n, d] -> [S, d].

    The points with their mirror images are one set of two classes, whose first has this max-margin vector.
    """
    q, r = torch.linalg.qr(signed.mT) if signed.shape[1] < signed.shape[2] else (None, signed.mT)
    points = r.mT
    classes = torch.ones(points.shape[:2], dtype=torch.float64)
    twice = LabelledPoints(torch.cat([points, -points], 1), torch.cat([classes, -classes], 1))
    w = max_margins(twice).positive.w
    return w if q is None else (q @ w.unsqueeze(2)).squeeze(2)
