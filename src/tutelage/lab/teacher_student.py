"""The teacher-student experiment: every setting that decides a result, checked, hashable, written as YAML."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import NonNegativeInt, PositiveInt, field_validator, model_validator

from tutelage.errors import TutelageError
from tutelage.lab.experiment import Experiment
from tutelage.lab.yaml_file import read_table
from tutelage.measures import MEASURES
from tutelage.measures.registry import find
from tutelage.measures.report import STANDARD, applicable
from tutelage.settings import ADDED, Settings, check_per_member, check_seeds
from tutelage.training import Training
from tutelage.training.inputs import Distribution
from tutelage.training.students import Student
from tutelage.training.teachers import Teacher

if TYPE_CHECKING:
    from tutelage.lab.context import Context
    from tutelage.lab.trained_students import TrainedStudents

MEMBERS = 1_000_000
"""The most members of one experiment."""

_RECORDED = 1_000_000  # the most recorded steps
_NUMBERS = 2**36  # the most numbers of one student or one set of points, 256 GiB in single precision


class Record(Settings):
    """What is recorded during training: measures at step 0, at the last step, and in between.

    Parameters
    ----------
    every
        Record after every so many steps.
    at
        Further steps to record.
    measures
        Names of measures.
    weights
        Which weights are stored: "last", "all" recorded steps, or "none".
    """

    every: PositiveInt | None = None
    """Steps between recorded steps; default: only the first and the last step."""
    at: tuple[NonNegativeInt, ...] = ()
    """Further steps to record."""
    measures: tuple[str, ...] = STANDARD
    """Names of the measures to record."""
    weights: Literal["last", "all", "none"] = "last"
    """Which weights to store: of the last step, of all recorded steps, or none."""

    @field_validator("measures")
    @classmethod
    def _known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if not names:
            raise ValueError(f"at least one measure is needed (one of {', '.join(sorted(MEASURES))})")
        for name in names:
            find(name)
            if names.count(name) > 1:
                raise ValueError(f"the measure '{name}' is named twice: name it once")
        return names

    def steps(self, total: int) -> tuple[int, ...]:
        """The recorded steps of a training of ``total``.

        >>> Record(every=40, at=(5,)).steps(100)
        (0, 5, 40, 80, 100)
        """
        regular = range(0, total + 1, self.every) if self.every else ()
        return tuple(sorted({0, total, *regular, *self.at}))


class Later(Settings):
    """A second teacher, whose labels the students see from a step on.

    Parameters
    ----------
    step
        First step with its labels.
    teacher
        Recipe of the teacher, with the layers of the first; its weights come from streams of their own.
    """

    step: PositiveInt
    """First step with the labels of this teacher."""
    teacher: Teacher
    """Recipe of the second teacher, with the layers of the first."""

    @field_validator("teacher", mode="before")
    @classmethod
    def _teacher(cls, value: Any) -> Any:
        return Teacher.parse(value)


class TeacherStudent(Experiment, kind="students", numerics=1):
    """The experiment that trains students on a teacher and measures them; ``tutelage run`` reads it from YAML.

    Every member has its own teacher, student, inputs and batches, drawn from its seed.

    Parameters
    ----------
    teacher, student, inputs
        Recipes of the teachers, of the students and of the input distribution.
    training
        Length, batch, learning rate, schedule, loss and optimiser.
    record
        Steps and measures to record.
    seeds
        A number of members (seeds 0, 1, ...) or a list of distinct seeds. Settings such as the learning rate and the
        polarity may be lists with one value per member.
    precision
        "float32" or "float64".
    later
        A second teacher that takes over at a step. Every measure is then recorded twice, against the first teacher and,
        under a name that ends in ``_2``, against the second.
    """

    reports_shares: ClassVar[bool] = False

    teacher: Teacher
    """Teacher of every member."""
    student: Student
    """Start of every student."""
    inputs: Distribution
    """Distribution of the inputs, and how many points to draw."""
    training: Training
    """Training of the students."""
    record: Record = Record()
    """What to record, and when."""
    seeds: tuple[int, ...]
    """Seeds of the members: a number of members (seeds 0, 1, ...) or a list of seeds."""
    precision: Literal["float32", "float64"] = "float32"
    """Floating-point precision of networks and points."""
    later: Annotated[Later | None, ADDED] = None
    """A second teacher that takes over at a step."""

    @field_validator("teacher", mode="before")
    @classmethod
    def _teacher(cls, value: Any) -> Any:
        return Teacher.parse(value)

    @field_validator("student", mode="before")
    @classmethod
    def _student(cls, value: Any) -> Any:
        return Student.parse(value)

    @field_validator("inputs", mode="before")
    @classmethod
    def _inputs(cls, value: Any) -> Any:
        return Distribution.parse(value)

    @field_validator("seeds", mode="before")
    @classmethod
    def _seeds(cls, value: Any) -> Any:
        count = len(value) if isinstance(value, list | tuple | range) else value
        if isinstance(count, int) and not isinstance(count, bool) and not 1 <= count <= MEMBERS:
            raise ValueError(f"at least one seed is needed, and at most {MEMBERS:,} in one experiment")
        if isinstance(value, int) and not isinstance(value, bool):
            return tuple(range(value))
        return tuple(value) if isinstance(value, range) else value

    @field_validator("seeds")
    @classmethod
    def _no_negative_seed(cls, seeds: tuple[int, ...]) -> tuple[int, ...]:
        return check_seeds(seeds)

    @model_validator(mode="after")
    def _fits(self) -> "TeacherStudent":
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError("'seeds' must be distinct: a repeated seed is the same member twice")
        check_per_member(self, len(self.seeds))
        steps, record = self.steps, self.record
        if not 0 < steps < 2**63:
            raise ValueError(f"'training': there must be 1 to 2^63 steps, got {steps:g}, give other epochs")
        if self.training.mixed_precision:
            raise ValueError("'training.mixed_precision' is not supported by students: use false")
        if any(step > steps for step in record.at):
            raise ValueError(f"'record.at': a recorded step lies beyond the {steps} steps of training")
        if record.every and steps // record.every > _RECORDED:
            raise ValueError(f"'record.every': more than {_RECORDED:,} steps would be recorded, give a larger number")
        return self

    @model_validator(mode="after")
    def _agrees(self) -> "TeacherStudent":
        wanted = getattr(self.student, "parameterisation", self.training.parameterisation)
        if wanted != self.training.parameterisation:
            raise ValueError(
                f"'training.parameterisation' is '{self.training.parameterisation}' and that of the student '{wanted}':"
                " give both the same"
            )
        if self.teacher.kind == "none" and self.training.sampling == "online":
            raise ValueError("'training.sampling' cannot be 'online' without a teacher: use 'replacement' or 'epochs'")
        applicable(self.record.measures, self.teacher.widths())
        return self

    @model_validator(mode="after")
    def _later_fits(self) -> "TeacherStudent":
        if self.later is None:
            return self
        first, second = self.teacher.widths(), self.later.teacher.widths()
        if first != second:
            raise ValueError(
                f"'later.teacher' has the layers {second} and the first teacher {first}: give both the same"
            )
        if self.later.step >= self.steps:
            raise ValueError(f"'later.step' must be below the {self.steps} steps of training, got {self.later.step}")
        if self.training.stop:
            raise ValueError("a stopping rule would end members before the second teacher: leave out 'stop' or 'later'")
        return self

    @model_validator(mode="after")
    def _can_be_held(self) -> "TeacherStudent":
        """Numbers that no machine holds are a slip of the keyboard, and rejected before they are asked for."""
        teacher = self.teacher.widths()
        points = max(self.inputs.train, self.inputs.evaluate) * (teacher[0] + teacher[-1])
        if points > _NUMBERS:
            raise ValueError(f"'inputs': the points and labels of one member are {points:.2g} numbers, give fewer")
        if len(teacher) == 2 and self.student.hidden is None:
            raise ValueError("'student.hidden' is needed: the teacher has no hidden layers whose widths could be used")
        try:
            widths = self.student.widths(teacher)
        except OverflowError:  # the rounded width is infinite
            raise ValueError("'student': its layers are too wide to be counted, give a smaller width_factor") from None
        self.training.layer_factors(widths)  # raises an error where layers are named that are not there
        for name, layers in (("teacher", teacher), ("student", widths)):
            weights = sum((a + 1) * b for a, b in pairwise(layers))
            if weights > _NUMBERS:
                raise ValueError(f"'{name}': a network of {weights:.2g} weights is too large, give smaller widths")
        return self

    @property
    def steps(self) -> int:
        """Steps of the training."""
        return self.training.length(self.inputs.train)

    @property
    def cost(self) -> float:
        """Seconds of one core, roughly."""
        from tutelage.lab.loads import work

        return work(self) / MULTIPLICATIONS

    @classmethod
    def run_all(cls, experiments: Sequence[Experiment], context: "Context") -> Iterator[tuple[Experiment, Any]]:
        """Students of all experiments; on a GPU several experiments are trained in one stack."""
        from tutelage.lab.work import trained

        return trained([e for e in experiments if isinstance(e, TeacherStudent)], context)

    def encode(self, results: Any) -> dict[str, bytes]:
        from tutelage.lab.trained_students import to_files

        return to_files(self, results)

    def decode(self, folder: Path) -> "TrainedStudents":
        from tutelage.lab.trained_students import read_trained

        return read_trained(self, folder)


MULTIPLICATIONS = 1e11
"""What one core does per second, roughly; only progress bars depend on it."""


def from_yaml(path: str | Path) -> TeacherStudent:
    """Read a teacher-student experiment from a YAML file.

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    TeacherStudent
        A :class:`~tutelage.TutelageError` names the file and the setting if anything is wrong.

    Examples
    --------
    >>> import tempfile
    >>> text = '''teacher: {kind: levels, inputs: 5, hidden: 3, outputs: 2}
    ... student: {kind: small-normal}
    ... inputs: {kind: gaussian, train: 50, evaluate: 20}
    ... training: {steps: 100}
    ... seeds: 4
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "a.yaml").write_text(text)
    ...     experiment = from_yaml(Path(folder) / "a.yaml")
    >>> experiment.training.steps, len(experiment.seeds)
    (100, 4)
    """
    values = read_table(path)
    if "grid" in values or "zip" in values:
        raise TutelageError(f"{path} makes several experiments, with its grid or zip: read it with read_experiment")
    values = {name: value for name, value in values.items() if (name, value) != ("kind", TeacherStudent.kind)}
    try:
        return TeacherStudent(**values)
    except TutelageError as error:
        raise TutelageError(f"{path}: {error}") from None
