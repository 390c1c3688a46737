"""How a teacher is made: a recipe that builds a stack of networks, one per seed."""

from abc import abstractmethod
from collections.abc import Sequence

import torch

from tutelage.networks import Network
from tutelage.settings import Recipe
from tutelage.training.inputs import Distribution


class Teacher(Recipe):
    """A recipe for teachers. What it builds is a plain :class:`Network`."""

    @abstractmethod
    def widths(self) -> tuple[int, ...]:
        """Input width, hidden widths, output width."""

    @abstractmethod
    def build(
        self,
        seeds: Sequence[int],
        distribution: Distribution | None = None,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> Network:
        """One teacher per seed; ``distribution`` is where its inputs will come from, for recipes that look at them."""
