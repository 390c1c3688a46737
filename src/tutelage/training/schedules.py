"""Schedules: the factor on every member's learning rate at each step."""

from abc import abstractmethod
from itertools import pairwise
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from tutelage.settings import ADDED, Recipe


class Schedule(Recipe):
    """Base class of schedules: the factor on the learning rate as a function of the step.

    Parameters
    ----------
    kind
        Name of the schedule in YAML.
    warm_up
        Steps over which the learning rate grows linearly at the start; the schedule's own time begins after them.
    """

    warm_up: Annotated[NonNegativeInt, ADDED] = 0
    """Steps over which the learning rate grows linearly at the start."""

    def over(self, steps: np.ndarray, total: int) -> np.ndarray:
        """The factor at each of the given steps, the warm-up included: [T] -> float64 [T].

        >>> Constant(warm_up=2).over(np.arange(4), 4).tolist()
        [0.5, 1.0, 1.0, 1.0]
        """
        if not self.warm_up:
            return self.factors(steps, total)
        rest = self.factors(np.maximum(steps - self.warm_up, 0), max(1, total - self.warm_up))
        return np.where(steps < self.warm_up, (steps + 1) / self.warm_up, rest)

    @abstractmethod
    def factors(self, steps: np.ndarray, total: int) -> np.ndarray:
        """The factor at each of the given steps (counted from 0) of ``total``: [T] -> float64 [T]."""

    def in_steps(self, per_epoch: int) -> "Schedule":
        """The same with times in steps, where they are given in epochs of so many steps."""
        return self


class Constant(Schedule):
    """A constant learning rate."""

    kind: Literal["constant"] = "constant"

    def factors(self, steps: np.ndarray, total: int) -> np.ndarray:
        return np.ones(len(steps))


class Drops(Schedule):
    """A learning rate that is multiplied by a factor at given steps or epochs.

    >>> Drops(at=(2, 4), factor=0.5).factors(np.arange(6), 6).tolist()
    [1.0, 1.0, 0.5, 0.5, 0.25, 0.25]
    """

    kind: Literal["drops"] = "drops"
    at: tuple[PositiveInt, ...]
    """Steps or epochs, counted from 0, at which the learning rate drops."""
    factor: float = Field(default=0.1, gt=0, le=1)
    """Factor on the learning rate at each drop."""
    unit: Literal["steps", "epochs"] = "steps"
    """Whether ``at`` counts steps or epochs."""

    def in_steps(self, per_epoch: int) -> Schedule:
        if self.unit == "steps":
            return self
        return self.model_copy(update={"at": tuple(epoch * per_epoch for epoch in self.at), "unit": "steps"})

    def factors(self, steps: np.ndarray, total: int) -> np.ndarray:
        return self.factor ** np.searchsorted(np.sort(self.at), steps, side="right").astype(float)


class Stages(Schedule):
    """A learning rate that is multiplied by one value per stage of the training.

    >>> Stages(at=(2, 4), values=(1, 0.1, 2)).factors(np.arange(6), 6).tolist()
    [1.0, 1.0, 0.1, 0.1, 2.0, 2.0]
    """

    kind: Literal["stages"] = "stages"
    at: tuple[PositiveInt, ...]
    """Steps, counted from 0 and increasing, at which a stage begins; the first stage begins at step 0."""
    values: tuple[NonNegativeFloat, ...]
    """Factor on the learning rate in each stage."""

    @model_validator(mode="after")
    def _fits(self) -> "Stages":
        if len(self.values) != len(self.at) + 1:
            raise ValueError(
                f"'values' must have one value more than there are steps in 'at', got {len(self.values)} for "
                f"{len(self.at)}"
            )
        if any(b <= a for a, b in pairwise(self.at)):
            raise ValueError(f"'at' must increase, got {list(self.at)}")
        return self

    def factors(self, steps: np.ndarray, total: int) -> np.ndarray:
        return np.asarray(self.values, float)[np.searchsorted(self.at, steps, side="right")]


class Cosine(Schedule):
    """A learning rate that falls to 0 along half a cosine over the whole training."""

    kind: Literal["cosine"] = "cosine"

    def factors(self, steps: np.ndarray, total: int) -> np.ndarray:
        return 0.5 * (1 + np.cos(np.pi * steps / total))


class Settle(Schedule):
    """A learning rate that is constant at first and falls linearly at the end.

    >>> Settle(share=0.5).factors(np.arange(4), 4).round(3).tolist()
    [1.0, 1.0, 1.0, 0.55]
    """

    kind: Literal["settle"] = "settle"
    share: float = Field(default=0.25, ge=0, le=1)
    """Share of the training, at its end, over which the learning rate falls."""
    to: float = Field(default=0.1, ge=0, le=1)
    """Factor on the learning rate at the end."""

    def factors(self, steps: np.ndarray, total: int) -> np.ndarray:
        left = (total - steps) / max(1.0, self.share * total)
        return self.to + (1 - self.to) * np.minimum(1.0, left)


class Inverse(Schedule):
    """A learning rate that falls as a power of the time, by default as 1/t.

    The factor at step t is 1 / (1 + t / after)^power.

    >>> Inverse(after=2).factors(np.arange(3), 3).round(3).tolist()
    [1.0, 0.667, 0.5]
    """

    kind: Literal["inverse"] = "inverse"
    after: PositiveFloat
    """Steps after which the learning rate has fallen to 1/2^power."""
    power: PositiveFloat = 1.0
    """Exponent of the decay."""

    def factors(self, steps: np.ndarray, total: int) -> np.ndarray:
        return (1 + steps / self.after) ** -self.power
