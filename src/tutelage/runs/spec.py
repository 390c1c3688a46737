"""The spec of a pack: everything that decides a result, frozen, checked, hashable, written as YAML."""

import hashlib
import json
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import NonNegativeInt, PositiveInt, field_validator, model_validator

from tutelage.errors import Refusal
from tutelage.inputs import Law
from tutelage.measures import STANDARD, find
from tutelage.networks import Student
from tutelage.settings import Settings, per_member
from tutelage.teachers import Teacher
from tutelage.training import Training


class Record(Settings):
    """What is recorded: measures at step 0, at the last step, at ``every`` so many steps and at the steps ``at``."""

    every: PositiveInt | None = None
    at: tuple[NonNegativeInt, ...] = ()
    measures: tuple[str, ...] = STANDARD
    weights: Literal["last", "all", "none"] = "last"

    @field_validator("measures")
    @classmethod
    def _known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            find(name)
        return names

    def steps(self, total: int) -> tuple[int, ...]:
        """The recorded steps of a training of ``total``.

        >>> Record(every=40, at=(5,)).steps(100)
        (0, 5, 40, 80, 100)
        """
        regular = range(0, total + 1, self.every) if self.every else ()
        return tuple(sorted({0, total, *regular, *self.at}))


class Spec(Settings):
    """One pack of members: S teachers of one kind, a student and inputs for each, one training, one set of measures.

    ``seeds`` is a number of members (seeds 0, 1, ...) or the list of seeds. The learning rate and the polarity may be
    lists with one value a member. Settings that decide nothing about the result (engine, device) are not here.
    """

    teacher: Teacher
    student: Student
    inputs: Law
    training: Training
    record: Record = Record()
    seeds: tuple[int, ...]
    precision: Literal["float32", "float64"] = "float32"

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
        return Law.parse(value)

    @field_validator("seeds", mode="before")
    @classmethod
    def _seeds(cls, value: Any) -> Any:
        if isinstance(value, int) and not isinstance(value, bool):
            if value < 1:
                raise ValueError(f"at least one seed is needed, not {value}")
            return tuple(range(value))
        return tuple(value) if isinstance(value, range) else value

    @model_validator(mode="after")
    def _fits(self) -> "Spec":
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError("seeds must be distinct: a repeated seed is the same member twice")
        for settings, name in ((self.training, "learning_rate"), (self.teacher, "polarity")):
            if hasattr(settings, name):
                per_member(getattr(settings, name), len(self.seeds), name)
        if any(step > self.training.steps for step in self.record.at):
            raise ValueError(f"a recorded step lies beyond the {self.training.steps} steps of training")
        return self

    @property
    def hash(self) -> str:
        """Sixteen hexadecimal digits that name the result; settings at their default do not enter.

        So a setting added later, whose default changes nothing, leaves the hash of every older spec as it was.
        """
        text = json.dumps(plain(self), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def plain(settings: Settings) -> dict[str, Any]:
    """Settings as plain data, kinds and whatever differs from its default."""
    out: dict[str, Any] = {}
    for name, field in type(settings).model_fields.items():
        value = getattr(settings, name)
        if name != "kind" and value == field.get_default(call_default_factory=True):
            continue
        out[name] = plain(value) if isinstance(value, Settings) else _listed(value)
    return out


def _listed(value: Any) -> Any:
    return [_listed(v) for v in value] if isinstance(value, tuple) else value


def to_yaml(spec: Spec) -> str:
    """The spec as YAML that :func:`from_yaml` reads back to the same hash."""
    return yaml.safe_dump(plain(spec), sort_keys=False)


def from_yaml(path: str | Path) -> Spec:
    """Read a spec; anything wrong is one sentence that names the file and the setting."""
    path = Path(path)
    try:
        values = yaml.safe_load(path.read_text())
    except OSError as error:
        raise Refusal(f"{path} cannot be read ({error.strerror})") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        where = getattr(error, "problem_mark", None)
        raise Refusal(f"{path} is not valid YAML{f' at line {where.line + 1}' if where else ''}") from None
    if not isinstance(values, dict):
        raise Refusal(f"{path} must hold a table with teacher, student, inputs, training and seeds")
    if not all(isinstance(name, str) for name in values):
        raise Refusal(f"{path} has a setting whose name is not text")
    try:
        return Spec(**values)
    except Refusal as refusal:
        raise Refusal(f"{path}: {refusal}") from None
