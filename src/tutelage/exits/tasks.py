"""Trainings of networks with exits: what is asked for, and what comes of it."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.exits._batches import Samples
from tutelage.exits.multi_exit import MultiExit
from tutelage.exits.settings import SUPPORTED, ExitObjective
from tutelage.printing import printed
from tutelage.training.settings import Training

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
        SUPPORTED.check(self.settings)

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
