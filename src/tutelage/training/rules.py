"""Update rules of a user: from weights, gradients and a memory to new weights, all members side by side.

A rule is a pure function, registered under a name so that YAML can name it::

    @rule(slots=1)
    def lion(weights, gradients, memory, rates, step, *, beta=0.9):
        moved = [w - r * (beta * m + (1 - beta) * g).sign() for w, g, m, r in zip(weights, gradients, memory[0], rates)]
        kept = [0.99 * m + 0.01 * g for g, m in zip(gradients, memory[0])]
        return moved, (kept,)

``tt.train(..., rule=lion)``, or ``training: {rule: lion}`` in YAML with the file given by ``--with``. It runs in the
engine ``stacked``; the compiled engines know SGD and Adam alone, and say so.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import torch
from pydantic import AfterValidator, BeforeValidator, Field, FiniteFloat, model_validator
from torch import Tensor

from tutelage import draws
from tutelage.errors import TutelageError
from tutelage.networks import Network
from tutelage.training.optimisers import Optimiser, TrainingState
from tutelage.training.own_functions import Function, OwnFunction, OwnFunctions


class NumberedStep(int):
    """The number of a step, from 0, and normal numbers that belong to it and to each member's seed."""

    seeds: tuple[int, ...]
    stream: str

    def __new__(cls, number: int, seeds: Sequence[int], stream: str = "rule") -> "NumberedStep":
        step = super().__new__(cls, number)
        step.seeds, step.stream = tuple(seeds), stream
        return step

    def at(self, number: int) -> "NumberedStep":
        """Another step of the same members: ``step.at(0).normals(arrays)`` are the same at every step."""
        return NumberedStep(number, self.seeds, self.stream)

    def normals(self, arrays: Sequence[Tensor]) -> list[Tensor]:
        """Independent standard normal numbers of the shapes of these arrays; those of the next step are others."""
        out = []
        for place, array in enumerate(arrays):
            key = draws.keys(self.seeds, f"{self.stream}-{place}", array.device)
            count = array[0].numel()
            out.append(draws.normals(key, count, start=int(self) * count, dtype=array.dtype).view_as(array))
        return out


@dataclass(frozen=True)
class OwnRule(OwnFunction):
    """A registered rule; ``slots`` is how many arrays it remembers per array of weights."""

    slots: int = 0


RULES = OwnFunctions("rule", OwnRule)


def rule(slots: int = 0) -> Callable[[Function], Function]:
    """Decorator that registers an update rule under the name of its function.

    Parameters
    ----------
    slots
        How many arrays the rule remembers for each array of weights; they begin as zeros.

    Returns
    -------
    callable
        The decorator; it returns the function. The function is called as ``function(weights, gradients, memory, rates,
        step, **options)``: ``weights`` and ``gradients`` are lists with one array [S, ...] per trained layer (first the
        weights, then the biases), ``memory`` has one such list per slot, ``rates`` one learning rate per array that
        multiplies it, and ``step`` is a whole number from 0 with ``step.normals(weights)`` for random numbers. It
        returns the new weights, or with slots the new weights and the new memory, and changes nothing in place.

    Examples
    --------
    >>> @rule()
    ... def signs_alone(weights, gradients, memory, rates, step):
    ...     return [w - r * g.sign() for w, g, r in zip(weights, gradients, rates)]
    >>> RULES.pop("signs_alone").slots
    0
    """
    if not isinstance(slots, int) or slots < 0:
        raise TutelageError(f"slots must be a whole number of at least 0, got {slots!r}: use @rule() or @rule(slots=1)")

    return lambda function: RULES.register(function, slots=slots)


RuleName = Annotated[str, BeforeValidator(RULES.named), AfterValidator(RULES.known)]
"""Type of a setting that names a rule; a function is accepted and registered under its name."""


class Ruled(Optimiser):
    """An update rule of a user; ``rule=`` of a training makes one."""

    kind: Literal["rule"] = "rule"
    name: RuleName
    """Name of a registered rule, or its function."""
    options: dict[str, FiniteFloat] = Field(default_factory=dict)
    """Options that are passed to the rule."""

    @model_validator(mode="after")
    def _takes_its_options(self) -> "Ruled":
        RULES.check_options(self.name, self.options)
        return self

    def uses(self) -> tuple[Any, ...]:
        """The rule, whose plugin enters the hash."""
        return (RULES[self.name],)

    def start(self, students: Network) -> TrainingState:
        slots = RULES[self.name].slots
        return TrainingState(students, tuple(students.map(torch.zeros_like) for _ in range(slots)))

    def change(
        self, weight: Tensor, gradient: Tensor, memory: Sequence[Tensor], rate: Tensor, step: int | Tensor
    ) -> None:
        raise NotImplementedError("a rule changes all arrays together: see move")

    def move(
        self,
        weights: Sequence[Tensor],
        gradients: Sequence[Tensor],
        memory: Sequence[Sequence[Tensor]],
        rates: Sequence[Tensor],
        step: NumberedStep,
    ) -> None:
        """Change weights and memory in place, as the rule says; an error where it returns other shapes."""
        own = RULES[self.name]
        if self.weight_decay or self.l1:
            gradients = [self.penalised(w, g) for w, g in zip(weights, gradients, strict=True)]
        moved = own.function(weights, gradients, memory, rates, step, **self.options)
        if own.slots and (not isinstance(moved, tuple | list) or len(moved) != 2):
            raise TutelageError(f"the rule '{self.name}' has slots: return the new weights and the new memory")
        new, kept = moved if own.slots else (moved, ())
        if len(kept) != own.slots:
            raise TutelageError(
                f"the rule '{self.name}' has {own.slots} slots and returned {len(kept)}: return one list per slot"
            )
        for old, arrays in ((weights, new), *zip(memory, kept, strict=True)):
            self._assign(old, arrays)

    def _assign(self, old: Sequence[Tensor], new: Sequence[Tensor]) -> None:
        shapes = [list(a.shape) if isinstance(a, Tensor) else type(a).__name__ for a in new]
        if shapes != [list(a.shape) for a in old]:
            raise TutelageError(
                f"the rule '{self.name}' must return arrays of shape {[list(a.shape) for a in old]}, got {shapes}"
            )
        for a, b in zip(old, new, strict=True):
            a.copy_(b)
