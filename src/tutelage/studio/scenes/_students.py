"""Settings and state of the scene of trained students: an experiment, its teachers, inputs and students."""

import threading
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch
from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, model_validator

from tutelage.lab import Record, TeacherStudent, build
from tutelage.measures.registry import find
from tutelage.measures.report import observe
from tutelage.measures.snapshot import Snapshot, slices
from tutelage.networks import Network
from tutelage.settings import Settings
from tutelage.training import Training
from tutelage.training import inputs as distributions
from tutelage.training.engine import Engine, choose
from tutelage.training.inputs import Inputs
from tutelage.training.make_task import make_task
from tutelage.training.stepping import LearningStudents
from tutelage.training.students import SmallNormal
from tutelage.training.task import Task
from tutelage.training.teachers import Levels

UNITS = 100_000
"""The most student units of all members together."""
_NUMBERS = 1 << 26  # the most numbers of all inputs
LOSS = "evaluate_loss"
SHOWN = ("correlation", "fan_out")
"""Measures that frames are made from; the loss costs as much again and is measured at the marks alone."""
MARKED = (LOSS, "best_correlation")
MEASURES = (LOSS, "best_correlation", "strength", "specialisation", "best_teacher", "fan_out")
"""Measures of the experiment."""

_About = dict[str, Any]
_TEACHER, _STUDENTS, _INPUTS, _TRAINING = (_About(group=name) for name in ("Teacher", "Students", "Inputs", "Training"))
_LIVE = _TRAINING | {"live": True}  # may change on the way


class StudentsSettings(Settings):
    """Settings of the scene Specialisation; :meth:`experiment` is the same as an experiment."""

    units: int = Field(10, ge=1, le=200, json_schema_extra=_TEACHER)
    """Hidden units of the teacher."""
    polarity: NonNegativeFloat = Field(
        1.0, le=5, json_schema_extra=_TEACHER | {"step": 0.25, "label": "strength decay"}
    )
    """Strength decay p: the strength of unit j is proportional to 1/(j+1)^p."""
    outputs: int = Field(10, ge=1, le=200, json_schema_extra=_TEACHER)
    """Outputs of the teacher."""
    bias: float = Field(-0.1, ge=-3, le=3, json_schema_extra=_TEACHER | {"step": 0.1})
    """Bias of the teacher's hidden units."""
    levels: Literal["five", "wide"] = Field("five", json_schema_extra=_TEACHER | {"label": "weight levels"})
    """Values of the teacher's weights: -0.5 to 0.5, or -1 to 1, in five levels."""
    width_factor: float = Field(5.0, ge=1, le=100, json_schema_extra=_STUDENTS | {"step": 1})
    """Student width over teacher width."""
    members: int = Field(16, ge=1, le=1024, json_schema_extra=_STUDENTS | {"label": "students"})
    """Number of students; each has its own seed, teacher, inputs and batches."""
    seed: NonNegativeInt = Field(0, le=10**9, json_schema_extra=_STUDENTS | {"label": "first seed"})
    """Seed of the first student; the others follow."""
    scale: PositiveFloat = Field(
        0.005, le=10, json_schema_extra=_STUDENTS | {"step": 0.005, "label": "weights at the start"}
    )
    """Standard deviation of the students' weights at the start."""
    dimension: int = Field(20, ge=1, le=500, json_schema_extra=_INPUTS)
    """Number of inputs d."""
    distribution: Literal["gaussian", "uniform", "sphere", "correlated-gaussian", "student-t"] = Field(
        "gaussian", json_schema_extra=_INPUTS
    )
    """Distribution of the inputs."""
    spread: PositiveFloat = Field(1.5, le=100, json_schema_extra=_INPUTS | {"step": 0.1})
    """Standard deviation, half width or radius of the inputs."""
    train: int = Field(2000, ge=1, le=100_000, json_schema_extra=_INPUTS | {"label": "training points"})
    """Training points per student."""
    evaluate: int = Field(256, ge=2, le=20_000, json_schema_extra=_INPUTS | {"label": "evaluation points"})
    """Points on which losses and correlations are measured."""
    learning_rate: PositiveFloat = Field(0.05, le=1000, json_schema_extra=_LIVE | {"step": 0.005})
    """Learning rate."""
    batch: int = Field(16, ge=1, le=4096, json_schema_extra=_LIVE)
    """Samples per step."""
    optimiser: Literal["sgd", "momentum", "adam"] = Field("sgd", json_schema_extra=_LIVE)
    """Plain SGD, SGD with momentum 0.9, or Adam."""
    noise: NonNegativeFloat = Field(0.0, le=100, json_schema_extra=_LIVE | {"step": 0.1, "label": "label noise"})
    """Standard deviation of the noise on every label; each training point keeps its noise."""
    steps: int = Field(20_000, ge=1, le=1_000_000, json_schema_extra=_TRAINING)
    """Length of the training."""
    every: int = Field(20, ge=1, le=10_000, json_schema_extra=_TRAINING | {"label": "steps per tick"})
    """Steps between two places of the timeline."""

    @model_validator(mode="after")
    def _fits(self) -> "StudentsSettings":
        total = self.members * round(self.units * self.width_factor)
        if total > UNITS:
            raise ValueError(
                f"{self.members} students with {total // self.members:,} units each are {total:,} units, and the page "
                f" shows at most {UNITS:,}: lower students, units or width_factor"
            )
        points = self.members * (self.train + self.evaluate) * (self.dimension + self.outputs)
        if points > _NUMBERS:
            raise ValueError(
                f"the inputs of all students are {points:.2g} numbers, at most {_NUMBERS:.2g} are allowed: lower "
                "students, training points or dimension"
            )
        if self.dimension == 1 and self.units > 2:
            raise ValueError(
                f"a teacher with one input has at most 2 units that differ, got {self.units}: raise dimension"
            )
        return self

    def training(self) -> Training:
        """Training settings."""
        adam = {"kind": "adam"}
        momentum = {"kind": "sgd", "momentum": 0.9}
        optimiser = {"sgd": {"kind": "sgd"}, "momentum": momentum, "adam": adam}[self.optimiser]
        noise = {"label_noise": {"kind": "gaussian", "std": self.noise}} if self.noise else {}
        return Training(
            steps=self.steps, batch=self.batch, learning_rate=self.learning_rate, optimiser=optimiser, **noise
        )  # fmt: skip

    def experiment(self) -> TeacherStudent:
        """The same as an experiment that records at every mark of the timeline."""
        spread = {"gaussian": "std", "correlated-gaussian": "std", "uniform": "half_width", "sphere": "radius"}
        inputs = {"kind": self.distribution, "train": self.train, "evaluate": self.evaluate}
        levels = (-1.0, -0.5, 0.0, 0.5, 1.0) if self.levels == "wide" else (-0.5, -0.25, 0.0, 0.25, 0.5)
        return TeacherStudent(
            teacher=Levels(
                inputs=self.dimension, hidden=self.units, outputs=self.outputs, polarity=self.polarity, bias=self.bias,
                levels=levels,
            ),
            student=SmallNormal(width_factor=self.width_factor, scale=self.scale),
            inputs=distributions.Distribution.parse(inputs | {spread.get(self.distribution, "scale"): self.spread}),
            training=self.training(),
            record=Record(every=max(1, self.ticks // 100) * self.every, measures=MEASURES),
            seeds=tuple(range(self.seed, self.seed + self.members)),
        )  # fmt: skip

    @property
    def ticks(self) -> int:
        """Places of the timeline."""
        return -(-self.steps // self.every)

    def step(self, tick: int) -> int:
        """The step at a tick."""
        return min(tick * self.every, self.steps)


class Observer:
    """Takes the same measures of students at any step, in any thread.

    Parameters
    ----------
    teacher, students, inputs
        The teachers, students that learn from them, and the points.
    names
        Measures.
    """

    def __init__(self, teacher: Network, students: Network, inputs: Inputs, names: tuple[str, ...]) -> None:
        self._names, self._measures = names, [find(name) for name in names]
        self._snapshots = list(slices(teacher, students, inputs))
        self._lock = threading.Lock()  # snapshots are renewed in place

    def __call__(self, students: Network) -> dict[str, np.ndarray]:
        with self._lock:
            return dict(zip(self._names, observe(self._snapshots, students, self._measures), strict=True))


@dataclass(frozen=True, eq=False)
class World:
    """What all states of a course share: teachers, inputs and what the teachers do on them."""

    experiment: TeacherStudent
    teacher: Network
    inputs: Inputs
    strength: np.ndarray
    shown: Observer
    marked: Observer

    @classmethod
    def of(cls, settings: StudentsSettings) -> tuple["World", Network]:
        """The world of these settings, and its students at the start."""
        experiment = settings.experiment()
        teacher, students, inputs = build(experiment)
        shown, marked, strength = (Observer(teacher, students, inputs, n) for n in (SHOWN, MARKED, ("strength",)))
        return cls(experiment, teacher, inputs, strength(students)["strength"], shown, marked), students


@dataclass(frozen=True, eq=False)
class StudentsState:
    """Students at a step; measured once, when first looked at."""

    world: World
    trained: LearningStudents
    _maps: dict[int, np.ndarray] = field(default_factory=dict)

    @classmethod
    def start(cls, settings: StudentsSettings) -> "StudentsState":
        world, students = World.of(settings)
        return cls(world, LearningStudents(*_task(world, settings, students), students))

    @property
    def students(self) -> Network:
        return self.trained.students

    def advanced(self, stop: int) -> "StudentsState":
        """The students some steps later; these stay as they are."""
        trained = self.trained.copied()
        trained.advance(stop)
        return StudentsState(self.world, trained)

    def changed(self, settings: StudentsSettings) -> "StudentsState":
        """The same students with another training from here on."""
        return StudentsState(self.world, self.trained.on(*_task(self.world, settings, self.students)))

    @cached_property
    def measured(self) -> dict[str, np.ndarray]:
        """Measures [S, ...] of a frame by name, NaN for members that diverged."""
        return self._look(0)

    def shown(self, member: int) -> dict[str, np.ndarray]:
        """The same, and the correlations of one member's teacher and student units, [m, n]."""
        measured = self.__dict__.get("measured")
        if measured is None or member not in self._maps:  # the map of one member is kept, not those of all
            measured = self.__dict__["measured"] = self._look(member)
        return measured | {"correlation": self._maps[member]}

    def _look(self, member: int) -> dict[str, np.ndarray]:
        """Measure all members, and keep the correlations of one."""
        values = self.world.shown(self.students)
        rho = torch.from_numpy(values["correlation"])
        self._maps.clear()
        self._maps[member] = values["correlation"][member].copy()
        highest, which = rho.max(1)
        measured = {
            "best_correlation": rho.amax(2).numpy(), "strength": self.world.strength, "specialisation": highest.numpy(),
            "best_teacher": which.numpy(), "fan_out": values["fan_out"],
        }  # fmt: skip
        return {name: self._without_lost(value) for name, value in measured.items()}

    @cached_property
    def marked(self) -> dict[str, np.ndarray]:
        """Losses on the evaluation points [S] and best correlations [S, m], NaN for members that diverged."""
        return {name: self._without_lost(value) for name, value in self.world.marked(self.students).items()}

    def _without_lost(self, value: np.ndarray) -> np.ndarray:
        value = value.astype(np.float32)
        value[self.lost] = np.nan
        return value

    def correlation(self, member: int) -> np.ndarray:
        """Correlations of one member's teacher and student units, [m, n], whether or not it diverged."""
        chosen = slice(member, member + 1)
        snapshot = Snapshot(
            self.world.teacher[chosen],
            self.students[chosen],
            self.world.inputs.train[chosen],
            self.world.inputs.evaluate[chosen],
        )
        with torch.no_grad():
            return find("correlation")(snapshot)[0].numpy()

    @property
    def lost(self) -> np.ndarray:
        """Members that diverged, bool [S]."""
        return (self.trained.diverged_at >= 0).numpy()

    @property
    def bytes(self) -> int:
        """Bytes of the weights and of what the optimiser remembers."""
        weights = sum(a.numel() * a.element_size() for a in self.students.parameters)
        return weights * (1 + self.trained.task.training.optimiser.slots)


def _task(world: World, settings: StudentsSettings, students: Network) -> tuple[type[Engine], Task]:
    """The engine and the task that these settings ask for."""
    task = make_task(students, world.teacher, world.inputs, settings.training())
    return choose("auto", students, task)[0], task


def live_fields() -> set[str]:
    """Settings that may change on the way."""
    extra: dict[str, Any] = {n: f.json_schema_extra or {} for n, f in StudentsSettings.model_fields.items()}
    return {name for name, about in extra.items() if about.get("live")}
