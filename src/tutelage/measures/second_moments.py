"""Second moments of two layers' activations, summed up in one pass over samples that may come in pieces."""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.measures.scaling import to_unity
from tutelage.printing import printed

_BLOCK = 2048
"""Samples multiplied at once, in float64 whatever their own precision: ranks are read off the sums."""


@printed
@dataclass(frozen=True, eq=False)
class SecondMoments:
    """Centred second moments of the activations of two layers, in float64 and main memory.

    Attributes
    ----------
    count
        Number of samples.
    xx, yy, xy
        Centred sums [S, p, p], [S, q, q], [S, p, q].
    lengths
        Sums over the samples of |x|^4, |y|^4 and |x|^2 |y|^2 with centred x and y, over the products of the sums of
        |x|^2 and |y|^2, [S, 3]: what estimates without bias take off. 0 for a layer that is constant.
    """

    count: int
    xx: Tensor
    yy: Tensor
    xy: Tensor
    lengths: Tensor


def second_moments(pieces: Iterable[tuple[Tensor, Tensor]]) -> SecondMoments:
    r"""Second moments of activations that arrive in pieces.

    Activations are taken relative to the means of the first block, so that a large mean costs no digits:
    :math:`\sum (x - \bar x)(y - \bar y)^T = \sum (x - c)(y - d)^T - N (\bar x - c)(\bar y - d)^T`.

    Parameters
    ----------
    pieces
        Pairs of activations ([S, N_i, p], [S, N_i, q]), or ([N_i, p], [N_i, q]) for one member. Memory use does not
        grow with their number.

    Returns
    -------
    SecondMoments
        Sums over all samples.

    Examples
    --------
    >>> x, y = torch.tensor([[1.0], [3.0]]), torch.tensor([[5.0], [1.0]])
    >>> second_moments([(x[:1], y[:1]), (x[1:], y[1:])]).xy
    tensor([[[-4.]]], dtype=torch.float64)
    """
    sums: _Sums | None = None
    for x, y in pieces:
        x, y = _stacked(x), _stacked(y)
        if x.shape[:2] != y.shape[:2]:
            raise TutelageError(
                f"layers must be seen on the same samples: activations have shapes {list(x.shape)} and {list(y.shape)}"
            )
        for begin in range(0, x.shape[1], _BLOCK):
            a, b = x[:, begin : begin + _BLOCK], y[:, begin : begin + _BLOCK]
            sums = sums or _Sums(a, b)
            sums.add(a, b)
    if sums is None:
        raise TutelageError("there are no samples to compare layers on: give at least two")
    return sums.centred()


class _Sums:
    """Running sums relative to the means of the first block, in units of its size: fourth powers stay finite."""

    def __init__(self, x: Tensor, y: Tensor) -> None:
        self.shift_x, self.shift_y = (a.mean(1, keepdim=True, dtype=torch.float64) for a in (x, y))
        self.count = 0
        self.scale_x, self.scale_y = _scale(x - self.shift_x), _scale(y - self.shift_y)
        members, p, q = x.shape[0], x.shape[2], y.shape[2]
        zeros = self.shift_x.new_zeros
        self.x, self.y = zeros(members, p), zeros(members, q)
        self.xx, self.yy, self.xy = zeros(members, p, p), zeros(members, q, q), zeros(members, p, q)
        self.xxx, self.xxy = zeros(members, p), zeros(members, q)  # sums of |x|^2 x and |x|^2 y
        self.yyx, self.yyy = zeros(members, p), zeros(members, q)
        self.fourth = zeros(members, 3)

    def add(self, x: Tensor, y: Tensor) -> None:
        if (x.shape[0], x.shape[2], y.shape[0], y.shape[2]) != (*self.xy.shape[:2], *self.xy.shape[::2]):
            raise TutelageError("all pieces must have the members and units of the first one")
        x, y = (x - self.shift_x) * self.scale_x, (y - self.shift_y) * self.scale_y
        self.count += x.shape[1]
        self.x += x.sum(1)
        self.y += y.sum(1)
        self.xx += x.mT @ x
        self.yy += y.mT @ y
        self.xy += x.mT @ y
        a, b = x.square().sum(2), y.square().sum(2)
        self.xxx, self.xxy = self.xxx + _weighted(a, x), self.xxy + _weighted(a, y)
        self.yyx, self.yyy = self.yyx + _weighted(b, x), self.yyy + _weighted(b, y)
        self.fourth += torch.stack([a.square().sum(1), b.square().sum(1), (a * b).sum(1)], dim=1)

    def centred(self) -> SecondMoments:
        def less(products: Tensor, first: Tensor, second: Tensor) -> Tensor:
            return products - first.unsqueeze(2) * second.unsqueeze(1) / self.count

        x, y = self.scale_x, self.scale_y
        parts = (
            less(self.xx, self.x, self.x) / x / x,
            less(self.yy, self.y, self.y) / y / y,
            less(self.xy, self.x, self.y) / x / y,
        )
        if not all(part.isfinite().all() for part in parts):
            raise TutelageError("activations are not finite: layers with NaN or infinity cannot be compared")
        return SecondMoments(self.count, *(part.cpu() for part in (*parts, self._lengths())))

    def _lengths(self) -> Tensor:
        """The sums of |x|^4, |y|^4, |x|^2 |y|^2 about the means, from those about the shifts: [S, 3]."""
        mean_x, mean_y = self.x / self.count, self.y / self.count
        x = (mean_x, self.x, _diagonal(self.xx), {"x": self.xxx, "y": self.xxy})
        y = (mean_y, self.y, _diagonal(self.yy), {"x": self.yyx, "y": self.yyy})

        def about_means(fourth: Tensor, first, second, matrix: Tensor, left: str, right: str) -> Tensor:
            (m, sum_1, square_1, cubes_1), (n, sum_2, square_2, cubes_2) = first, second
            mm, nn = _dot(m, m), _dot(n, n)
            mixed = 4 * _dot(m, (matrix @ n.unsqueeze(2)).squeeze(2))
            mixed = mixed - 2 * _dot(n, cubes_1[right]) - 2 * _dot(m, cubes_2[left])
            return (
                fourth + mixed + nn * square_1 + mm * square_2
                - 2 * nn * _dot(m, sum_1) - 2 * mm * _dot(n, sum_2) + self.count * mm * nn
            )  # fmt: skip

        sums = torch.stack(
            [
                about_means(self.fourth[:, 0], x, x, self.xx, "x", "x"),
                about_means(self.fourth[:, 1], y, y, self.yy, "y", "y"),
                about_means(self.fourth[:, 2], x, y, self.xy, "x", "y"),
            ],
            dim=1,
        )
        a, b = (c - self.count * _dot(m, m) for c, m in ((x[2], mean_x), (y[2], mean_y)))
        products = torch.stack([a * a, b * b, a * b], dim=1)
        return torch.where(products > 0, sums / products, 0)


def _scale(x: Tensor) -> Tensor:
    """The power of two by which the first block of a layer is of the order of 1: [S, N, p] -> [S, 1, 1]."""
    largest = x.abs().amax((1, 2), keepdim=True)
    return to_unity(largest)


def _weighted(weights: Tensor, rows: Tensor) -> Tensor:
    """Sum of the rows with weights: [S, N], [S, N, p] -> [S, p]."""
    return (weights.unsqueeze(1) @ rows).squeeze(1)


def _dot(a: Tensor, b: Tensor) -> Tensor:
    return (a * b).sum(1)


def _diagonal(c: Tensor) -> Tensor:
    return c.diagonal(dim1=1, dim2=2).sum(1)


def _stacked(x: Tensor) -> Tensor:
    if x.ndim not in (2, 3):
        raise TutelageError(f"activations must have shape [N, units] or [S, N, units], got {list(x.shape)}")
    return x if x.ndim == 3 else x.unsqueeze(0)
