"""Schedules: the factor on every member's learning rate at each step."""

from abc import abstractmethod
from typing import Literal

import numpy as np
from pydantic import Field, PositiveInt

from tutelage.settings import Recipe


class Schedule(Recipe):
    """Base class of schedules: the factor on the learning rate as a function of the step.

    Parameters
    ----------
    kind
        Name of the schedule in YAML.
    """

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

    Parameters
    ----------
    at
        Steps or epochs, counted from 0, at which the rate drops.
    factor
        Factor of each drop, in (0, 1].
    unit
        "steps" or "epochs".

    Examples
    --------
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
        return Drops(at=tuple(epoch * per_epoch for epoch in self.at), factor=self.factor)

    def factors(self, steps: np.ndarray, total: int) -> np.ndarray:
        return self.factor ** np.searchsorted(np.sort(self.at), steps, side="right").astype(float)


class Cosine(Schedule):
    """A learning rate that falls to 0 along half a cosine over the whole training."""

    kind: Literal["cosine"] = "cosine"

    def factors(self, steps: np.ndarray, total: int) -> np.ndarray:
        return 0.5 * (1 + np.cos(np.pi * steps / total))


class Settle(Schedule):
    """A learning rate that is constant at first and falls linearly at the end.

    Parameters
    ----------
    share
        Last share of the training over which the rate falls.
    to
        Factor on the rate at the end.

    Examples
    --------
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
