"""The spec of a pack: everything that decides a result, frozen, checked, hashable, written as YAML."""

import hashlib
import json
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import NonNegativeInt, PositiveInt, field_validator, model_validator

from tutelage.errors import Refusal
from tutelage.inputs import Law
from tutelage.measures import MEASURES, STANDARD, find
from tutelage.networks import Student
from tutelage.plugins import describe, digests
from tutelage.runs.yaml_file import read_table
from tutelage.settings import Recipe, Settings, per_member
from tutelage.teachers import Teacher
from tutelage.training import Training

MEMBERS = 1_000_000
"""The most members of one pack."""

_RECORDED = 1_000_000  # the most recorded steps
_NUMBERS = 2**36  # the most numbers of one student or one set of points, 256 GiB in single precision


class Record(Settings):
    """What is recorded: measures at step 0, at the last step, at ``every`` so many steps and at the steps ``at``."""

    every: PositiveInt | None = None
    at: tuple[NonNegativeInt, ...] = ()
    measures: tuple[str, ...] = STANDARD
    weights: Literal["last", "all", "none"] = "last"

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
        count = len(value) if isinstance(value, list | tuple | range) else value
        if isinstance(count, int) and not isinstance(count, bool) and not 1 <= count <= MEMBERS:
            raise ValueError(f"at least one seed is needed, and at most {MEMBERS:,} in one pack")
        if isinstance(value, int) and not isinstance(value, bool):
            return tuple(range(value))
        return tuple(value) if isinstance(value, range) else value

    @model_validator(mode="after")
    def _fits(self) -> "Spec":
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError("'seeds' must be distinct: a repeated seed is the same member twice")
        for settings, name in ((self.training, "learning_rate"), (self.teacher, "polarity")):
            if hasattr(settings, name):
                per_member(getattr(settings, name), len(self.seeds), name)
        steps, record = self.training.steps, self.record
        if any(step > steps for step in record.at):
            raise ValueError(f"'record.at': a recorded step lies beyond the {steps} steps of training")
        if record.every and steps // record.every > _RECORDED:
            raise ValueError(f"'record.every': more than {_RECORDED:,} steps would be recorded, give a larger number")
        return self

    @model_validator(mode="after")
    def _can_be_held(self) -> "Spec":
        """Numbers that no machine holds are a slip of the keyboard, and refused before they are asked for."""
        teacher = self.teacher.widths()
        points = max(self.inputs.train, self.inputs.evaluate) * (teacher[0] + teacher[-1])
        if points > _NUMBERS:
            raise ValueError(f"'inputs': the points and labels of one member are {points:.2g} numbers, give fewer")
        try:
            widths = self.student.widths(teacher)
        except OverflowError:  # the rounded width is infinite
            raise ValueError("'student': its layers are too wide to be counted, give a smaller multiple") from None
        for name, layers in (("teacher", teacher), ("student", widths)):
            weights = sum((a + 1) * b for a, b in pairwise(layers))
            if weights > _NUMBERS:
                raise ValueError(f"'{name}': a network of {weights:.2g} weights is too large, give smaller widths")
        return self

    @property
    def hash(self) -> str:
        """Sixteen hexadecimal digits that name the result; settings at their default do not enter.

        So a setting added later, whose default changes nothing, leaves the hash of every older spec as it was. Where
        a kind or a measure comes from a user's own file, what that file holds enters as well (:mod:`tutelage.plugins`).
        """
        decides = plain(self)
        if used := digests(self.recipes(), self.record.measures):
            decides["plugins"] = used
        text = json.dumps(decides, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def recipes(self) -> tuple[Recipe, ...]:
        """The recipes of a spec: teacher, student, law of the inputs, schedule of the learning rate, optimiser."""
        return self.teacher, self.student, self.inputs, self.training.schedule, self.training.optimiser


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
    """The spec as YAML that :func:`from_yaml` reads back to the same hash; plugins it needs stand in a comment."""
    needs = "".join(f"# needs --with {name}\n" for name in describe(digests(spec.recipes(), spec.record.measures)))
    return needs + yaml.safe_dump(plain(spec), sort_keys=False)


def from_yaml(path: str | Path) -> Spec:
    """Read a spec; anything wrong is one sentence that names the file and the setting."""
    values = read_table(path)
    if "grid" in values or "zip" in values:
        raise Refusal(f"{path} makes several packs, with its grid or zip: read it with read_experiment")
    try:
        return Spec(**values)
    except Refusal as refusal:
        raise Refusal(f"{path}: {refusal}") from None
