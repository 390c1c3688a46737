"""How a teacher is made: a recipe that builds a stack of networks, one per seed."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Annotated

import torch

from tutelage import draws
from tutelage.networks import BlackBox, Network
from tutelage.settings import ADDED, Recipe
from tutelage.training.inputs import Distribution


class Teacher(Recipe):
    """A recipe for teachers. What it builds is a plain :class:`Network`, or a :class:`BlackBox` without units."""

    shared: Annotated[bool, ADDED] = False
    """One teacher for all members (that of the first seed) instead of one for each."""

    @abstractmethod
    def widths(self) -> tuple[int, ...]:
        """Input width, hidden widths, output width."""

    @abstractmethod
    def make(
        self,
        seeds: Sequence[int],
        distribution: Distribution | None = None,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> Network | BlackBox:
        """One teacher per seed; ``distribution`` is where its inputs will come from, for recipes that look at them."""

    def build(
        self,
        seeds: Sequence[int],
        distribution: Distribution | None = None,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> Network | BlackBox:
        """As many teachers as seeds: one per seed, or that of the first seed for all of them where it is shared."""
        seeds = draws.as_seeds(seeds)
        used = seeds[:1] if self.shared else seeds
        return self.make(used, distribution, dtype, device).expand(len(seeds))
