"""What students are trained on: points, labels, and which rows each step sees."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from tutelage import draws
from tutelage.errors import TutelageError
from tutelage.printing import printed
from tutelage.settings import per_member
from tutelage.training.settings import Training


@printed
@dataclass(frozen=True)
class Task:
    """What an engine needs besides the students.

    Attributes
    ----------
    points
        Training inputs [S, N, d].
    labels
        Labels [S, N, C].
    training
        Settings of the training.
    seeds
        One seed per member; they decide which samples are in which batch.
    """

    points: Tensor
    labels: Tensor
    training: Training
    seeds: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.training.mixed_precision:
            raise TutelageError("Training.mixed_precision=True is not supported by train: use False")
        self.batch, self.learning_rates  # noqa: B018  (errors are raised here, before any work)

    @property
    def members(self) -> int:
        return len(self.seeds)

    @property
    def samples(self) -> int:
        return self.points.shape[1]

    @property
    def batch(self) -> int:
        return self.training.batch_size(self.samples)

    @property
    def steps(self) -> int:
        return self.training.length(self.samples)

    @property
    def learning_rates(self) -> tuple[float, ...]:
        return per_member(self.training.learning_rate, self.members, "learning_rate")

    @cached_property
    def key(self) -> Tensor:
        """The key of every member's stream of batches, int64 [S]; see :mod:`tutelage.draws`."""
        return draws.keys(self.seeds, "batches", self.points.device)

    def rates(self, start: int, stop: int) -> np.ndarray:
        """Learning rate of every member at steps start .. stop-1: float64 [S, T]."""
        return np.asarray(self.learning_rates)[:, None] * self.factors(start, stop)

    def factors(self, start: int, stop: int) -> np.ndarray:
        """The schedule's factor at steps start .. stop-1: float64 [T]."""
        return self.training.factors(np.arange(start, stop), self.steps, self.training.per_epoch(self.samples))

    def rows(self, start: int, stop: int) -> Tensor:
        """Rows of the training set seen by every member at steps start .. stop-1: int64 [S, T, B].

        With replacement, slot i of step t is draw t*B + i of the member's stream. Without, epoch e is permutation e
        of the stream, cut into N // B batches.
        """
        shape = (self.members, stop - start, self.batch)
        if self.training.batch == "all":
            return torch.arange(self.samples, device=self.points.device).expand(shape)
        if self.training.sampling == "replacement":
            count = (stop - start) * self.batch
            return draws.indices(self.key, count, self.samples, start * self.batch).view(shape)
        per_epoch = self.samples // self.batch
        epochs = range(start // per_epoch, (stop - 1) // per_epoch + 1)
        rows = torch.cat(
            [draws.permutations(self.key, self.samples, e)[:, : per_epoch * self.batch] for e in epochs], dim=-1
        )
        skipped = (start - epochs[0] * per_epoch) * self.batch
        return rows[:, skipped : skipped + (stop - start) * self.batch].view(shape)

    @staticmethod
    def join(tasks: Sequence["Task"]) -> "Task":
        """Tasks of one training (but for the learning rates) and one shape as a single one, members in order."""
        if len(tasks) == 1:
            return tasks[0]
        first = tasks[0].training
        rates = tuple(rate for task in tasks for rate in task.learning_rates)
        same = {"learning_rate": first.learning_rate}
        if any(task.training.model_copy(update=same) != first for task in tasks):
            raise TutelageError("tasks with different trainings cannot be joined")
        return Task(
            points=torch.cat([task.points for task in tasks]),
            labels=torch.cat([task.labels for task in tasks]),
            training=first.model_copy(update={"learning_rate": rates}),
            seeds=tuple(seed for task in tasks for seed in task.seeds),
        )

    def __getitem__(self, members: Sequence[int]) -> "Task":
        """The same task for some of its members."""
        training = self.training.model_copy(update={"learning_rate": tuple(self.learning_rates[i] for i in members)})
        index = torch.as_tensor(members, device=self.points.device)
        return replace(
            self,
            points=self.points[: len(members)] if self.points.stride(0) == 0 else self.points[index],
            labels=self.labels[index],
            training=training,
            seeds=tuple(self.seeds[i] for i in members),
        )
