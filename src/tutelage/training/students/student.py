"""The contract of a recipe that draws a stack of students for a given teacher."""

from abc import abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Self

import torch
from pydantic import Field, FiniteFloat, NonNegativeFloat, PositiveInt, field_validator, model_validator
from torch import Tensor, nn

from tutelage import draws
from tutelage.errors import TutelageError
from tutelage.networks.activations import ActivationName, slope_of
from tutelage.networks.black_box import BlackBox
from tutelage.networks.modules import stack_of
from tutelage.networks.network import Network
from tutelage.settings import ADDED, Recipe


class Student(Recipe):
    """A recipe for students ``width_factor`` times as wide as their teacher in every hidden layer, or of given widths.

    ``hidden`` gives absolute widths, and with them the depth, which may differ from the teacher's.
    """

    width_factor: float = Field(default=1, ge=1)
    """Student width over teacher width, in every hidden layer; not together with ``hidden``."""
    activation: ActivationName = "relu"
    """Activation of the hidden units."""
    slope: float = Field(default=0.01, ge=0, lt=1)
    """Slope of leaky units for negative inputs."""
    bias: bool = True
    """Whether units have biases."""
    hidden: Annotated[tuple[PositiveInt, ...] | None, ADDED] = None
    """Hidden units: one number, or one per hidden layer; default: from the teacher's by ``width_factor``."""
    layer_scales: Annotated[tuple[NonNegativeFloat, ...] | None, ADDED] = None
    """Factors on the weights at the start, one per layer; default: 1 for all."""
    head: Annotated[FiniteFloat | None, ADDED] = None
    """Value of all weights of the last layer at the start, as in a soft committee machine; default: drawn."""
    random_bias: ClassVar[bool] = False

    @field_validator("hidden", mode="before")
    @classmethod
    def _one_hidden_layer(cls, hidden: Any) -> Any:
        return (hidden,) if isinstance(hidden, int) and not isinstance(hidden, bool) else hidden

    @model_validator(mode="after")
    def _one_width(self) -> Self:
        if self.hidden is not None and self.width_factor != 1:
            raise ValueError("'width_factor' has no effect where 'hidden' gives the widths: leave one of them out")
        return self

    def widths(self, teacher: Sequence[int]) -> tuple[int, ...]:
        """Widths of the student of a teacher of the given widths; a hidden width is rounded to the nearest unit.

        >>> from tutelage.training.students import SmallNormal
        >>> SmallNormal(width_factor=5).widths((100, 10, 50)), SmallNormal(hidden=(30, 20)).widths((100, 10, 50))
        ((100, 50, 50), (100, 30, 20, 50))
        """
        if self.hidden is not None:
            return (teacher[0], *self.hidden, teacher[-1])
        return (teacher[0], *(max(1, round(self.width_factor * w)) for w in teacher[1:-1]), teacher[-1])

    def build(self, teacher: Network | BlackBox | nn.Module, seeds: Sequence[int]) -> Network:
        """One student per seed, for the given teacher: its precision, device, input and output widths.

        A teacher may be a torch module that is a plain stack of layers.
        """
        network = stack_of(teacher)
        if network.depth == 1 and self.hidden is None:
            raise TutelageError("the teacher has no hidden layers whose widths could be multiplied: give 'hidden'")
        widths = self.widths(network.widths)
        factors = self._factors(len(widths) - 1)
        weights, biases = [], []
        for layer, (fan_in, fan_out) in enumerate(pairwise(widths), start=1):
            last = layer == len(widths) - 1
            key = draws.keys(seeds, f"student-{layer}", network.device)
            size = (fan_in + 1) * fan_out
            both = self.layer_entries(key, size, fan_in, last, network.dtype).view(len(seeds), fan_in + 1, fan_out)
            w = both[:, :-1].contiguous()
            if last and self.head is not None:
                w = torch.full_like(w, self.head, dtype=torch.float64).to(w)  # beyond float32 it is infinite
            weights.append(w if factors[layer - 1] == 1 else w * factors[layer - 1])
            biases.append(both[:, -1].contiguous() if self.random_bias else torch.zeros_like(both[:, -1]))
        return Network(
            tuple(weights), tuple(biases) if self.bias else None, self.activation, slope_of(self.activation, self.slope)
        )

    def _factors(self, layers: int) -> tuple[float, ...]:
        factors = self.layer_scales or (1.0,) * layers
        if len(factors) != layers:
            raise TutelageError(f"layer_scales has {len(factors)} entries for {layers} layers: give one per layer")
        return factors

    def layer_entries(self, key: Tensor, count: int, fan_in: int, last: bool, dtype: torch.dtype) -> Tensor:
        """Weights of one layer of each member, for recipes whose last layer differs: keys [S] -> [S, count]."""
        return self.entries(key, count, fan_in, dtype)

    @abstractmethod
    def entries(self, key: Tensor, count: int, fan_in: int, dtype: torch.dtype) -> Tensor:
        """``count`` independent weights of each member: keys [S] -> [S, count]."""
