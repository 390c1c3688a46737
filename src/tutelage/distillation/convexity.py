"""How convex the distillation loss is on a sublevel set, in the data's span (Phuong 2021, Theorem D.3), by
logarithms.
"""

import math

import torch
from torch import Tensor

from tutelage.distillation.cross_entropy import log_curvature, reach, slope
from tutelage.distillation.transfer import TransferSet
from tutelage.errors import TutelageError


def log_strong_convexity(transfer: TransferSet, level: Tensor) -> Tensor:
    r"""log mu of restricted strong convexity on {l1 <= level}, level [S] -> [S].

    .. math:: \mu = \omega \lambda_{\min} / n, \qquad \omega = \sigma'(K), \quad K = \max_i |\{u : \ell_i(u) \le n l\}|

    lambda_min is that of X X^T within the data's span. The Hessian is X D X^T / n; (Phuong 2021, eq. D.8) leaves the
    1/n out, and with that constant the inequality is false. The same mu serves as c of the Polyak-Lojasiewicz
    inequality, since a projector's largest eigenvalue is 1. By logarithms, since omega vanishes for confident teachers.
    """
    farthest = reach(transfer.logits, transfer.count * level.unsqueeze(1)).amax(1)
    return log_curvature(farthest) + transfer.spectrum[:, 0].log() - math.log(transfer.count)


def distance_to_sublevel(transfer: TransferSet, level: Tensor) -> Tensor:
    """The distance of {l1 <= level} from 0: the delta of (Phuong 2021, eq. D.25), level [S] below l1(0) -> [S].

    The nearest point minimises l1 + weight |w|^2 / 2 for the weight at which l1 meets the level, which is found by
    halving; the value returned errs to the small side.
    """
    if bool((level >= transfer.loss(torch.zeros_like(transfer.teacher))).any() or (level <= 0).any()):
        raise TutelageError(
            "the distance is for levels between 0 and l1(0): at l1(0) and above, 0 itself belongs to the set"
        )
    rows = transfer.x @ transfer.basis
    # Invariant of both loops: at the weight `high` the minimiser's loss is above the level, at `low` at most the level.
    # The loss rises with the weight, so the weight in between is found by halving, in logarithms, since it spans many
    # decades.
    high = torch.full_like(level, transfer.safe_step.reciprocal().max().item() * 4)
    while bool((low_loss := _ridge(transfer, rows, high)[1] <= level).any()):
        high = torch.where(low_loss, 4 * high, high)
    low = high.clone()
    while bool((high_loss := _ridge(transfer, rows, low)[1] > level).any()):
        low = torch.where(high_loss, low / 4, low)
    for _ in range(60):
        middle = (low * high).sqrt()
        above = _ridge(transfer, rows, middle)[1] > level
        low, high = torch.where(above, low, middle), torch.where(above, middle, high)
    return _ridge(transfer, rows, high)[0].norm(dim=1)


def _ridge(transfer: TransferSet, rows: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """The minimiser of l1 + weight |c|^2 / 2 in the span's coordinates by Newton's method, and its l1: [S, k], [S]."""
    # The ridge makes the problem strictly convex, also along the zero columns of the basis beyond the rank.
    c = torch.zeros(rows.shape[0], rows.shape[2], dtype=torch.float64)
    eye, ridge = torch.eye(rows.shape[2], dtype=torch.float64), weight[:, None, None]
    for _ in range(200):
        u = (rows @ c.unsqueeze(2)).squeeze(2)
        pull = rows.mT @ slope(u, transfer.logits).unsqueeze(2) / transfer.count + ridge * c.unsqueeze(2)
        bend = rows.mT @ (log_curvature(u).exp().unsqueeze(2) * rows) / transfer.count + ridge * eye
        step = torch.linalg.solve(bend, pull).squeeze(2)
        # a logit moves by at most 2 at a time, within which the curvature changes by a bounded factor
        moved = (rows @ step.unsqueeze(2)).abs().amax((1, 2)).clamp_min(1e-300)
        c = c - (2 / moved).clamp_max(1.0).unsqueeze(1) * step
        if bool((moved <= 1e-13 * (1 + u.abs().amax(1))).all()):
            break
    w = (transfer.basis @ c.unsqueeze(2)).squeeze(2)
    return c, transfer.loss(w)
