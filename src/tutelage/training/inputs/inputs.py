"""Inputs: points to learn from and points to be judged on, one set per member."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from pydantic import PositiveInt
from torch import Tensor, nn

from tutelage import draws
from tutelage.errors import TutelageError
from tutelage.networks import BlackBox, Network
from tutelage.networks.modules import stack_of
from tutelage.printing import printed
from tutelage.settings import Recipe


@printed
@dataclass(frozen=True, eq=False)
class Inputs:
    """Training and evaluation points of S members: train [S, N, d], evaluate [S, M, d], one seed per member.

    Where all members share their points, both are views that repeat one array along the member axis.

    Attributes
    ----------
    train, evaluate
        Points [S, N, d] and [S, M, d].
    seeds
        One seed per member.
    distribution
        Where further points can be drawn from, for training on fresh samples; None for points of a data set.
    train_labels, evaluate_labels
        Labels of a data set, [S, N, C] and [S, M, C]; None where a teacher labels the points.
    """

    train: Tensor
    evaluate: Tensor
    seeds: tuple[int, ...]
    distribution: "Distribution | None" = None
    train_labels: Tensor | None = None
    evaluate_labels: Tensor | None = None


class Distribution(Recipe):
    """A recipe for inputs: the distribution, and how many points of it to train and evaluate on.

    Point i of a member is a function of its seed and i alone: a larger set begins with the smaller one.
    """

    train: PositiveInt = 10_000
    """Number of points to train on, per member."""
    evaluate: PositiveInt = 10_000
    """Number of points to evaluate on, per member."""
    shared: bool = False
    """One set of points for all members (that of the first seed) instead of a set for each."""

    @abstractmethod
    def points(self, key: Tensor, count: int, dimension: int, dtype: torch.dtype) -> Tensor:
        """``count`` points of each stream: keys [S] -> [S, count, dimension]."""

    def draw(self, teacher: Network | BlackBox | nn.Module, seeds: Sequence[int]) -> Inputs:
        """Training and evaluation points for the members of a teacher, one seed per member; one teacher serves all.

        A teacher may be a torch module that is a plain stack of layers.
        """
        seeds, network = draws.as_seeds(seeds), stack_of(teacher)
        if network.members not in (1, len(seeds)):
            raise TutelageError(
                f"{network.members} teachers cannot be paired with {len(seeds)} seeds: build both from the same seeds, "
                "or pass a single teacher"
            )
        if network.members == 1:
            network = network.expand(len(seeds))
        used = seeds[:1] if self.shared else seeds
        looked_at = network[:1] if self.shared else network
        train, evaluate = self.training_points(looked_at, used), self.evaluation_points(looked_at, used)
        shape = (len(seeds), -1, -1)
        return Inputs(train.expand(shape), evaluate.expand(shape), seeds, self)

    def fresh(self, key: Tensor, start: int, stop: int, batch: int, dimension: int, dtype: torch.dtype) -> Tensor:
        """Points of steps start .. stop-1 for training on fresh samples: keys [S] -> [S, T, batch, dimension].

        Every step of a member is a stream of its own, so that nothing is stored and steps can be repeated. A
        distribution that changes over time overrides this.
        """
        if type(self).training_points is not Distribution.training_points:
            raise TutelageError(
                f"inputs of the kind '{self.kind}' are built around a teacher and cannot be drawn at every step: use "
                "sampling 'replacement' or 'epochs'"
            )
        steps = draws.substreams(key, start, stop)
        return self.points(steps.view(-1), batch, dimension, dtype).view(*steps.shape, batch, dimension)

    def training_points(self, teacher: Any, seeds: Sequence[int]) -> Tensor:
        """The points to train on: those of the distribution, unless a distribution builds them around the teacher."""
        return self.points(draws.keys(seeds, "train", teacher.device), self.train, teacher.inputs, teacher.dtype)

    def evaluation_points(self, teacher: Any, seeds: Sequence[int]) -> Tensor:
        """The points to be judged on."""
        return self.points(draws.keys(seeds, "evaluate", teacher.device), self.evaluate, teacher.inputs, teacher.dtype)
