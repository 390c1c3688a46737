"""How a network with exits is trained."""

from dataclasses import dataclass, field

from tutelage.errors import Refusal
from tutelage.exits.objective import Annealing, Teachers


@dataclass(frozen=True)
class ExitTraining:
    """How a network with exits is trained: SGD with Nesterov momentum, the rate divided by 10 after some epochs.

    teachers: see :data:`Teachers`. The seed's own: batch 64, rate 0.5, 300 epochs with drops after 150 and 225 for
    CIFAR-100; batch 256, 90 epochs with drops after 30 and 60, limit 0.1, for ImageNet. mixed: products in bfloat16,
    with weights, losses and batch norms in the precision of the network.
    """

    epochs: int
    batch: int = 32
    learning_rate: float = 0.1
    drops: tuple[int, ...] = ()
    momentum: float = 0.9
    weight_decay: float = 1e-4
    teachers: Teachers = "last"
    annealing: Annealing = field(default_factory=Annealing)
    mixed: bool = False

    def __post_init__(self) -> None:
        if self.epochs < 0 or self.batch < 1 or not self.learning_rate > 0:
            raise Refusal("training needs epochs of at least 0, a batch of at least 1 and a rate above 0")
        if not 0 < self.momentum < 1 or self.weight_decay < 0:
            raise Refusal(f"momentum lies in 0 .. 1 and weight decay is at least 0, not {self.momentum:g} and "
                          f"{self.weight_decay:g}")  # fmt: skip

    def rate(self, epoch: int) -> float:
        """The learning rate of an epoch, counted from 0.

        >>> [round(ExitTraining(9, drops=(3, 6)).rate(e), 6) for e in (2, 3, 6)]
        [0.1, 0.01, 0.001]
        """
        return self.learning_rate * 0.1 ** sum(epoch >= drop for drop in self.drops)
