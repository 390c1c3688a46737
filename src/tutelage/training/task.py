"""What students are trained on: points, labels, and which rows each step sees."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch
from pydantic import Field, PositiveInt, field_validator
from torch import Tensor

from tutelage import draws
from tutelage.errors import Refusal
from tutelage.settings import PerMemberNonNegative, Settings, per_member
from tutelage.training.losses import Loss
from tutelage.training.optimisers import Optimiser, Sgd
from tutelage.training.schedules import Constant, Schedule


class Training(Settings):
    """How students learn: stochastic gradient descent on J = 1/2 E|f* - f|^2 (seed 000, eq. 2), or on cross-entropy.

    The gradient of a step is the mean over its batch of the sum over outputs. ``batch="all"`` is full-batch gradient
    descent; ``sampling="epochs"`` draws without replacement (an incomplete last batch of an epoch is left out).
    """

    steps: PositiveInt
    batch: PositiveInt | Literal["all"] = 16
    sampling: Literal["replacement", "epochs"] = "replacement"
    learning_rate: PerMemberNonNegative = 0.01
    schedule: Schedule = Field(default_factory=Constant)
    loss: Loss = "mse"
    optimiser: Optimiser = Field(default_factory=Sgd)

    @field_validator("schedule", mode="before")
    @classmethod
    def _schedule(cls, value: Any) -> Any:
        return Schedule.parse(value)

    @field_validator("optimiser", mode="before")
    @classmethod
    def _optimiser(cls, value: Any) -> Any:
        return Optimiser.parse(value)

    @property
    def unusual(self) -> str | None:
        """What sets this training apart from plain SGD on the squared error, in a phrase."""
        if self.loss != "mse":
            return f"the loss {self.loss}"
        return None if self.optimiser.plain else f"{self.optimiser.kind} with momentum, decay or memory"


@dataclass(frozen=True)
class Task:
    """Everything an engine needs besides the students; it does not change while they train.

    points [S, N, d], labels [S, N, C], one seed a member.
    """

    points: Tensor
    labels: Tensor
    training: Training
    seeds: tuple[int, ...]

    def __post_init__(self) -> None:
        batch = self.training.batch
        if self.training.sampling == "epochs" and batch != "all" and batch > self.samples:
            raise Refusal(f"a batch of {batch} without replacement needs as many samples; there are {self.samples}")
        self.learning_rates  # noqa: B018  (refused here, before any work, when it does not fit the members)

    @property
    def members(self) -> int:
        return len(self.seeds)

    @property
    def samples(self) -> int:
        return self.points.shape[1]

    @property
    def batch(self) -> int:
        return self.samples if self.training.batch == "all" else self.training.batch

    @property
    def learning_rates(self) -> tuple[float, ...]:
        return per_member(self.training.learning_rate, self.members, "learning_rate")

    @cached_property
    def key(self) -> Tensor:
        """The key of every member's stream of batches, int64 [S]; see :mod:`tutelage.draws`."""
        return draws.keys(self.seeds, "batches", self.points.device)

    def rates(self, start: int, stop: int) -> np.ndarray:
        """Learning rate of every member at steps start .. stop-1: float64 [S, T]."""
        factors = self.training.schedule.factors(np.arange(start, stop), self.training.steps)
        return np.asarray(self.learning_rates)[:, None] * factors

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
            raise Refusal("tasks with different trainings cannot be joined")
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
