"""Inner products of all pairs of a set of representations, told apart by class (Phuong 2021, Fig. 3.3)."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

BINS = 80


@dataclass(frozen=True, eq=False)
class PairShares:
    """What the inner products of S sets say, a sample with itself left out: float64 [S] each.

    cross_positive: share of the pairs of two classes whose product is positive; same_not: share of those of one class
    whose product is not; ahead: chance that a product of one class exceeds one of two classes; gap: mean product of
    one class less that of two classes, over the mean squared length.
    """

    cross_positive: Tensor
    same_not: Tensor
    ahead: Tensor
    gap: Tensor


def pair_shares(h: Tensor, y: Tensor) -> PairShares:
    """Shares of the pairs of representations h [S, N, ...] with classes y [N]; products below rounding count as 0.

    >>> h = torch.tensor([[[1.0, 0.0], [2.0, 1.0], [-1.0, 0.0], [-1.0, 2.5]]])
    >>> found = pair_shares(h, torch.tensor([0, 0, 1, 1]))
    >>> found.cross_positive.item(), found.same_not.item(), found.ahead.item()
    (0.25, 0.0, 1.0)
    """
    product, alike, apart = _products(h, y)
    values = [[], [], [], []]  # type: list[list[Tensor]]
    size = product.diagonal(dim1=1, dim2=2).double().mean(1)
    for p, mean in zip(product, size, strict=True):
        same, cross = p[alike], p[apart]
        ordered = same.sort().values
        below = torch.searchsorted(ordered, cross) + torch.searchsorted(ordered, cross, right=True)
        values[0].append((cross > 0).double().mean())
        values[1].append((same <= 0).double().mean())
        values[2].append(1 - below.double().mean() / (2 * len(same)))
        values[3].append((same.double().mean() - cross.double().mean()) / mean)
    return PairShares(*(torch.stack(v).cpu() for v in values))


def pair_histogram(h: Tensor, y: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Densities of the products over the mean squared length, for one set h [N, ...] with classes y [N] of 0 and 1.

    Edges [BINS + 1], from the 0.2 % to the 99.8 % point of all; densities [3, BINS]: of two classes, both 0, both 1.
    """
    product, alike, apart = _products(h.unsqueeze(0), y)
    p = (product[0] / product[0].diagonal().mean()).double().cpu().numpy()
    first = (y.unsqueeze(1) == 0).expand_as(alike)
    kinds = [p[mask.cpu().numpy()] for mask in (apart, alike & first, alike & ~first)]
    low, high = np.quantile(np.concatenate(kinds), [0.002, 0.998])
    edges = np.linspace(low, high, BINS + 1)
    return edges, np.stack([np.histogram(k, edges)[0] / (len(k) * (edges[1] - edges[0])) for k in kinds])


def _products(h: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Products [S, N, N], and which pairs i < j are of one class and of two: bool [N, N] each."""
    h = h.flatten(2)
    product = h @ h.mT
    length = h.norm(dim=2)
    rounding = 2 * h.shape[2] ** 0.5 * torch.finfo(h.dtype).eps * length[:, :, None] * length[:, None]
    product = torch.where(product.abs() <= rounding, 0.0, product)
    upper = torch.ones(len(y), len(y), dtype=torch.bool, device=y.device).triu(1)
    same = y[:, None] == y
    return product, same & upper, ~same & upper
