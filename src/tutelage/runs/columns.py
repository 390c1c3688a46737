"""The settings of a pack as columns of a table, read from plain data: a hundred thousand packs in a few seconds.

Specs are not built for this. Settings that a pack leaves at their default come from the recipe of their kind, and
stay empty where that kind is not known here; settings that are not what they should be stay empty too.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import pyarrow as pa

from tutelage.inputs import Law
from tutelage.networks import Student
from tutelage.runs.spec import Record, Spec
from tutelage.settings import Recipe, Settings
from tutelage.teachers import Teacher
from tutelage.training import Training
from tutelage.training.schedules import Schedule

_SURROGATE = re.compile(r"[\ud800-\udfff]")  # half a character, which JSON can write and UTF-8 cannot

PER_MEMBER = ("polarity", "learning_rate")
"""Settings that may differ from member to member; a list stands in a column of its own, ``polarity_of`` and so on."""

SETTINGS = pa.schema(
    {
        "teacher_kind": pa.string(),
        "student_kind": pa.string(),
        "inputs_kind": pa.string(),
        "dimension": pa.int64(),
        "hidden": pa.int64(),
        "hidden_layers": pa.int64(),
        "outputs": pa.int64(),
        "polarity": pa.float64(),
        "multiple": pa.float64(),
        "scale": pa.float64(),
        "activation": pa.string(),
        "std": pa.float64(),
        "samples": pa.int64(),
        "evaluate_samples": pa.int64(),
        "steps": pa.int64(),
        "batch": pa.int64(),
        "sampling": pa.string(),
        "schedule": pa.string(),
        "learning_rate": pa.float64(),
        "precision": pa.string(),
        "members": pa.int64(),
    }
)
"""Columns that every view has. ``hidden`` is the width of the teacher's first hidden layer."""

DETAILS = pa.schema(
    {
        **{f"{name}_of": pa.list_(pa.float64()) for name in PER_MEMBER},
        "seeds": pa.list_(pa.int64()),
        "layout": pa.string(),
    }
)
"""Columns of a pack alone. Packs of one ``layout`` have tables with the same columns."""


def columns(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The values of ``SETTINGS`` and ``DETAILS`` for plain settings, as :func:`tutelage.runs.plain` makes them."""
    teacher, student = _filled(settings.get("teacher"), Teacher), _filled(settings.get("student"), Student)
    inputs, training = _filled(settings.get("inputs"), Law), _filled(settings.get("training"), Training)
    record, schedule = _filled(settings.get("record"), Record), _filled(training.get("schedule"), Schedule)
    hidden, seeds = teacher.get("hidden"), _listed(settings.get("seeds"), _whole)
    hidden = _listed(hidden if isinstance(hidden, list) else [hidden], _whole)
    samples, batch = _whole(inputs.get("train")), training.get("batch")
    precision = text(settings.get("precision", Spec.model_fields["precision"].default))
    values = {
        "teacher_kind": text(teacher.get("kind")),
        "student_kind": text(student.get("kind")),
        "inputs_kind": text(inputs.get("kind")),
        "dimension": _whole(teacher.get("inputs")),
        "hidden": hidden[0] if hidden else None,
        "hidden_layers": len(hidden) if hidden else None,
        "outputs": _whole(teacher.get("outputs")),
        "multiple": number(student.get("multiple")),
        "scale": number(student.get("scale")),
        "activation": text(student.get("activation")),
        "std": number(inputs.get("std")),
        "samples": samples,
        "evaluate_samples": _whole(inputs.get("evaluate")),
        "steps": _whole(training.get("steps")),
        "batch": samples if batch == "all" else _whole(batch),
        "sampling": text(training.get("sampling")),
        "schedule": text(schedule.get("kind")),
        "precision": precision,
        "members": len(seeds) if seeds else None,
        "seeds": seeds,
        "layout": f"{precision} {record.get('measures')} {settings.get('plugins')}",
    }
    for name, section in (("polarity", teacher), ("learning_rate", training)):
        values[name], values[f"{name}_of"] = number(section.get(name)), _listed(section.get(name), number)
    return values


def _filled(section: Any, kind: type[Settings]) -> dict[str, Any]:
    """A section of settings with its defaults, those of its kind where it has one."""
    if section is None:
        section = {}
    if not isinstance(section, dict):
        return {}
    if issubclass(kind, Recipe):
        known = kind.kinds.get(section["kind"]) if isinstance(section.get("kind"), str) else None
        return (_defaults(known) if known else {}) | section
    return _defaults(kind) | section


@lru_cache(maxsize=256)
def _defaults(kind: type[Settings]) -> dict[str, Any]:
    out = {}
    for name, field in kind.model_fields.items():
        if not field.is_required():
            value = field.get_default(call_default_factory=True)
            out[name] = {"kind": value.kind} if isinstance(value, Recipe) else value
    return out


def _whole(value: Any) -> int | None:
    return value if type(value) is int and -(2**63) <= value < 2**63 else None


def number(value: Any) -> float | None:
    """A number as a float, None where it is none."""
    try:
        return float(value) if type(value) in (int, float) else None
    except OverflowError:
        return None


def text(value: Any) -> str | None:
    """A text that a table can hold, None where it is none."""
    return value if isinstance(value, str) and not _SURROGATE.search(value) else None


def _listed(value: Any, one: Callable[[Any], Any]) -> list[Any] | None:
    """A list of values that all are what they should be."""
    if not isinstance(value, list):
        return None
    out = [one(v) for v in value]
    return None if None in out else out
