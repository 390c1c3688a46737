r"""What a linear student learns by distillation, in closed form (Phuong 2021, Theorem 5.1), and angles between
weights.
"""

import torch
from torch import Tensor

from tutelage.arrays import doubles
from tutelage.distillation.cross_entropy import log_curvature, slope
from tutelage.distillation.transfer import TransferSet
from tutelage.errors import TutelageError


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
    """
    basis = transfer.basis
    rows = transfer.x @ basis  # [S, n, k], zero columns beyond the rank
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
