"""The numbers of an optimiser as the compiled loops on CPU and GPU want them."""

from typing import NamedTuple

import numpy as np

from tutelage.training.optimisers import Adam, AdamW, Optimiser


class UpdateRule(NamedTuple):
    """The numbers of an optimiser: Adam where ``adam`` is 1, SGD with momentum otherwise."""

    adam: int
    momentum: float
    """mu of SGD, beta_1 of Adam."""
    nesterov: int
    beta_2: float
    epsilon: float
    decay: float
    """Added to the gradient as decay times the weights."""
    decoupled: float
    """Taken off the weights as a share of the learning rate (AdamW)."""
    l1: float

    @property
    def slots(self) -> int:
        """How many numbers are remembered for each weight."""
        return 2 if self.adam else int(self.momentum > 0)

    def corrections(self, start: int, stop: int) -> np.ndarray:
        """1 / (1 - beta^(t+1)) for both betas of Adam at steps t = start .. stop-1: float64 [T, 2]."""
        steps = np.arange(start + 1, stop + 1, dtype=np.float64)[:, None]
        return 1 / (1 - np.array([self.momentum, self.beta_2]) ** steps)


def update_rule(optimiser: Optimiser) -> UpdateRule:
    """The rule of an optimiser, which is SGD or one of Adam's."""
    apart = isinstance(optimiser, AdamW)
    return UpdateRule(
        int(isinstance(optimiser, Adam)),
        optimiser.beta_1 if isinstance(optimiser, Adam) else getattr(optimiser, "momentum", 0.0),
        int(getattr(optimiser, "nesterov", False)),
        getattr(optimiser, "beta_2", 0.0),
        getattr(optimiser, "epsilon", 1.0),
        0.0 if apart else float(optimiser.weight_decay),
        float(optimiser.weight_decay) if apart else 0.0,
        float(optimiser.l1),
    )
