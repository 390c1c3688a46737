"""What networks with exits learn from, and the optimiser of the paper."""

from dataclasses import dataclass, field
from typing import Literal

from tutelage.errors import TutelageError
from tutelage.exits.objective import Annealing, Teachers
from tutelage.printing import printed
from tutelage.training.optimisers import Sgd
from tutelage.training.settings import Supported

PAPER_SGD = Sgd(momentum=0.9, nesterov=True, weight_decay=1e-4)
"""The optimiser of the paper.

Its other settings: for CIFAR-100 batch 64, rate 0.5, 300 epochs with drops after 150 and 225; for ImageNet batch 256,
90 epochs with drops after 30 and 60, and a limit of 0.1 in :class:`.Annealing`.
"""

SUPPORTED = Supported(
    "train_exits", "epochs", "epochs", losses=("cross-entropy",), optimisers=("sgd",), mixed_precision=True
)


@printed
@dataclass(frozen=True)
class ExitObjective:
    """What the exits of a network learn from besides labels.

    Parameters
    ----------
    teachers
        "none" (exit-wise training), "last" (the last exit teaches all others), "later" (every later exit does), or the
        teachers of each exit by number.
    annealing
        Temperature of the soft labels.
    power
        The soft part of the loss is multiplied by the temperature to this power. With 1 its gradient with respect to
        a logit is a difference of probabilities, as that of the labels is, at any temperature. 2 is the paper's
        choice: the gradient then grows with the logits, and in networks without batch norm it can drown the labels.
    reduction
        "mean" (the paper's 1/M) or "sum" over the M exits. The sum is M times the mean, and so are its gradients: a
        rate that was chosen for a sum is M times too small for the mean.
    """

    teachers: Teachers = "last"
    annealing: Annealing = field(default_factory=Annealing)
    power: float = 1.0
    reduction: Literal["mean", "sum"] = "mean"

    def __post_init__(self) -> None:
        if self.reduction not in ("mean", "sum"):
            raise TutelageError(f"reduction must be 'mean' or 'sum', got {self.reduction!r}")
        if not 0 <= self.power <= 2:
            raise TutelageError(f"the power of the temperature lies in 0 .. 2, not at {self.power:g}")
