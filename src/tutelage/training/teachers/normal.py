"""Teachers with normal weights of any depth: soft committee machines and random networks."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal

import torch
from pydantic import Field, FiniteFloat, NonNegativeFloat, PositiveFloat, PositiveInt, field_validator

from tutelage import draws
from tutelage.errors import TutelageError
from tutelage.networks import Network
from tutelage.networks.activations import ActivationName, slope_of
from tutelage.training.inputs import Distribution
from tutelage.training.teachers.teacher import Teacher


class Normal(Teacher):
    r"""Weights from N(0, scale^2 / fan_in), optionally orthonormal units and a constant last layer.

    With ``head=1`` and one output this is the soft committee machine :math:`f^*(x) = \sum_m \sigma(w^*_m \cdot x)`
    (Saad and Solla 1995); rows have length ``scale`` up to fluctuations, exactly with ``orthogonal``.

    >>> recipe = Normal(inputs=9, hidden=2, outputs=1, head=1.0, activation="erf", orthogonal=True)
    >>> w = recipe.build(seeds=range(3)).weights[0]
    >>> bool(((w.mT @ w - torch.eye(2)).abs() < 1e-6).all())
    True
    """

    kind: Literal["normal"] = "normal"
    inputs: PositiveInt
    """Number of inputs d."""
    hidden: tuple[PositiveInt, ...] = Field(min_length=1)
    """Hidden units; one number, or one per hidden layer."""
    outputs: PositiveInt
    """Number of outputs C."""
    scale: PositiveFloat = 1.0
    """Standard deviation of the weights times the square root of the inputs of their layer."""
    orthogonal: bool = False
    """Whether the units of the first layer are orthogonal and of length ``scale``."""
    head: FiniteFloat | None = None
    """Value of all weights of the last layer; default: drawn."""
    bias: bool = False
    """Whether units have biases."""
    bias_std: NonNegativeFloat = 0.1
    """Standard deviation of the biases, where there are any."""
    activation: ActivationName = "relu"
    """Activation of the hidden units."""
    slope: float = Field(default=0.01, ge=0, lt=1)
    """Slope of leaky units for negative inputs."""

    @field_validator("hidden", mode="before")
    @classmethod
    def _one_hidden_layer(cls, hidden: Any) -> Any:
        return (hidden,) if isinstance(hidden, int) and not isinstance(hidden, bool) else hidden

    def widths(self) -> tuple[int, ...]:
        return (self.inputs, *self.hidden, self.outputs)

    def make(
        self,
        seeds: Sequence[int],
        distribution: Distribution | None = None,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> Network:
        widths, weights, biases = self.widths(), [], []
        for layer, (fan_in, fan_out) in enumerate(pairwise(widths), start=1):
            key = draws.keys(seeds, f"normal-teacher-{layer}", device)
            w = draws.normals(key, fan_in * fan_out).view(-1, fan_in, fan_out)
            if layer == 1 and self.orthogonal:
                if fan_out > fan_in:
                    raise TutelageError(f"{fan_out} orthogonal units need as many inputs, got {fan_in}")
                w = torch.linalg.qr(w).Q * fan_in**0.5
            if layer == len(widths) - 1 and self.head is not None:
                weights.append(torch.full_like(w, self.head))
            else:
                weights.append(w * (self.scale / fan_in**0.5))
            key = draws.keys(seeds, f"normal-teacher-bias-{layer}", device)
            biases.append(draws.normals(key, fan_out) * self.bias_std)
        network = Network(
            tuple(weights), tuple(biases) if self.bias else None, self.activation, slope_of(self.activation, self.slope)
        )
        return network.to(dtype=dtype)
