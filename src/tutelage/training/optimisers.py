"""Optimisers: from the gradient of a step to the change of the weights, members side by side.

Every rule here acts on each weight alone, so members do not touch one another.
"""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import torch
from pydantic import Field, NonNegativeFloat, PositiveFloat, model_validator
from torch import Tensor, nn

from tutelage.errors import TutelageError
from tutelage.networks import Network
from tutelage.printing import printed
from tutelage.settings import ADDED, Recipe


class Optimiser(Recipe):
    """Base class of optimisers: the change of the weights from gradients and a memory of earlier ones.

    Parameters
    ----------
    kind
        Name of the optimiser in YAML.
    weight_decay
        lambda; lambda times the weights is added to the gradient.
    l1
        alpha; alpha times the sign of the weights is added to the gradient.
    """

    slots: ClassVar[int] = 0
    """How many numbers are remembered for each weight."""
    weight_decay: NonNegativeFloat = 0.0
    """Factor on the weights that is added to their gradient."""
    l1: Annotated[NonNegativeFloat, ADDED] = 0.0
    """Factor on the signs of the weights that is added to their gradient."""

    def penalised(self, weight: Tensor, gradient: Tensor) -> Tensor:
        """The gradient with that of the penalties: g + weight_decay w + l1 sign(w)."""
        h = gradient + self.weight_decay * weight if self.weight_decay else gradient
        return h + self.l1 * weight.sign() if self.l1 else h

    @property
    def plain(self) -> bool:
        """Whether a step is nothing but the gradient times the learning rate."""
        return False

    def start(self, students: Network) -> "TrainingState":
        """Students that remember nothing yet: zeros."""
        return TrainingState(students, tuple(students.map(torch.zeros_like) for _ in range(self.slots)))

    @abstractmethod
    def change(
        self, weight: Tensor, gradient: Tensor, memory: Sequence[Tensor], rate: Tensor, step: int | Tensor
    ) -> None:
        """Change one array of weights in place, and its memory with it.

        weight, gradient [S, ...]; memory: one array of that shape a slot; rate [S, 1, ...]; step counts from 0, and is
        an array without axes where steps are recorded to be replayed.
        """

    def for_module(
        self, parameters: Iterable[nn.Parameter], rate: float | Tensor, **options: Any
    ) -> torch.optim.Optimizer:
        """The same rule for the weights of a torch module; options: how torch computes it (``fused``)."""
        raise TutelageError(f"the optimiser '{self.kind}' does not train torch modules: use 'sgd', 'adam' or 'adamw'")

    def _no_l1(self) -> None:
        if self.l1:
            raise TutelageError(f"an l1 penalty is not supported for torch modules, got l1={self.l1:g}: leave it out")


class Sgd(Optimiser):
    r"""Gradient descent with momentum and weight decay, with torch's definitions.

    .. math:: h = g + \lambda w, \qquad m \leftarrow \mu m + h, \qquad w \leftarrow w - \eta m
    """

    kind: Literal["sgd"] = "sgd"
    momentum: float = Field(default=0.0, ge=0, lt=1)
    """Share of the last change that is kept."""
    nesterov: bool = False
    """Whether momentum is applied ahead of the step (Nesterov)."""
    slots: ClassVar[int] = 1

    @model_validator(mode="after")
    def _nesterov_has_momentum(self) -> "Sgd":
        if self.nesterov and not self.momentum:
            raise ValueError("'nesterov' needs a momentum above 0: give one, or leave nesterov out")
        return self

    @property
    def plain(self) -> bool:
        return self.momentum == 0 and self.weight_decay == 0 and self.l1 == 0

    def change(
        self, weight: Tensor, gradient: Tensor, memory: Sequence[Tensor], rate: Tensor, step: int | Tensor
    ) -> None:
        h = self.penalised(weight, gradient)
        if self.momentum:
            kept = memory[0].mul_(self.momentum).add_(h)
            h = h + self.momentum * kept if self.nesterov else kept
        weight.sub_(rate * h)

    def for_module(
        self, parameters: Iterable[nn.Parameter], rate: float | Tensor, **options: Any
    ) -> torch.optim.Optimizer:
        self._no_l1()
        options |= {"nesterov": self.nesterov, "weight_decay": self.weight_decay}
        return torch.optim.SGD(parameters, rate, self.momentum, **options)


class Adam(Optimiser):
    r"""Adam (Kingma and Ba 2015), with the weight decay added to the gradient h.

    .. math::
        m \leftarrow \beta_1 m + (1 - \beta_1) h, \quad v \leftarrow \beta_2 v + (1 - \beta_2) h^2, \quad
        w \leftarrow w - \eta\, \frac{m / (1 - \beta_1^t)}{\sqrt{v / (1 - \beta_2^t)} + \epsilon}
    """

    kind: Literal["adam"] = "adam"
    beta_1: float = Field(default=0.9, ge=0, lt=1)
    """Decay of the mean of the gradient."""
    beta_2: float = Field(default=0.999, ge=0, lt=1)
    """Decay of the mean of the squared gradient."""
    epsilon: PositiveFloat = 1e-8
    """Number added to the root of the squared gradient."""
    slots: ClassVar[int] = 2

    def change(
        self, weight: Tensor, gradient: Tensor, memory: Sequence[Tensor], rate: Tensor, step: int | Tensor
    ) -> None:
        self._move(weight, self.penalised(weight, gradient), memory, rate, step)

    def _move(self, weight: Tensor, h: Tensor, memory: Sequence[Tensor], rate: Tensor, step: int | Tensor) -> None:
        m = memory[0].lerp_(h, 1 - self.beta_1)
        v = memory[1].mul_(self.beta_2).addcmul_(h, h, value=1 - self.beta_2)
        size = (v / (1 - self.beta_2 ** (step + 1))).sqrt_().add_(self.epsilon)
        weight.sub_(rate / (1 - self.beta_1 ** (step + 1)) * m / size)

    def for_module(
        self, parameters: Iterable[nn.Parameter], rate: float | Tensor, **options: Any
    ) -> torch.optim.Optimizer:
        self._no_l1()
        betas = self.beta_1, self.beta_2
        return torch.optim.Adam(parameters, rate, betas, self.epsilon, weight_decay=self.weight_decay, **options)


class AdamW(Adam):
    r"""Adam with decoupled weight decay (Loshchilov and Hutter 2019).

    .. math::
        w \leftarrow (1 - \eta \lambda)\, w - \eta\, \frac{m / (1 - \beta_1^t)}{\sqrt{v / (1 - \beta_2^t)} + \epsilon}
    """

    kind: Literal["adamw"] = "adamw"  # type: ignore[assignment]
    weight_decay: NonNegativeFloat = 0.01
    """Share of the weights that is taken off per unit of the learning rate."""

    def change(
        self, weight: Tensor, gradient: Tensor, memory: Sequence[Tensor], rate: Tensor, step: int | Tensor
    ) -> None:
        h = gradient + self.l1 * weight.sign() if self.l1 else gradient
        weight.mul_(1 - rate * self.weight_decay)
        self._move(weight, h, memory, rate, step)

    def for_module(
        self, parameters: Iterable[nn.Parameter], rate: float | Tensor, **options: Any
    ) -> torch.optim.Optimizer:
        self._no_l1()
        betas = self.beta_1, self.beta_2
        return torch.optim.AdamW(parameters, rate, betas, self.epsilon, weight_decay=self.weight_decay, **options)


class GradientFlow(Optimiser):
    r"""Gradient flow :math:`\dot w = -\nabla J - \lambda w`, integrated by the classical Runge-Kutta method of order 4.

    A step advances the time by the learning rate, with the gradient over all samples (``batch="all"``) and four
    gradients per step; the error is of fourth order in the learning rate.
    """

    kind: Literal["gradient-flow"] = "gradient-flow"

    def change(
        self, weight: Tensor, gradient: Tensor, memory: Sequence[Tensor], rate: Tensor, step: int | Tensor
    ) -> None:
        raise NotImplementedError("gradient flow needs several gradients per step: see stacked.flow")


@printed
@dataclass(frozen=True, eq=False)
class TrainingState:
    """Students and what their optimiser remembers: networks of the same shapes, one a slot."""

    students: Network
    memory: tuple[Network, ...] = ()

    def __getitem__(self, members: Sequence[int]) -> "TrainingState":
        return TrainingState(self.students[members], tuple(slot[members] for slot in self.memory))

    def replaced(self, members: Sequence[int], by: "TrainingState") -> "TrainingState":
        """The same learners with some members replaced by those of another."""
        memory = tuple(_replaced(a, members, b) for a, b in zip(self.memory, by.memory, strict=True))
        return TrainingState(_replaced(self.students, members, by.students), memory)

    def clone(self) -> "TrainingState":
        return TrainingState(self.students.map(torch.clone), tuple(slot.map(torch.clone) for slot in self.memory))


def _replaced(network: Network, members: Sequence[int], by: Network) -> Network:
    index = torch.as_tensor(members, device=network.device)
    arrays = iter(by.parameters)
    return network.map(lambda a: a.index_copy(0, index, next(arrays)))
