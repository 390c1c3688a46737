"""Which samples make up the batches of a training with exits: a function of the seed alone."""

from dataclasses import dataclass

import torch
from torch import Tensor

from tutelage import draws
from tutelage.data.pixels import Pixels
from tutelage.errors import TutelageError
from tutelage.exits.objective import UNLABELLED

Samples = Tensor | Pixels
"""Samples [N, ...] in memory, or images that come a batch at a time."""


@dataclass(frozen=True, eq=False)
class Batches:
    """Every batch has ``size`` labelled samples, each once per epoch, and ``extra`` without labels beside them.

    shares: what each sample of a batch weighs in the distillation, None where there are no others beside.
    """

    labelled: Tensor
    unlabelled: Tensor
    size: int
    extra: int
    shares: Tensor | None
    order: Tensor
    others: Tensor

    @property
    def steps(self) -> int:
        """Batches of an epoch."""
        return len(self.labelled) // self.size

    @property
    def width(self) -> int:
        """Samples of a batch."""
        return self.size + self.extra

    def rows(self, epoch: int, start: int, stop: int) -> Tensor:
        """Samples of batches start .. stop-1 of an epoch: int64 [stop - start, width]."""
        shuffled = self.labelled[draws.permutations(self.order, len(self.labelled), epoch)[0]]
        rows = shuffled[start * self.size : stop * self.size].view(-1, self.size)
        if not self.extra:
            return rows
        first, count = (epoch * self.steps + start) * self.extra, (stop - start) * self.extra
        drawn = draws.indices(self.others, count, len(self.unlabelled), first)[0]
        return torch.cat([rows, self.unlabelled[drawn].view(-1, self.extra)], 1)


def batches(x: Samples, y: Tensor, size: int, taught: bool, seed: int) -> Batches:
    """Batches of samples x [N, ...] with labels y [N]; those without a label are used where somebody teaches."""
    if len(x) != len(y):
        raise TutelageError(f"{len(x)} samples have {len(y)} labels: give one each, {UNLABELLED} where there is none")
    labelled, unlabelled = ((y == UNLABELLED) == wanted for wanted in (False, True))
    labelled, unlabelled = labelled.nonzero()[:, 0], unlabelled.nonzero()[:, 0]
    if len(labelled) < size:
        raise TutelageError(
            f"a batch of {size} needs as many labelled samples; there are {len(labelled)}: give more, or a smaller "
            "batch"
        )
    extra = size if len(unlabelled) and taught else 0
    shares = sample_shares(size, extra, len(labelled), len(unlabelled)).to(x.device, x.dtype) if extra else None
    order, others = (draws.keys([seed], f"exits-{name}", x.device) for name in ("batches", "unlabelled"))
    return Batches(labelled, unlabelled, size, extra, shares, order, others)


def sample_shares(labelled: int, unlabelled: int, all_labelled: int, all_unlabelled: int) -> Tensor:
    """What each sample of a batch weighs in l_dist, so that its mean is that over the data: -> [B], summing to 1.

    >>> sample_shares(2, 1, 10, 30).tolist()
    [0.125, 0.125, 0.75]
    """
    total = all_labelled + all_unlabelled
    weights = torch.tensor([all_labelled / labelled, all_unlabelled / unlabelled], dtype=torch.float64) / total
    return weights.repeat_interleave(torch.tensor([labelled, unlabelled]))
