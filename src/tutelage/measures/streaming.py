"""Correlations of units over samples that come in pieces: a few sums are kept, never the activations."""

import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.measures.scaling import far_from_unity, to_unity

_BLOCK = 1 << 15  # samples multiplied at once in their own precision; sums over blocks are in float64

_TINY = torch.finfo(torch.float64).tiny


class StreamedCorrelation:
    r"""Running sums from which rho_jk of two layers follows (Tian 2020, eq. 9), members stacked.

    Activations are taken relative to the means of the first block, so that a large mean costs no digits:
    :math:`\sum (x - \bar x)(y - \bar y) = \sum (x - c)(y - d) - N (\bar x - c)(\bar y - d)`.
    Blocks are multiplied at the order of 1 and summed up in float64: float32 activations may be of any size, those in
    float64 between 1e-150 and 1e150.

    >>> x = torch.tensor([[[1.0], [2.0], [4.0]]])
    >>> running = StreamedCorrelation()
    >>> running.add(x[:, :2], -x[:, :2])
    >>> running.add(x[:, 2:], -x[:, 2:])
    >>> running.correlations().round(decimals=6)
    tensor([[[-1.]]], dtype=torch.float64)
    """

    def __init__(self) -> None:
        self.count = 0

    def add(self, first: Tensor, second: Tensor) -> None:
        """Samples of both layers: [S, N, m] and [S, N, n]."""
        if first.shape[:2] != second.shape[:2]:
            raise TutelageError(
                f"layers must be seen on the same samples: activations have shapes {list(first.shape)} and "
                f"{list(second.shape)}"
            )
        for begin in range(0, first.shape[1], _BLOCK):
            self._add(first[:, begin : begin + _BLOCK], second[:, begin : begin + _BLOCK])

    def _add(self, x: Tensor, y: Tensor) -> None:
        if not self.count:
            self._shifts = [a.mean(1, keepdim=True) for a in (x, y)]
            self._sums = [torch.zeros_like(s[:, 0], dtype=torch.float64) for s in self._shifts]
            self._squares = [torch.zeros_like(s) for s in self._sums]
            self._products = torch.zeros(x.shape[0], x.shape[2], y.shape[2], dtype=torch.float64, device=x.device)
        if (x.shape[0], x.shape[2], y.shape[2]) != self._products.shape:
            raise TutelageError("all pieces must have the members and units of the first one")
        self.count += x.shape[1]
        x, y = x - self._shifts[0], y - self._shifts[1]
        (x, r), (y, s) = _to_unity(x), _to_unity(y)
        for a, size, sums, squares in zip((x, y), (r, s), self._sums, self._squares, strict=True):
            sums += a.sum(1) * size
            squares += a.square().sum(1) * size * size
        self._products += (x.mT @ y) * r.unsqueeze(2) * s.unsqueeze(1)

    def norms(self) -> tuple[Tensor, Tensor]:
        """Lengths of the centred activations, exactly 0 for units constant up to rounding: [S, m] and [S, n]."""
        return self._norm(0), self._norm(1)

    def _norm(self, side: int) -> Tensor:
        if self.count < 2:
            raise TutelageError("there are no samples to compare layers on: give at least two")
        sums, squares, shift = self._sums[side], self._squares[side], self._shifts[side]
        if not (squares.isfinite().all() and sums.isfinite().all()):
            raise TutelageError("activations are not finite: layers with NaN or infinity cannot be compared")
        norm = (squares - sums.square() / self.count).clamp_min(0).sqrt()
        mean = (shift[:, 0].double() + sums / self.count).abs()
        return torch.where(norm <= 8 * torch.finfo(shift.dtype).eps * mean * self.count**0.5, 0, norm)

    def correlations(self) -> Tensor:
        """rho_jk in float64, 0 wherever a unit is constant: [S, m, n]."""
        first, second = self.norms()
        products = self._products - self._sums[0].unsqueeze(2) * self._sums[1].unsqueeze(1) / self.count
        first_scale, second_scale = (torch.where(norm > 0, 1 / norm.clamp_min(_TINY), 0) for norm in (first, second))
        return (products * first_scale.unsqueeze(2) * second_scale.unsqueeze(1)).clamp(-1, 1)


def _to_unity(a: Tensor) -> tuple[Tensor, Tensor]:
    """Activations [S, N, n], each unit of the order of 1 where its squares may be lost, and what is left out [S, n].

    The sizes that are left out are powers of two in float64.
    """
    far = far_from_unity(a.square().sum(1))
    if not far.any():
        return a, torch.ones_like(far, dtype=torch.float64)
    factors = torch.where(far, to_unity(torch.linalg.vector_norm(a, torch.inf, dim=1)), 1)
    return a * factors.unsqueeze(1), 1 / factors.double()
