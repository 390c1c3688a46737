"""How hard a planted teacher is to find: one record of dials, each of which is a setting."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt

from tutelage.errors import TutelageError, unknown
from tutelage.networks.activations import ActivationName
from tutelage.settings import Settings
from tutelage.training import Training
from tutelage.training.inputs import Distribution, Gaussian, GaussianCovariance
from tutelage.training.inputs.sparse_features import SparseFeatures
from tutelage.training.students import SmallNormal, UniformFanIn
from tutelage.training.teachers import Levels

SCORING_POINTS = 5_000
"""Points on which answers are scored; five times those that a method sees, so that their noise decides little."""
_MOMENTUM_FREE_RATE, _BATCH = 0.05, 16


class Difficulty(Settings):
    """Dials of a planted teacher and of the students that learn from it."""

    units: PositiveInt = 8
    """Teacher units per hidden layer."""
    inputs: PositiveInt = 16
    """Inputs, and outputs."""
    depth: PositiveInt = 1
    """Hidden layers."""
    decay: NonNegativeFloat = 1.5
    """Strength decay p: teacher unit j = 1, 2, ... has output weights proportional to 1/j^p."""
    width_factor: PositiveFloat = 3.0
    """Student width over teacher width."""
    covariance: NonNegativeFloat = 0.0
    """Exponent of the input variances: coordinate i = 1, 2, ... has the variance i^-covariance."""
    sparsity: float = Field(default=0.0, ge=0, lt=1)
    """Share of the features that are absent from an input; 0: Gaussian inputs."""
    superposition: PositiveFloat = 1.0
    """Sparse features (teacher units) per student unit, beside ``width_factor``; above 1 only with ``sparsity``."""
    noise: NonNegativeFloat = 0.0
    """Standard deviation of the noise on the training labels."""
    steps: PositiveInt = 4_000
    """Training steps."""
    samples: PositiveInt = 1_000
    """Points that a method sees."""
    activation: ActivationName = "relu"
    """Activation of teacher and students."""

    def teacher(self) -> Levels:
        """The recipe of the teachers."""
        hidden = (self.units,) * self.depth
        sizes: dict[str, Any] = {"inputs": self.inputs, "outputs": self.inputs}
        return Levels(hidden=hidden, polarity=self.decay, activation=self.activation, **sizes)

    def student(self) -> SmallNormal | UniformFanIn:
        """The recipe of the students; deep ones start at the usual scale, since small weights vanish with depth."""
        width = max(1, round(self.units * self.width_factor / self.superposition))
        shape: dict[str, Any] = {"hidden": (width,) * self.depth, "activation": self.activation}
        return SmallNormal(scale=0.1, **shape) if self.depth == 1 else UniformFanIn(**shape)

    def distribution(self) -> Distribution:
        """The recipe of the inputs: training points, and points to score on."""
        counts: dict[str, Any] = {"train": max(self.samples, 4_000), "evaluate": SCORING_POINTS}
        if self.sparsity or self.superposition > 1:
            return SparseFeatures(sparsity=self.sparsity, **counts)
        if self.covariance:
            return GaussianCovariance(decay=self.covariance, **counts)
        return Gaussian(**counts)

    def training(self) -> Training:
        """The settings of the training."""
        noise: dict[str, Any] = {"label_noise": self.noise} if self.noise else {}
        return Training(steps=self.steps, batch=_BATCH, learning_rate=_MOMENTUM_FREE_RATE, **noise)


DIALS: dict[str, tuple[float | str, ...]] = {
    "decay": (0.0, 1.0, 1.5, 2.0, 3.0),
    "width_factor": (1.0, 2.0, 3.0, 6.0),
    "depth": (1, 2),
    "covariance": (0.0, 1.0, 2.0),
    "sparsity": (0.0, 0.5, 0.9),
    "superposition": (1.0, 3.0, 6.0),
    "noise": (0.0, 0.1, 0.5),
    "steps": (400, 1_000, 4_000, 16_000),
    "samples": (50, 200, 1_000),
    "activation": ("relu", "leaky", "tanh"),
}
"""Every dial of a power curve with the values it is turned to."""

SPARSE = 0.9
"""Sparsity of the features where superposition is turned."""


def turned(base: Difficulty, dial: str, value: Any) -> Difficulty:
    """A difficulty with one dial at another value.

    >>> turned(Difficulty(), "superposition", 3.0)
    Difficulty(sparsity=0.9, superposition=3.0)
    """
    if dial not in Difficulty.model_fields:
        raise unknown("dial", dial, Difficulty.model_fields)
    changed = {dial: value} | ({"sparsity": SPARSE} if dial == "superposition" and not base.sparsity else {})
    return Difficulty(**{**base.model_dump(), **changed})


def parse(texts: Sequence[str]) -> dict[str, tuple[Any, ...]]:
    """Dials as they are typed: ``decay=0,1,2`` -> values by dial.

    >>> parse(["decay=0,2", "activation=tanh"])
    {'decay': (0.0, 2.0), 'activation': ('tanh',)}
    """
    out: dict[str, tuple[Any, ...]] = {}
    for text in texts:
        dial, equals, values = text.partition("=")
        if dial not in Difficulty.model_fields:
            raise unknown("dial", dial, Difficulty.model_fields)
        if not equals or not all(values.split(",")):
            raise TutelageError(f"--difficulty must be DIAL=VALUE[,VALUE...], as in decay=0,1,2, got '{text}'")
        out[dial] = tuple(_read(dial, value) for value in values.split(","))
    return out


def _read(dial: str, text: str) -> Any:
    if dial == "activation":
        return text
    try:
        return int(text) if Difficulty.model_fields[dial].annotation is int else float(text)
    except ValueError:
        raise TutelageError(f"the dial '{dial}' must be a number, got '{text}'") from None


def sweep(base: Difficulty, dials: Mapping[str, Sequence[Any]]) -> list[tuple[str, Any, Difficulty]]:
    """Dial, value and difficulty of every point of the power curves, one dial turned at a time."""
    return [(dial, value, turned(base, dial, value)) for dial, values in dials.items() for value in values]
