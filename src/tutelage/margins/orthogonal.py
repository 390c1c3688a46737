r"""Orthogonal separability (Phuong 2021, eq. 3.1): same-class inner products positive, cross-class ones not.

.. math:: x_i \cdot x_j > 0 \text{ if } y_i = y_j, \qquad x_i \cdot x_j \le 0 \text{ otherwise}

Inner products below their own rounding error count as 0.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from tutelage.margins.datasets import LabelledPoints, check_lengths
from tutelage.networks import Network
from tutelage.networks.forward import activate, linear, stacked_points
from tutelage.printing import printed

_BLOCK = 1 << 22  # inner products looked at together


@printed
@dataclass(frozen=True, eq=False)
class Separability:
    """Inner products of the points of S sets, which tell whether they are orthogonally separable.

    Attributes
    ----------
    same
        Smallest inner product within a class, a sample with itself included, [S].
    cross
        Largest inner product across classes, [S].
    same_pairs, cross_pairs
        Numbers of pairs (i <= j), [S].
    same_violations, cross_violations
        Pairs within a class whose product is not positive, and pairs across classes whose product is, [S].
    worst_same, worst_cross
        The pairs that attain ``same`` and ``cross``, int64 [S, 2].
    """

    same: Tensor
    cross: Tensor
    same_pairs: Tensor
    cross_pairs: Tensor
    same_violations: Tensor
    cross_violations: Tensor
    worst_same: Tensor
    worst_cross: Tensor

    @property
    def violations(self) -> Tensor:
        return self.same_violations + self.cross_violations

    @property
    def share(self) -> Tensor:
        """Of all pairs, those that violate."""
        return self.violations.double() / (self.same_pairs + self.cross_pairs)

    @property
    def holds(self) -> Tensor:
        """Whether a set is orthogonally separable, bool [S]."""
        return self.violations == 0


def separability(data: LabelledPoints) -> Separability:
    """Check orthogonal separability of every set (Phuong 2021, Definition 3.1).

    Parameters
    ----------
    data
        Labelled points.

    Returns
    -------
    Separability

    Examples
    --------
    >>> x = torch.tensor([[1.0, 0.0], [1.0, 1.0], [-1.0, 0.0], [-1.0, 0.5]])
    >>> judged = separability(LabelledPoints(x, torch.tensor([1, 1, -1, -1])))
    >>> bool(judged.holds), judged.same.item(), judged.cross.item()
    (True, 1.0, -0.5)
    """
    return _judged(data.x, data.y)


def separability_by_layer(network: Network, points: Tensor, y: Tensor) -> tuple[Separability, ...]:
    """Judge the points themselves, then the pre-activations of every layer but the last (Phuong 2021, Fig. 3.3).

    Pre-activations, since inner products of what comes out of a relu are never negative. points [N, d] or [S, N, d].
    """
    network = network.map(lambda a: a.detach().to("cpu", torch.float64))
    f = stacked_points(network, points.detach().to("cpu", torch.float64))
    labels = LabelledPoints(f, y).y
    out = [_judged(f, labels)]
    for layer in range(network.depth - 1):
        f = linear(network, layer, f)
        check_lengths(f, "scale the weights")
        out.append(_judged(f, labels))
        f = activate(network, f.clone())
    return tuple(out)


def _products(x: Tensor, rows: slice) -> Tensor:
    """Inner products of some rows with all, those below rounding set to 0: [S, r, n]."""
    product = x[:, rows] @ x.mT
    norms = x.norm(dim=2)
    rounding = 2 * x.shape[2] * torch.finfo(x.dtype).eps * norms[:, rows, None] * norms[:, None]
    return torch.where(product.abs() <= rounding, 0.0, product)


def _judged(x: Tensor, y: Tensor) -> Separability:
    """Row blocks at a time, so that many thousand points fit."""
    members, n = y.shape
    # Invariant: after each block `best` and `at` hold the extreme products of all rows so far and where they are,
    # `counts` how many pairs there were and how many violate. Pairs are counted once, above the diagonal.
    step = max(1, _BLOCK // (members * n))
    best = [torch.full((members,), v, dtype=x.dtype) for v in (torch.inf, -torch.inf)]
    at = [torch.zeros(members, 2, dtype=torch.int64) for _ in range(2)]
    counts = torch.zeros(4, members, dtype=torch.int64)
    columns = torch.arange(n)
    for begin in range(0, n, step):
        rows = slice(begin, min(begin + step, n))
        product = _products(x, rows)
        upper, alike = columns[rows, None] <= columns, y[:, rows, None] == y[:, None]
        bad = torch.where(alike, product <= 0, product > 0)
        for i, (mask, sign) in enumerate(((alike & upper, 1), (~alike & upper, -1))):
            flat = torch.where(mask, sign * product, torch.inf).flatten(1)
            least, place = flat.min(1)
            better = least < sign * best[i]
            best[i] = torch.where(better, sign * least, best[i])
            pair = torch.stack([begin + place // n, place % n], dim=1)
            at[i] = torch.where(better[:, None], pair, at[i])
            counts[i] += mask.sum((1, 2))
            counts[2 + i] += (bad & mask).sum((1, 2))
    return Separability(best[0], best[1], counts[0], counts[1], counts[2], counts[3], at[0], at[1])
