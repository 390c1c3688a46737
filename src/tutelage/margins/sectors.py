r"""Sectors, the function G on the sphere, and its extremal directions (Phuong 2021, section 3.3.1, after Maennel et
al.).

.. math:: S_\sigma = \{w : \mathrm{sign}\, w \cdot x_i = \sigma_i\}, \qquad
          G(w) = -\sum_i \ell_i'(0)\, \rho(w \cdot x_i), \quad \|w\| = 1

Early in training a unit's direction climbs G (a_j > 0) or descends it (a_j < 0).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from tutelage import draws
from tutelage.errors import TutelageError
from tutelage.margins.datasets import LabelledPoints
from tutelage.margins.losses import loss_of

_TIE = 1e-12
"""An inner product below this share of the lengths counts as 0."""


def signs(w: Tensor, data: LabelledPoints, tie: float = _TIE) -> Tensor:
    """sign(w_j.x_i), the sector of every unit (Phuong 2021, Def. 3.1): w [.., S, p, d] -> int8 [.., S, p, n].

    >>> data = LabelledPoints(torch.tensor([[1.0, 0.0], [0.0, -1.0]]), torch.tensor([1, -1]))
    >>> signs(torch.tensor([[[1.0, 0.0], [-2.0, -3.0]]], dtype=torch.float64), data).tolist()
    [[[1, 0], [-1, 1]]]
    """
    height = w @ data.x.mT
    scale = w.norm(dim=-1).unsqueeze(-1) * data.x.norm(dim=2).unsqueeze(1)
    return torch.where(height.abs() <= tie * scale, 0, height.sign()).to(torch.int8)


def extremal_sectors(data: LabelledPoints) -> tuple[Tensor, Tensor]:
    """The sectors sigma+ and sigma- of orthogonally separable data (Phuong 2021, eqs. 3.13 and 3.14): int8 [S, n]
    each.
    """
    product = data.x @ data.x.mT
    norms = data.x.norm(dim=2)
    product = torch.where(
        product.abs() <= 2 * data.dimension * torch.finfo(product.dtype).eps * norms[:, None] * norms[..., None],
        0,
        product,
    )

    def sector(sign: int) -> Tensor:
        mine = data.y == sign
        obtuse = ((product < 0) & mine.unsqueeze(1)).any(2)
        return torch.where(mine, 1, torch.where(obtuse, -1, 0)).to(torch.int8)

    return sector(1), sector(-1)


def class_sums(data: LabelledPoints) -> tuple[Tensor, Tensor]:
    """The normalised sums of each class, which are the extremal directions of separable data: [S, d] each."""

    def unit(sign: int) -> Tensor:
        total = (data.x * (data.y == sign).unsqueeze(2)).sum(1)
        return torch.nn.functional.normalize(total, dim=1)

    return unit(1), unit(-1)


def landscape(w: Tensor, data: LabelledPoints, loss: str = "logistic") -> Tensor:
    """G at directions w [S, K, d] (Phuong 2021, eq. 3.12): [S, K]. w is taken as it is; G is positively homogeneous."""
    return ((w @ data.x.mT).relu() * (loss_of(loss).at_zero * data.y).unsqueeze(1)).sum(2)


def field(w: Tensor, data: LabelledPoints, loss: str = "logistic") -> Tensor:
    """g(w) = -sum l_i'(0) 1{w.x_i > 0} P_w x_i (Phuong 2021, eq. B.1): w [S, K, d] -> [S, K, d]."""
    sector = signs(w, data)
    # Samples on the boundary pull with weight 0 here, and then their whole span is taken out: along it the unit is
    # held.
    pulled = ((sector > 0) * (loss_of(loss).at_zero * data.y).unsqueeze(1)) @ data.x
    return without_ties(pulled, sector, data)


def without_ties(v: Tensor, sector: Tensor, data: LabelledPoints) -> Tensor:
    """P_w v: v [S, K, d] less its part in the span of the samples with sign 0 in ``sector`` [S, K, n]."""
    tied = (sector == 0).nonzero()
    if not len(tied):
        return v
    v = v.clone()
    for s, k in torch.unique(tied[:, :2], dim=0).tolist():  # ties are rare
        rows = data.x[s, sector[s, k] == 0]
        basis = torch.linalg.svd(rows, full_matrices=False)
        kept = basis.Vh[basis.S / basis.S[0] > 1e-10]
        v[s, k] -= (v[s, k] @ kept.T) @ kept
    return v


@dataclass(frozen=True, eq=False)
class Ascent:
    """Where directions end that climb G, or descend it.

    w [S, K, d]: end points of length 1; value: G there [S, K]; flat: ended where no sample is active [S, K] bool;
    residual: |g(w) - (w.g(w)) w| there (Lemma B.1) [S, K].
    """

    w: Tensor
    value: Tensor
    flat: Tensor
    residual: Tensor


def ascend(
    data: LabelledPoints,
    positive: bool = True,
    *,
    starts: Tensor | int = 200,
    seeds: Sequence[int] | None = None,
    loss: str = "logistic",
    steps: int = 2000,
) -> Ascent:
    """Climb G (or descend it, positive=False) on the sphere from many starts, all sets and starts at once.

    starts: directions [S, K, d], or how many to draw for each set. A step has length 1/10 at first, along the gradient,
    and falls like 1/k, so that a direction held at a sample's boundary, where G has a ridge, settles on it.
    """
    if isinstance(starts, int):
        keys = draws.keys(range(data.members) if seeds is None else seeds, "ascent starts")
        starts = draws.normals(keys, starts * data.dimension).view(data.members, -1, data.dimension)
    if starts.shape[0] != data.members or starts.shape[-1] != data.dimension:
        raise TutelageError(
            f"starts have shape {list(starts.shape)}: wanted [{data.members}, K, {data.dimension}] for these sets"
        )
    weights = loss_of(loss).at_zero * data.y * (1.0 if positive else -1.0)
    pull = data.x * weights.unsqueeze(2)
    w = torch.nn.functional.normalize(starts.double(), dim=2)
    # G is piecewise linear, so its gradient does not vanish towards a ridge, and a fixed step would jump from side to
    # side: the step falls like 1/k, from 1/10 to a twentieth of that.
    for k in range(steps):
        slope = (w @ data.x.mT > 0).double() @ pull
        step = torch.nn.functional.normalize(slope, dim=2) * (0.1 / (1 + 20 * k / steps))
        moved = torch.nn.functional.normalize(w + step, dim=2)
        if bool((moved - w).abs().max() < 1e-14):
            break
        w = moved
    g = field(w, data, loss)
    residual = (g - (g * w).sum(2, keepdim=True) * w).norm(dim=2)
    return Ascent(w, landscape(w, data, loss), (signs(w, data) <= 0).all(2), residual)
