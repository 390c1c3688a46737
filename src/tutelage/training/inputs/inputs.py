"""Inputs: points to learn from and points to be judged on, one set per member."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from pydantic import PositiveInt
from torch import Tensor

from tutelage import draws
from tutelage.errors import TutelageError
from tutelage.networks import Network
from tutelage.printing import printed
from tutelage.settings import Recipe


@printed
@dataclass(frozen=True, eq=False)
class Inputs:
    """Training and evaluation points of S members: train [S, N, d], evaluate [S, M, d], one seed per member.

    Where all members share their points, both are views that repeat one array along the member axis.
    """

    train: Tensor
    evaluate: Tensor
    seeds: tuple[int, ...]


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

    def draw(self, teacher: Network, seeds: Sequence[int]) -> Inputs:
        """Training and evaluation points for the members of a teacher, one seed per member."""
        if teacher.members != len(seeds):
            raise TutelageError(
                f"there are {teacher.members} teachers and {len(seeds)} seeds: build both from the same seeds"
            )
        used = seeds[:1] if self.shared else seeds
        looked_at = teacher[:1] if self.shared else teacher
        train, evaluate = self.training_points(looked_at, used), self.evaluation_points(looked_at, used)
        shape = (len(seeds), -1, -1)
        return Inputs(train.expand(shape), evaluate.expand(shape), tuple(seeds))

    def training_points(self, teacher: Network, seeds: Sequence[int]) -> Tensor:
        """The points to train on: those of the distribution, unless a distribution builds them around the teacher."""
        return self.points(draws.keys(seeds, "train", teacher.device), self.train, teacher.inputs, teacher.dtype)

    def evaluation_points(self, teacher: Network, seeds: Sequence[int]) -> Tensor:
        """The points to be judged on."""
        return self.points(draws.keys(seeds, "evaluate", teacher.device), self.evaluate, teacher.inputs, teacher.dtype)
