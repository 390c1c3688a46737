"""The contract of a recipe that draws a stack of students for a given teacher."""

from abc import abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor

from tutelage import draws
from tutelage.networks.network import Network
from tutelage.settings import Recipe


class Student(Recipe):
    """A recipe for students ``width_factor`` times as wide as their teacher in every hidden layer."""

    width_factor: float = Field(default=1, ge=1)
    """Student width over teacher width, in every hidden layer."""
    activation: Literal["relu", "leaky", "abs", "linear"] = "relu"
    """Activation of the hidden units."""
    slope: float = Field(default=0.01, ge=0, lt=1)
    """Slope of leaky units for negative inputs."""
    bias: bool = True
    """Whether units have biases."""
    random_bias: ClassVar[bool] = False

    def widths(self, teacher: Sequence[int]) -> tuple[int, ...]:
        """Widths of the student of a teacher of the given widths; a hidden width is rounded to the nearest unit.

        >>> from tutelage.training.students import SmallNormal
        >>> SmallNormal(width_factor=5).widths((100, 10, 50))
        (100, 50, 50)
        """
        return (teacher[0], *(max(1, round(self.width_factor * w)) for w in teacher[1:-1]), teacher[-1])

    def build(self, teacher: Network, seeds: Sequence[int]) -> Network:
        """One student per seed, for the given teacher: its precision, device, input and output widths."""
        widths = self.widths(teacher.widths)
        weights, biases = [], []
        for layer, (fan_in, fan_out) in enumerate(pairwise(widths), start=1):
            key = draws.keys(seeds, f"student-{layer}", teacher.device)
            size = (fan_in + 1) * fan_out
            both = self.entries(key, size, fan_in, teacher.dtype).view(len(seeds), fan_in + 1, fan_out)
            weights.append(both[:, :-1].contiguous())
            biases.append(both[:, -1].contiguous() if self.random_bias else torch.zeros_like(both[:, -1]))
        return Network(tuple(weights), tuple(biases) if self.bias else None, self.activation, self.slope)

    @abstractmethod
    def entries(self, key: Tensor, count: int, fan_in: int, dtype: torch.dtype) -> Tensor:
        """``count`` independent weights of each member: keys [S] -> [S, count]."""
