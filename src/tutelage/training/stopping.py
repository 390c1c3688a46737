"""Rules that end the training of a member before the last step, without disturbing the others."""

from abc import abstractmethod
from typing import Any, Literal

import torch
from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt
from torch import Tensor

from tutelage.settings import Recipe


class Stop(Recipe):
    """Base class of stopping rules, which look at the loss of every member on its training points.

    Parameters
    ----------
    kind
        Name of the rule in YAML.
    every
        Steps between two looks; the last look is at the last step of the training, whatever this is.
    """

    every: PositiveInt = 1000
    """Steps between two looks at the loss; the last step of the training has a look too."""

    @abstractmethod
    def judge(self, losses: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Which members stop, and what to remember of them: losses [S], memory [S, 2] -> bool [S], memory [S, 2]."""

    def start(self, members: int) -> Tensor:
        """What is remembered before the first look: float64 [S, 2]."""
        return torch.tensor([torch.inf, 0.0], dtype=torch.float64).repeat(members, 1)


class LossBelow(Stop):
    """Stop a member once its loss is below a threshold."""

    kind: Literal["loss-below"] = "loss-below"
    threshold: PositiveFloat
    """Loss below which a member stops."""

    def judge(self, losses: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        return losses < self.threshold, memory


class Plateau(Stop):
    """Stop a member once its loss has not fallen by a share of the best loss for some looks in a row."""

    kind: Literal["plateau"] = "plateau"
    share: NonNegativeFloat = Field(default=0.01, lt=1)
    """Share of the best loss by which a loss must be lower to count as progress."""
    patience: PositiveInt = 5
    """Looks without progress after which a member stops."""

    def judge(self, losses: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        best, waited = memory.unbind(1)
        progress = losses < best * (1 - self.share)
        waited = torch.where(progress, torch.zeros_like(waited), waited + 1)
        return waited >= self.patience, torch.stack([torch.where(progress, losses, best), waited], 1)


def parse(values: Any) -> Any:
    """A rule from a table with a kind, or None."""
    return None if values is None else Stop.parse(values)
