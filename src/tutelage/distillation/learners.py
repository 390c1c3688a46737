r"""Learners to compare: distillation, distillation with its bias toward the data's span weakened, and hard labels.

A learner is a function of transfer sets and of member seeds, which it uses if it draws: (sets, seeds) -> w [S, d].
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from tutelage import draws
from tutelage.arrays import doubles
from tutelage.distillation.cross_entropy import log_curvature, slope
from tutelage.distillation.transfer import TransferSet
from tutelage.errors import TutelageError
from tutelage.margins.datasets import LabelledPoints
from tutelage.margins.max_margin import max_margins
from tutelage.printing import printed


def learned(transfer: TransferSet) -> Tensor:
    r"""What distillation teaches a linear student: the teacher projected onto the span of the data.

    .. math:: \hat w = w_* \text{ for } n \ge d, \qquad \hat w = X (X^T X)^{-1} X^T w_* \text{ for } n < d
        \qquad \text{(Phuong 2021, eq. 5.6)}

    It is the limit of gradient flow from 0. Where inputs are not in general position, the rank of the data takes the
    place of n.

    Parameters
    ----------
    transfer
        Transfer sets.

    Returns
    -------
    Tensor
        w_hat, [S, d].

    Examples
    --------
    >>> few = TransferSet(torch.tensor([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]), torch.tensor([2.0, 1.0, 5.0]))
    >>> learned(few).round(decimals=12).tolist()
    [[2.0, 1.0, 0.0]]
    """
    whole = (transfer.rank == transfer.dimension).unsqueeze(1)
    return torch.where(whole, transfer.teacher, transfer.along(transfer.teacher))


def newton(transfer: TransferSet, tolerance: float = 1e-12, most: int = 1000) -> Tensor:
    """The limit of :func:`learned` by Newton's method on the loss, without using the teacher.

    Parameters
    ----------
    transfer
        Transfer sets.
    tolerance
        Of the gradient.
    most
        Largest number of steps; about as many are needed as the largest logit is large.

    Returns
    -------
    Tensor
        [S, d].

    Examples
    --------
    >>> from tutelage.distillation import Polynomial, learned
    >>> transfer = Polynomial(dimension=5).transfer([0], 3)
    >>> torch.allclose(newton(transfer), learned(transfer))
    True
    """
    basis = transfer.basis
    rows = transfer.x @ basis  # [S, n, k], zero columns beyond the rank
    # With independent inputs every logit can be set by itself: the step of each is its slope over its curvature, and
    # one pseudo-inverse serves all steps.
    free = transfer.count <= transfer.dimension and bool(transfer.full_rank.all())
    inverse = torch.linalg.pinv(rows) if free else None
    c = torch.zeros(transfer.members, basis.shape[2], dtype=torch.float64)
    settled = torch.zeros(transfer.members, dtype=torch.bool)
    for _ in range(most):
        step = _newton_step(transfer, rows, inverse, c)
        settled = step.norm(dim=1) <= tolerance * (c.norm(dim=1) + transfer.teacher.norm(dim=1))
        if bool(settled.all()):
            return (basis @ (c + step).unsqueeze(2)).squeeze(2)
        c = c + (step if free else _falling(transfer, basis, rows, c, step).unsqueeze(1) * step)
    worst = int((~settled).nonzero()[0])
    raise TutelageError(f"Newton's method did not settle for set {worst} in {most} steps: its teacher is too sure")


def _newton_step(transfer: TransferSet, rows: Tensor, inverse: Tensor | None, c: Tensor) -> Tensor:
    """The step in the span's coordinates: [S, k]."""
    u = (rows @ c.unsqueeze(2)).squeeze(2)
    half = log_curvature(u) / 2
    pull = slope(u, transfer.logits)
    if inverse is not None:
        return -(inverse @ (pull * (-2 * half).exp()).unsqueeze(2)).squeeze(2)
    weighted = torch.linalg.pinv(half.exp().unsqueeze(2) * rows, rtol=1e-14)
    return -(weighted @ (pull * (-half).exp()).unsqueeze(2)).squeeze(2)


def _falling(transfer: TransferSet, basis: Tensor, rows: Tensor, c: Tensor, step: Tensor) -> Tensor:
    """The first of 1, 1/2, 1/4, ... at which each loss falls, and 1 where no logit moves by more than 0.1: [S]."""
    size = torch.ones(len(c), dtype=torch.float64)
    # Near the optimum rounding of the loss says nothing about descent any more; Newton's step is then taken whole.
    near = (rows @ step.unsqueeze(2)).abs().amax((1, 2)) <= 0.1
    old = transfer.loss((basis @ c.unsqueeze(2)).squeeze(2))
    for _ in range(60):
        new = transfer.loss((basis @ (c + size.unsqueeze(1) * step).unsqueeze(2)).squeeze(2))
        bad = (new > old) & ~near
        if not bool(bad.any()):
            break
        size = torch.where(bad, size / 2, size)
    return size


def angle(first: Tensor, second: Tensor) -> Tensor:
    """Angle between vectors, accurate near 0 and pi (Phuong 2021, eq. 5.28).

    Parameters
    ----------
    first, second
        Vectors on the last axis.

    Returns
    -------
    Tensor
        In [0, pi].

    Examples
    --------
    >>> angle(torch.tensor([1.0, 0.0]), torch.tensor([0.0, 2.0])).item()
    1.5707963705062866
    """
    return 2 * torch.atan2(*_apart_and_along(first, second))


def _apart_and_along(first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
    """|u - v| and |u + v| of the unit vectors u and v: the tangent of half their angle is the ratio."""
    first, second = (
        v if isinstance(v, Tensor) and v.is_floating_point() else doubles(v, "vectors") for v in (first, second)
    )
    if 0 in (first.ndim, second.ndim) or first.shape[-1] != second.shape[-1]:
        shapes = list(first.shape), list(second.shape)
        raise TutelageError(f"vectors must have the same number of entries, got shapes {shapes[0]} and {shapes[1]}")
    a, b = first.norm(dim=-1, keepdim=True), second.norm(dim=-1, keepdim=True)
    if bool((a == 0).any() or (b == 0).any()):
        raise TutelageError("the angle with a vector of length 0 is not defined: this student gives no class at all")
    u, v = first / a, second / b
    return (u - v).norm(dim=-1), (u + v).norm(dim=-1)


def unsigned_angle(first: Tensor, second: Tensor) -> Tensor:
    """Angle between the lines of two vectors (Phuong 2021, eq. 5.16).

    Parameters
    ----------
    first, second
        Vectors on the last axis.

    Returns
    -------
    Tensor
        In [0, pi/2].
    """
    apart, along = _apart_and_along(first, second)
    return 2 * torch.atan2(torch.minimum(apart, along), torch.maximum(apart, along))


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
            raise TutelageError(f"delta must be finite and at least 0, got {self.delta}")

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
            raise TutelageError(f"steps must be at least 1 and rate positive, got {self.steps} and {self.rate}")

    def __call__(self, transfer: TransferSet, seeds: Sequence[int], stream: str = "bias") -> Tensor:
        signed = transfer.x * (2 * transfer.hard_labels - 1).unsqueeze(2)
        if self.steps is None:
            return _max_margin(signed)
        pace = transfer.safe_step if self.rate is None else torch.full_like(transfer.safe_step, self.rate)
        gram, share = signed @ signed.mT, (pace / transfer.count)[:, None, None]
        # From 0, w stays a combination of the inputs: n coefficients are followed instead of d weights, with products
        # in the Gram matrix.
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
