"""Trainings of networks with exits: what is asked for, and what comes of it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from tutelage import draws
from tutelage.data.pixels import Pixels
from tutelage.errors import TutelageError
from tutelage.exits.multi_exit import MultiExit
from tutelage.exits.objective import UNLABELLED, Annealing, Teachers
from tutelage.printing import printed
from tutelage.training.optimisers import Sgd
from tutelage.training.settings import Supported, Training

PAPER_SGD = Sgd(momentum=0.9, nesterov=True, weight_decay=1e-4)
"""The optimiser of the paper.

Its other settings: for CIFAR-100 batch 64, rate 0.5, 300 epochs with drops after 150 and 225; for ImageNet batch 256,
90 epochs with drops after 30 and 60, and a limit of 0.1 in :class:`.Annealing`.
"""

_SUPPORTED = Supported(
    "train_exits", "epochs", "epochs", losses=("cross-entropy",), optimisers=("sgd",), mixed_precision=True
)


@printed
@dataclass(frozen=True)
class ExitObjective:
    """What the exits of a network learn from besides labels.

    Parameters
    ----------
    teachers
        "none" (exit-wise training), "last" (the last exit teaches all others), "later" (every later exit does), or the
        teachers of each exit by number.
    annealing
        Temperature of the soft labels.
    power
        The soft part of the loss is multiplied by the temperature to this power. With 1 its gradient with respect to
        a logit is a difference of probabilities, as that of the labels is, at any temperature. 2 is the paper's
        choice: the gradient then grows with the logits, and in networks without batch norm it can drown the labels.
    reduction
        "mean" (the paper's 1/M) or "sum" over the M exits. The sum is M times the mean, and so are its gradients: a
        rate that was chosen for a sum is M times too small for the mean.
    """

    teachers: Teachers = "last"
    annealing: Annealing = field(default_factory=Annealing)
    power: float = 1.0
    reduction: Literal["mean", "sum"] = "mean"

    def __post_init__(self) -> None:
        if self.reduction not in ("mean", "sum"):
            raise TutelageError(f"reduction must be 'mean' or 'sum', got {self.reduction!r}")
        if not 0 <= self.power <= 2:
            raise TutelageError(f"power must lie between 0 and 2, got {self.power:g}")


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
        raise TutelageError(
            f"{len(x)} samples have {len(y)} labels: give one per sample, {UNLABELLED} where there is none"
        )
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


Augment = Callable[[Tensor, Tensor, int], Tensor]
"""(samples [1, B, ...], key of the stream [1], number of the first sample) -> samples."""

State = dict[str, np.ndarray]
"""Weights, momenta and traces of a training that is under way."""


@printed
@dataclass(frozen=True, eq=False)
class ExitTask:
    """One training of a network with exits.

    Parameters
    ----------
    model
        The network.
    x, y
        Samples [N, ...] (or ``Pixels``, for images too many for the device) and labels [N], some of which may be
        ``UNLABELLED``.
    settings
        Length in epochs, batch, learning rate and optimiser.
    objective
        Which exits teach which.
    seed
        Of the batches.
    held
        Samples and labels apart from these; the weights of the epoch with the best accuracy on them, averaged over
        exits, are then kept.
    """

    model: MultiExit
    x: Samples
    y: Tensor
    settings: Training
    objective: ExitObjective = field(default_factory=ExitObjective)
    seed: int = 0
    held: tuple[Samples, Tensor] | None = None

    def __post_init__(self) -> None:
        _SUPPORTED.check(self.settings)

    @property
    def epochs(self) -> int:
        assert self.settings.epochs is not None  # or it would not be supported
        return self.settings.epochs


@dataclass(frozen=True, eq=False)
class Trace:
    """The teachers at every step: temperature, confidence at it ("adjusted"), and without it ("raw"): [steps] each."""

    temperature: Tensor
    adjusted: Tensor
    raw: Tensor

    def by_epoch(self, epochs: int) -> "Trace":
        """Means over the steps of every epoch: [epochs] each."""
        if epochs < 1 or len(self.raw) % epochs:
            raise TutelageError(f"{len(self.raw)} steps are not {epochs} epochs of equal length")
        return Trace(*(part.view(epochs, -1).mean(1) for part in (self.temperature, self.adjusted, self.raw)))


@printed
@dataclass(frozen=True, eq=False)
class TrainedExits:
    """A trained network with exits.

    Attributes
    ----------
    model
        The network.
    losses
        Mean loss of every epoch.
    trace
        Temperatures and confidence of the teachers, None where no exit teaches.
    epoch
        Epoch of these weights, counted from 1: the last, or the best on held-out samples.
    """

    model: MultiExit
    losses: tuple[float, ...]
    trace: Trace | None
    epoch: int
