"""What a method sees of the students."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from tutelage.networks import Network, forward
from tutelage.printing import printed

if TYPE_CHECKING:
    from tutelage.planted.truth import Truth

Sees = Literal["students", "twins", "teacher", "truth"]
SEES: tuple[Sees, ...] = ("students", "twins", "teacher", "truth")
"""What a method may look at, from least to most: the students alone; also other students of the same teachers, trained
from other starts; also the teachers; also the truth, which is for the oracle."""


@printed
@dataclass(frozen=True, eq=False)
class StudentsView:
    """Stacked students and one of their hidden layers, as a method sees them.

    Attributes
    ----------
    network
        The students, S members.
    layer
        The hidden layer in question, from 1.
    labels
        Labels of the inputs that the method is given, [S, N, C].
    seeds
        Seeds of the members.
    twins
        Other students of the same teachers, None for a method that does not see them.
    teacher
        The teachers, None for a method that does not see them.
    truth
        The truth, for the oracle alone.
    """

    network: Network
    layer: int
    labels: Tensor
    seeds: Sequence[int]
    twins: Network | None = None
    teacher: Network | None = None
    truth: "Truth | None" = None

    @property
    def members(self) -> int:
        return self.network.members

    @property
    def units(self) -> int:
        """Width of the layer."""
        return self.network.widths[self.layer]

    def activations(self, points: Tensor) -> Tensor:
        """Activations of the layer on points [S, N, d] or [N, d]: [S, N, n]."""
        return forward(self.network, points).features[self.layer]

    def reference(self, points: Tensor) -> Tensor:
        """Activations of the same layer of the teachers, else of the twins: [S, N, r]."""
        other = self.twins if self.teacher is None else self.teacher
        assert other is not None
        return forward(other, points).features[self.layer]

    def incoming(self) -> Tensor:
        """Input weights and bias of every unit, [S, n, i + 1]."""
        return incoming(self.network, self.layer)

    def outgoing(self) -> Tensor:
        """Output weights of every unit, [S, n, o]."""
        return self.network.weights[self.layer]


def incoming(network: Network, layer: int) -> Tensor:
    """Input weights and bias of every unit of a hidden layer, [S, n, i + 1]."""
    w = network.weights[layer - 1].mT
    bias = w.new_zeros(w.shape[:2]) if network.biases is None else network.biases[layer - 1]
    return torch.cat([w, bias.unsqueeze(2)], 2)
