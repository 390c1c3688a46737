"""Transfer sets: inputs, and a teacher whose soft labels they carry; one set per member."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from tutelage.arrays import doubles
from tutelage.distillation.cross_entropy import excess, log_excess, logits_of, slope
from tutelage.errors import TutelageError
from tutelage.printing import printed

_RANK = 1e-10
"""Of the largest singular value of the points at unit length: below this a direction counts as absent."""


@printed
@dataclass(frozen=True, eq=False)
class TransferSet:
    r"""S transfer sets of n inputs with soft labels :math:`y_i = \sigma(w_* \cdot x_i)` (Phuong 2021, section 5.2).

    Parameters
    ----------
    x
        Inputs [S, n, d] or [n, d], stored in float64.
    teacher
        [S, d] or [d].

    Examples
    --------
    >>> few = TransferSet(torch.tensor([[1.0, 0.0, 0.0]]), torch.tensor([2.0, 1.0, 0.0]))
    >>> few.members, few.count, few.dimension, few.rank.tolist()
    (1, 1, 3, [1])
    """

    x: Tensor
    teacher: Tensor

    def __post_init__(self) -> None:
        x, w = (doubles(v, name).detach().cpu() for v, name in ((self.x, "inputs x"), (self.teacher, "teacher")))
        x = x.unsqueeze(0) if x.ndim == 2 else x
        w = w.unsqueeze(0).expand(len(x), -1) if w.ndim == 1 else w
        if x.ndim != 3 or w.shape != (x.shape[0], x.shape[2]):
            raise TutelageError(
                f"wanted inputs [S, n, d] and a teacher [S, d], not {list(x.shape)} and {list(w.shape)}"
            )
        if 0 in x.shape:
            raise TutelageError(
                f"there is nothing to learn from inputs of shape {list(x.shape)}: give at least one per set"
            )
        if not (x.isfinite().all() and w.isfinite().all()):
            raise TutelageError("some inputs or teacher weights are not finite: leave them out")
        idle = (w == 0).all(1).nonzero().flatten()
        if len(idle):
            raise TutelageError(
                f"the teacher of set {int(idle[0])} is 0 and tells no class from another: give another one"
            )
        object.__setattr__(self, "x", x)
        object.__setattr__(self, "teacher", w)

    @classmethod
    def from_labels(cls, x: Tensor, labels: Tensor) -> "TransferSet":
        """The sets whose soft labels are given: x [S, n, d], labels in (0, 1) [S, n]; the teacher is the shortest.

        Refused where no linear teacher gives these labels, which is the rule when n > d.
        """
        x, logits = x.to(torch.float64), logits_of(labels)
        x, logits = (x.unsqueeze(0), logits.unsqueeze(0)) if x.ndim == 2 else (x, logits)
        if logits.shape != x.shape[:2]:
            raise TutelageError(f"wanted a label for each of the inputs {list(x.shape[:2])}, not {list(logits.shape)}")
        teacher = (torch.linalg.pinv(x, rtol=_RANK) @ logits.unsqueeze(2)).squeeze(2)
        off = ((x @ teacher.unsqueeze(2)).squeeze(2) - logits).abs().amax(1)
        if bool((off > 1e-8 * (1 + logits.abs().amax(1))).any()):
            raise TutelageError(
                f"no linear teacher gives the labels of set {int(off.argmax())} (off by {float(off.max()):.2g}): "
                "the closed forms speak of labels that are sigma(w.x)"
            )
        return cls(x, teacher)

    @property
    def members(self) -> int:
        return self.x.shape[0]

    @property
    def count(self) -> int:
        return self.x.shape[1]

    @property
    def dimension(self) -> int:
        return self.x.shape[2]

    @cached_property
    def logits(self) -> Tensor:
        """w_*.x_i [S, n]."""
        return self.heights(self.teacher)

    @property
    def labels(self) -> Tensor:
        """Soft labels [S, n]; the logits say more where they are near 0 or 1."""
        return self.logits.sigmoid()

    @property
    def hard_labels(self) -> Tensor:
        """1{w_*.x_i >= 0} as float64 [S, n]."""
        return (self.logits >= 0).double()

    @cached_property
    def _span(self) -> tuple[Tensor, Tensor]:
        x = self.x[:1] if self.x.stride(0) == 0 else self.x  # sets that share their inputs share the span
        # Points are made units first: the rank is a matter of directions, and a short input counts as much as a long
        # one.
        length = x.norm(dim=2, keepdim=True)
        q, r = torch.linalg.qr((x / torch.where(length > 0, length, 1.0)).mT)
        u, s, _ = torch.linalg.svd(r, full_matrices=False)
        kept = s > _RANK * s[:, :1].clamp_min(1e-300)
        return ((q @ u) * kept.unsqueeze(1)).expand(self.members, -1, -1), kept.sum(1).expand(self.members)

    @property
    def basis(self) -> Tensor:
        """Orthonormal columns that span the data, zero columns beyond the rank: [S, d, min(n, d)]."""
        return self._span[0]

    @property
    def rank(self) -> Tensor:
        """Dimension of the data's span, whatever the lengths of the points: [S]."""
        return self._span[1]

    @property
    def full_rank(self) -> Tensor:
        """Whether the inputs are in general position, as happens almost surely under a density: bool [S]."""
        return self.rank == min(self.count, self.dimension)

    @cached_property
    def spectrum(self) -> Tensor:
        """Smallest and largest eigenvalue of X X^T within the data's span: [S, 2]."""
        values = torch.linalg.svdvals(self.x @ self.basis).square()
        least = values.gather(1, (self.rank - 1).clamp_min(0).unsqueeze(1)).squeeze(1)
        return torch.stack([least, values[:, 0]], 1)

    @property
    def safe_step(self) -> Tensor:
        """4 n / lambda_max: half the greatest stable step of descent, since the curvature is at most 1/4: [S]."""
        return 4 * self.count / self.spectrum[:, 1]

    def along(self, w: Tensor) -> Tensor:
        """The part of w in the data's span: [..., S, d] -> [..., S, d]."""
        return (self.basis @ (self.basis.mT @ w.unsqueeze(-1))).squeeze(-1)

    def across(self, w: Tensor) -> Tensor:
        """The part of w orthogonal to all inputs, projected twice so that rounding leaves nothing: [..., S, d]."""
        rest = w - self.along(w)
        # The second projection takes out what rounding of the first left in the span.
        rest = rest - self.along(rest)
        return torch.where((self.rank == self.dimension).unsqueeze(-1), torch.zeros_like(rest), rest)

    def heights(self, w: Tensor) -> Tensor:
        """w.x_i: [..., S, d] -> [..., S, n]."""
        return (self.x @ w.unsqueeze(-1)).squeeze(-1)

    def loss(self, w: Tensor) -> Tensor:
        """l1(w), the mean cross-entropy beyond its least value (Phuong 2021, eq. 5.1): [..., S, d] -> [..., S]."""
        return excess(self.heights(w), self.logits).mean(-1)

    def log_loss(self, w: Tensor) -> Tensor:
        """log l1(w), for teachers so sure that l1 vanishes: [..., S, d] -> [..., S]."""
        return log_excess(self.heights(w), self.logits).logsumexp(-1) - math.log(self.count)

    def gradient(self, w: Tensor) -> Tensor:
        """Gradient of l1 (Phuong 2021, eq. D.4): [..., S, d] -> [..., S, d]."""
        return (slope(self.heights(w), self.logits).unsqueeze(-2) @ self.x).squeeze(-2) / self.count

    def joined(self, other: "TransferSet") -> "TransferSet":
        """These sets with the inputs of others, of the same teachers, added."""
        if not torch.equal(self.teacher, other.teacher):
            raise TutelageError("sets of different teachers cannot be joined")
        return TransferSet(torch.cat([self.x, other.x], 1), self.teacher)

    def first(self, count: int) -> "TransferSet":
        """The first ``count`` inputs of every set."""
        return TransferSet(self.x[:, :count], self.teacher)

    def __getitem__(self, members: slice | Sequence[int] | Tensor) -> "TransferSet":
        """The sets of some of the members."""
        return TransferSet(self.x[members], self.teacher[members])
