"""Training of networks with exits, by Algorithm 6.1 of seed 004; without teachers it is the exit-wise baseline."""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import torch
from torch import Tensor

from tutelage import draws
from tutelage.distillation.exits import (
    UNLABELLED,
    Annealing,
    Teachers,
    multi_exit_loss,
    teacher_confidence,
    teacher_sets,
)
from tutelage.errors import Refusal
from tutelage.networks.multi_exit import MultiExit

OnEpoch = Callable[[int, MultiExit], None]
"""Called with the number of epochs done and the model in evaluation mode."""


@dataclass(frozen=True)
class ExitTraining:
    """How a network with exits is trained: SGD with Nesterov momentum, the rate divided by 10 after some epochs.

    teachers: see :data:`Teachers`. The seed's own: batch 64, rate 0.5, 300 epochs with drops after 150 and 225 for
    CIFAR-100; batch 256, 90 epochs with drops after 30 and 60, limit 0.1, for ImageNet.
    """

    epochs: int
    batch: int = 32
    learning_rate: float = 0.1
    drops: tuple[int, ...] = ()
    momentum: float = 0.9
    weight_decay: float = 1e-4
    teachers: Teachers = "last"
    annealing: Annealing = field(default_factory=Annealing)

    def __post_init__(self) -> None:
        if self.epochs < 0 or self.batch < 1 or not self.learning_rate > 0:
            raise Refusal("training needs epochs of at least 0, a batch of at least 1 and a rate above 0")
        if not 0 < self.momentum < 1 or self.weight_decay < 0:
            raise Refusal(f"momentum lies in 0 .. 1 and weight decay is at least 0, not {self.momentum:g} and "
                          f"{self.weight_decay:g}")  # fmt: skip

    def rate(self, epoch: int) -> float:
        """The learning rate of an epoch, counted from 0.

        >>> [round(ExitTraining(9, drops=(3, 6)).rate(e), 6) for e in (2, 3, 6)]
        [0.1, 0.01, 0.001]
        """
        return self.learning_rate * 0.1 ** sum(epoch >= drop for drop in self.drops)


@dataclass(frozen=True, eq=False)
class Trace:
    """The teachers at every step: temperature, confidence at it ("adjusted"), and without it ("raw"): [steps] each."""

    temperature: Tensor
    adjusted: Tensor
    raw: Tensor

    def by_epoch(self, epochs: int) -> "Trace":
        """Means over the steps of every epoch: [epochs] each."""
        if epochs < 1 or len(self.raw) % epochs:
            raise Refusal(f"{len(self.raw)} steps are not {epochs} epochs of equal length")
        return Trace(*(part.view(epochs, -1).mean(1) for part in (self.temperature, self.adjusted, self.raw)))


@dataclass(frozen=True, eq=False)
class TrainedExits:
    """A trained network, its mean loss in every epoch, and the trace of its teachers (None where nobody teaches)."""

    model: MultiExit
    losses: tuple[float, ...]
    trace: Trace | None


def train_exits(
    model: MultiExit,
    x: Tensor,
    y: Tensor,
    settings: ExitTraining,
    *,
    augment: Callable[[Tensor, Tensor, int], Tensor] | None = None,
    seed: int = 0,
    on_epoch: OnEpoch | None = None,
) -> TrainedExits:
    """Train a copy of a network with exits on x [N, ...] with labels y [N], some of which may be UNLABELLED.

    An epoch is once through the labelled samples, an incomplete last batch left out. Where samples without labels are
    given and somebody teaches, each batch has as many of them beside it, and both kinds weigh as in the whole data
    (004, eq. 6.6). augment: (samples [1, B, ...], key of the stream [1], place of the first) -> samples. Batches
    depend on the seed alone.
    """
    sets = teacher_sets(model.exits, settings.teachers)
    batches = _batches(x, y, settings.batch, any(sets), seed)
    moves = draws.keys([seed], "exits-augmentation", x.device)
    pupil = copy.deepcopy(model)
    optimiser = torch.optim.SGD(
        pupil.parameters(), settings.learning_rate, settings.momentum, nesterov=True, weight_decay=settings.weight_decay
    )
    annealing, losses, seen = settings.annealing, [], []
    for epoch in range(settings.epochs):
        pupil.train()
        for group in optimiser.param_groups:
            group["lr"] = settings.rate(epoch)
        total = torch.zeros((), device=x.device)
        for place, rows in batches.of_epoch(epoch):
            batch = x[rows]
            if augment:
                batch = augment(batch.unsqueeze(0), moves, place * len(rows))[0]
            logits = pupil(batch)
            loss = multi_exit_loss(logits, y[rows], sets, annealing.temperature, batches.shares)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
            total += loss.detach()
            if any(sets):
                adjusted, raw = (teacher_confidence(logits, sets, t) for t in (annealing.temperature, 1.0))
                seen.append((annealing.temperature, adjusted, raw))
                annealing = annealing.after(adjusted)
        losses.append(float(total) / batches.steps)
        if not torch.isfinite(total):
            raise Refusal(f"training diverged in epoch {epoch + 1}: lower the learning rate {settings.learning_rate:g}")
        if on_epoch:
            on_epoch(epoch + 1, pupil.eval())
    trace = Trace(*torch.tensor(seen, dtype=torch.float64).view(-1, 3).unbind(1)) if any(sets) else None
    return TrainedExits(pupil.eval(), tuple(losses), trace)


@dataclass(frozen=True, eq=False)
class _Batches:
    """Which samples make up a batch: ``size`` labelled ones, and ``extra`` without labels beside them."""

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

    def of_epoch(self, epoch: int) -> Iterator[tuple[int, Tensor]]:
        """The number of each batch over all epochs, and its rows."""
        shuffled = self.labelled[draws.permutations(self.order, len(self.labelled), epoch)[0]]
        for step in range(self.steps):
            place = epoch * self.steps + step
            rows = shuffled[step * self.size : (step + 1) * self.size]
            if self.extra:
                drawn = draws.indices(self.others, self.extra, len(self.unlabelled), place * self.extra)[0]
                rows = torch.cat([rows, self.unlabelled[drawn]])
            yield place, rows


def _batches(x: Tensor, y: Tensor, size: int, taught: bool, seed: int) -> _Batches:
    if len(x) != len(y):
        raise Refusal(f"{len(x)} samples have {len(y)} labels: give one each, {UNLABELLED} where there is none")
    labelled, unlabelled = ((y == UNLABELLED) == wanted for wanted in (False, True))
    labelled, unlabelled = labelled.nonzero()[:, 0], unlabelled.nonzero()[:, 0]
    if len(labelled) < size:
        raise Refusal(
            f"a batch of {size} needs as many labelled samples; there are {len(labelled)}: give more, or a smaller "
            "batch"
        )
    extra = size if len(unlabelled) and taught else 0
    shares = _shares(size, extra, len(labelled), len(unlabelled)).to(x) if extra else None
    order, others = (draws.keys([seed], f"exits-{name}", x.device) for name in ("batches", "unlabelled"))
    return _Batches(labelled, unlabelled, size, extra, shares, order, others)


def _shares(labelled: int, unlabelled: int, all_labelled: int, all_unlabelled: int) -> Tensor:
    """What each sample of a batch weighs in l_dist, so that its mean is that over the data: -> [B], summing to 1.

    >>> _shares(2, 1, 10, 30).tolist()
    [0.125, 0.125, 0.75]
    """
    total = all_labelled + all_unlabelled
    weights = torch.tensor([all_labelled / labelled, all_unlabelled / unlabelled], dtype=torch.float64) / total
    return weights.repeat_interleave(torch.tensor([labelled, unlabelled]))
