"""How networks are trained: one record of settings for all trainers, and what each trainer supports of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import torch
from pydantic import (
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    field_validator,
    model_validator,
)

from tutelage.errors import TutelageError
from tutelage.settings import ADDED, PerMemberNonNegative, Settings
from tutelage.training import stopping
from tutelage.training.curricula import Curriculum
from tutelage.training.gradients import Gradient
from tutelage.training.losses import LOSSES, Loss, LossName
from tutelage.training.noise import Flips, Noise
from tutelage.training.optimisers import Adam, GradientFlow, Optimiser, Sgd
from tutelage.training.parameterisations import Parameterisation, rate_factors
from tutelage.training.schedules import Constant, Schedule
from tutelage.training.stopping import Stop

_FUNCTIONS = ("gradient", "curriculum")
_SPAN = 1000  # steps whose learning rates are computed at a time


class Training(Settings):
    """How networks are trained: length, batches, learning rate, schedule, loss and optimiser.

    The gradient of a step is the mean over its batch of the sum over outputs.

    Parameters
    ----------
    steps, epochs
        Length of the training: one of the two.
    batch
        Samples per step, or "all" for full-batch gradient descent.
    sampling
        "replacement" draws every batch independently; "epochs" goes through a shuffled set, which is the default when
        the length is given in epochs; "online" draws fresh inputs at every step, and nothing is stored.
    learning_rate
        One number, or one per member.
    schedule
        Factor on the learning rate over time (:class:`Constant`, :class:`Cosine`, :class:`Drops`, :class:`Settle`,
        :class:`Inverse`, :class:`Stages`), with a ``warm_up`` where wanted.
    loss
        "mse", "cross-entropy", "soft-cross-entropy", "binary-cross-entropy", "logistic" or "exponential", or a function
        of labels and outputs (:func:`~tutelage.training.loss`). Trainers with an objective of their own accept only the
        default.
    optimiser
        :class:`Sgd` (with momentum, Nesterov, weight decay), :class:`Adam`, :class:`AdamW` or :class:`GradientFlow`; or
        the name of one, such as "adam". ``weight_decay`` may stand beside it. ``rule=`` in its place takes an update
        rule of your own (:func:`~tutelage.training.rule`).
    mixed_precision
        Whether convolutions run in bfloat16 on a GPU.
    temperature
        Temperature T of "soft-cross-entropy".
    label_noise, input_noise
        Noise on labels and on inputs: a standard deviation, or a table with a kind. Labels are those of the inputs
        without noise.
    layer_rates
        Factors on the learning rate, one per layer.
    frozen
        Layers that are not trained, counted from 1; -1 is the last one.
    parameterisation
        "standard", "ntk" or "mup": how learning rates depend on the widths (:mod:`.parameterisations`).
    stop
        Rule that ends the training of single members early (:class:`LossBelow`, :class:`Plateau`).
    gradient
        What replaces the gradient of the loss: a function of students, points and labels
        (:func:`~tutelage.training.gradient`), or the name of one, such as "natural".
    curriculum
        Which points a step sees: a function of the training points (:func:`~tutelage.training.curriculum`).

    Examples
    --------
    >>> Training(steps=1000, batch=32, learning_rate=0.1, optimiser={"kind": "adam"}).length(samples=500)
    1000
    """

    steps: PositiveInt | None = None
    """Number of steps; give this or ``epochs``."""
    epochs: NonNegativeInt | None = None
    """Number of passes over the training points; give this or ``steps``."""
    batch: PositiveInt | Literal["all"] = 16
    """Samples per step, or "all" for full-batch gradient descent."""
    sampling: Literal["replacement", "epochs", "online"] = "replacement"
    """Whether a batch is drawn with replacement, by passes over all points (epochs), or afresh (online)."""
    learning_rate: PerMemberNonNegative = 0.01
    """Learning rate; one number, or one per member."""
    schedule: Schedule = Field(default_factory=Constant)
    """Factor on the learning rate over time."""
    loss: LossName = "mse"
    """Loss: "mse" is the squared error."""
    optimiser: Optimiser = Field(default_factory=Sgd)
    """Rule that changes the weights."""
    mixed_precision: bool = False
    """Whether products are computed in bfloat16; weights and losses keep their precision."""
    temperature: Annotated[PositiveFloat, ADDED] = 1.0
    """Temperature of the loss "soft-cross-entropy"."""
    label_noise: Annotated[Noise | None, ADDED] = None
    """Noise on the labels: a standard deviation, or a table with a kind."""
    input_noise: Annotated[Noise | None, ADDED] = None
    """Noise on the inputs that students see: a standard deviation, or a table with a kind."""
    layer_rates: Annotated[tuple[NonNegativeFloat, ...] | None, ADDED] = None
    """Factors on the learning rate, one per layer; default: 1 for all."""
    frozen: Annotated[tuple[int, ...], ADDED] = ()
    """Layers that are not trained, counted from 1; -1 is the last one."""
    parameterisation: Annotated[Parameterisation, ADDED] = "standard"
    """How learning rates depend on the widths of the layers."""
    stop: Annotated[Stop | None, ADDED] = None
    """Rule that ends the training of single members early."""
    gradient: Annotated[Gradient | None, ADDED] = None
    """Function that replaces the gradient of the loss: its name, or a table with a name and options."""
    curriculum: Annotated[Curriculum | None, ADDED] = None
    """Function that picks the points of every step: its name, or a table with a name and options."""

    @model_validator(mode="before")
    @classmethod
    def _sampling_of_epochs(cls, values: Any) -> Any:
        if isinstance(values, dict) and values.get("epochs") is not None:
            return {"sampling": "epochs"} | values
        return values

    @model_validator(mode="before")
    @classmethod
    def _weight_decay_of_the_optimiser(cls, values: Any) -> Any:
        """``weight_decay`` beside the optimiser is a setting of it, where the optimiser is not a record already."""
        if not isinstance(values, dict) or "weight_decay" not in values:
            return values
        rest = {name: value for name, value in values.items() if name != "weight_decay"}
        given = rest.get("optimiser", "sgd")
        table = {"kind": given} if isinstance(given, str) else given
        if not isinstance(table, dict) or "weight_decay" in table:
            raise ValueError("'weight_decay' is given twice, or beside a finished optimiser: give it once")
        return rest | {"optimiser": {**table, "weight_decay": values["weight_decay"]}}

    @model_validator(mode="before")
    @classmethod
    def _rule_is_an_optimiser(cls, values: Any) -> Any:
        """``rule``, a function, a name, or a table with a name and options, stands for an optimiser of that kind."""
        if not isinstance(values, dict) or "rule" not in values:
            return values
        rest = {name: value for name, value in values.items() if name != "rule"}
        if "optimiser" in rest:
            raise ValueError("'rule' and 'optimiser' both say how weights change: give one of them")
        given = values["rule"]
        table = given if isinstance(given, dict) else {"name": given}
        options = {name: value for name, value in table.items() if name != "name"}
        return rest | {"optimiser": {"kind": "rule", "name": table.get("name"), "options": options}}

    @field_validator("schedule", mode="before")
    @classmethod
    def _schedule(cls, value: Any) -> Any:
        return Schedule.parse(value)

    @field_validator("optimiser", mode="before")
    @classmethod
    def _optimiser(cls, value: Any) -> Any:
        return Optimiser.parse(value)

    @field_validator("label_noise", "input_noise", mode="before")
    @classmethod
    def _noise(cls, value: Any) -> Any:
        return None if value is None else Noise.parse(value)

    @field_validator("input_noise")
    @classmethod
    def _not_flipped(cls, noise: Noise | None) -> Noise | None:
        if isinstance(noise, Flips):
            raise ValueError("flips change labels, not inputs: use gaussian or student-t noise")
        return noise

    @field_validator("stop", mode="before")
    @classmethod
    def _stop(cls, value: Any) -> Any:
        return stopping.parse(value)

    @field_validator("frozen", mode="before")
    @classmethod
    def _several_layers(cls, frozen: Any) -> Any:
        return (frozen,) if isinstance(frozen, int) and not isinstance(frozen, bool) else frozen

    @model_validator(mode="after")
    def _one_length(self) -> "Training":
        if (self.steps is None) == (self.epochs is None):
            both = "" if self.steps is None else ", not both"
            raise ValueError(f"give 'steps' or 'epochs' in the training{both}")
        if self.sampling == "online" and (self.steps is None or self.batch == "all"):
            raise ValueError("sampling 'online' has no epochs and no full batch: give 'steps' and a number for 'batch'")
        if isinstance(self.optimiser, GradientFlow) and self.batch != "all":
            raise ValueError("'gradient-flow' follows the gradient over all samples: give batch 'all'")
        if self.temperature != 1 and self.loss != "soft-cross-entropy":
            raise ValueError(f"'temperature' belongs to the loss 'soft-cross-entropy', not to '{self.loss}'")
        if self.curriculum and (self.sampling != "replacement" or self.batch == "all"):
            raise ValueError(
                "'curriculum' picks the rows of a batch: give sampling 'replacement' and a number for 'batch'"
            )
        return self

    def uses(self) -> tuple[Any, ...]:
        """The function of the loss, whose plugin enters the hash."""
        return (LOSSES[self.loss],) if self.loss in LOSSES else ()

    @property
    def own_function(self) -> str | None:
        """What of this training is a function that some engines cannot call, in a phrase."""
        for name in _FUNCTIONS:
            if called := getattr(self, name):
                return f"the {name} '{called.name}'"
        return f"the loss '{self.loss}'" if self.loss in LOSSES else None

    @property
    def plain(self) -> bool:
        """Whether a step is nothing but the gradient of the loss times the learning rate."""
        return self.optimiser.plain and self.gradient is None

    @property
    def unusual(self) -> str | None:
        """What sets this training apart from plain SGD on the squared error of a fixed set, in a phrase."""
        if self.own_function:
            return self.own_function
        if self.loss != "mse":
            return f"the loss {self.loss}"
        if self.generated:
            return "samples or noise that are drawn at every step"
        if self.layer_rates is not None or self.frozen or self.parameterisation != "standard":
            return "learning rates that differ from layer to layer"
        return None if self.optimiser.plain else f"{self.optimiser.kind} with momentum, decay or memory"

    @property
    def generated(self) -> bool:
        """Whether samples, or noise on them, are drawn at every step."""
        return self.sampling == "online" or any(n is not None and n.fresh for n in (self.label_noise, self.input_noise))

    def layer_factors(self, widths: tuple[int, ...]) -> list[tuple[float, float]]:
        """Factors on the learning rate of weights and biases of every layer; 0 for frozen layers.

        >>> Training(steps=1, frozen=(-1,), layer_rates=(2.0, 1.0)).layer_factors((5, 4, 1))
        [(2.0, 2.0), (0.0, 0.0)]
        """
        layers = len(widths) - 1
        given = self.layer_rates or (1.0,) * layers
        if len(given) != layers:
            raise TutelageError(f"layer_rates has {len(given)} entries for {layers} layers: give one per layer")
        for layer in self.frozen:
            if not 1 <= (layer if layer > 0 else layers + 1 + layer) <= layers:
                raise TutelageError(f"frozen names layer {layer}: layers are 1 to {layers}, or -1 for the last one")
        still = {layer if layer > 0 else layers + 1 + layer for layer in self.frozen}
        factors = rate_factors(self.parameterisation, widths, isinstance(self.optimiser, Adam))
        return [
            (0.0, 0.0) if layer in still else (weight * given[layer - 1], bias * given[layer - 1])
            for layer, (weight, bias) in enumerate(factors, start=1)
        ]

    @property
    def rate(self) -> float:
        """The learning rate, for trainers that have one for all members."""
        if isinstance(self.learning_rate, tuple):
            raise TutelageError(f"learning_rate must be one number, got {len(self.learning_rate)}")
        return self.learning_rate

    def batch_size(self, samples: int) -> int:
        """Samples of a batch, of so many in all; an error where the batch is drawn without replacement and larger."""
        if self.batch == "all":
            return samples
        if self.sampling == "epochs" and self.batch > samples:
            raise TutelageError(
                f"a batch of {self.batch} without replacement needs as many samples; there are {samples}"
            )
        return self.batch

    def length(self, samples: int) -> int:
        """Number of steps: as given, or that of the epochs, whose incomplete last batches are left out.

        >>> Training(epochs=3, batch=4).length(samples=11)
        6
        """
        if self.steps is not None:
            return self.steps
        assert self.epochs is not None
        return self.epochs * self.per_epoch(samples)

    def per_epoch(self, samples: int) -> int:
        """Steps of an epoch, at least one."""
        return max(1, samples // self.batch_size(samples))

    def factors(self, steps: np.ndarray, total: int, per_epoch: int) -> np.ndarray:
        """The schedule's factor at each of the given steps of ``total``: [T] -> float64 [T]."""
        return self.schedule.in_steps(per_epoch).over(steps, total)

    def rates(self, total: int, per_epoch: int = 1) -> Iterator[float]:
        """The learning rate of every step of ``total``, in order, for trainers that have one for all members."""
        for start in range(0, total, _SPAN):
            steps = np.arange(start, min(start + _SPAN, total))
            yield from (self.rate * self.factors(steps, total, per_epoch)).tolist()


def given(settings: Training | None, named: dict[str, Any], **defaults: Any) -> Training:
    """Settings as one record, or those given by name and the defaults for the others; an error for both."""
    if settings is not None and named:
        raise TutelageError(f"give the training as settings or by name, not both: {', '.join(named)} would be dropped")
    if settings is not None:
        return settings
    if {"steps", "epochs"} & set(named):
        defaults = {name: value for name, value in defaults.items() if name not in ("steps", "epochs")}
    return Training(**(defaults | named))


def set_rate(rate: float, *optimisers: torch.optim.Optimizer) -> None:
    """Set the learning rate of the steps to come."""
    for group in (group for optimiser in optimisers for group in optimiser.param_groups):
        if isinstance(group["lr"], torch.Tensor):
            group["lr"].fill_(rate)
        else:
            group["lr"] = rate


@dataclass(frozen=True)
class Supported:
    """What of a :class:`Training` a trainer supports, by kind or value; None: all of it.

    losses: besides the default, which leaves the loss to the trainer where it has an objective of its own.
    """

    trainer: str
    length: Literal["steps", "epochs"]
    sampling: Literal["replacement", "epochs"]
    losses: Sequence[Loss] | None = ()
    schedules: Sequence[str] | None = None
    optimisers: Sequence[str] | None = None
    whole_batch: bool = False
    mixed_precision: bool = False

    def check(self, settings: Training) -> None:
        """Raise an error that names the first setting that is not supported."""
        if getattr(settings, self.length) is None:
            other = "epochs" if self.length == "steps" else "steps"
            self._fail(other, getattr(settings, other), [self.length])
        if settings.batch == "all" and not self.whole_batch:
            self._fail("batch", settings.batch, ["a number"])
        if isinstance(settings.learning_rate, tuple):
            self._fail("learning_rate", settings.learning_rate, ["one number"])
        self._among("sampling", settings.sampling, [self.sampling])
        if "loss" in settings.model_fields_set:
            self._among("loss", settings.loss, self.losses)
        self._among("schedule", settings.schedule.kind, self.schedules)
        self._among("optimiser", settings.optimiser.kind, self.optimisers)
        if settings.mixed_precision and not self.mixed_precision:
            self._fail("mixed_precision", True, ["False"])
        for name in (
            "temperature",
            "label_noise",
            "input_noise",
            "layer_rates",
            "frozen",
            "parameterisation",
            "stop",
            *_FUNCTIONS,
        ):
            default = Training.model_fields[name].default
            if getattr(settings, name) != default:
                self._fail(name, getattr(settings, name), [repr(default)])

    def _among(self, name: str, value: str, allowed: Sequence[str] | None) -> None:
        if allowed is not None and value not in allowed:
            self._fail(name, value, [repr(choice) for choice in allowed])

    def _fail(self, name: str, value: Any, instead: Sequence[str]) -> None:
        use = f"use {' or '.join(instead)}" if instead else f"leave {name} out"
        raise TutelageError(f"Training.{name}={value!r} is not supported by {self.trainer}: {use}")
