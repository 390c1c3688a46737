"""Experiments: a spec whose settings may vary, written as one YAML file, read as a list of specs.

Besides the sections of a spec an experiment may have two tables. ``grid`` gives settings lists of values, by dotted
name, and every combination is a pack; the lists of ``zip`` have one length, and are gone through side by side::

    grid: {student.multiple: [1, 2, 5], teacher.polarity: [0, 1]}    # six packs
    zip: {training.steps: [1000, 4000], record.every: [100, 400]}    # twelve, with both

Packs come in the order of the file: the first setting of the grid varies slowest, the zip fastest. A file without
either is one spec, with the hash it always had.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice, product
from pathlib import Path
from typing import Any

from tutelage.errors import Refusal, unknown
from tutelage.lab.loads import packs_of
from tutelage.lab.spec import Spec
from tutelage.lab.yaml_file import read_table
from tutelage.settings import Recipe, Settings, one_line

LIMIT = 10_000
"""Packs of one experiment, unless told otherwise."""

_STUDENTS = 1_000  # of a pack, at the limit of packs: the most members of all packs together is the product


@dataclass(frozen=True)
class ExperimentSize:
    """How much an experiment is: packs, students, and the steps that all students take together."""

    packs: int
    students: int
    student_steps: int

    def __str__(self) -> str:
        counts = (self.packs, "pack"), (self.students, "student"), (self.student_steps, "student-step")
        return ", ".join(f"{_count(n)} {word}{'s' if n != 1 else ''}" for n, word in counts)


def size(specs: Sequence[Spec]) -> ExperimentSize:
    """The size of all specs together, cut into packs."""
    students = [len(spec.seeds) for spec in specs]
    steps = sum(n * s.steps for n, s in zip(students, specs, strict=True))
    return ExperimentSize(sum(len(packs_of(s)) for s in specs), sum(students), steps)


def read_experiment(path: str | Path, limit: int = LIMIT) -> list[Spec]:
    """The specs of an experiment, in its order; more than ``limit`` are refused, and so is whatever is wrong.

    Every refusal is one sentence with the name of the file and of the setting.
    """
    values = read_table(path)
    try:
        return _specs(values, limit)
    except Refusal as refusal:
        raise Refusal(f"{path}: {one_line(str(refusal))}") from None


def settings_of(model: type[Settings] = Spec, prefix: str = "") -> Iterator[tuple[str, type[Settings], str]]:
    """Every setting of a spec: its dotted name, the class that has it, its name there; of recipes, those of all kinds.

    >>> ("student.scale", "SmallNormal") in [(dotted, owner.__name__) for dotted, owner, _ in settings_of()]
    True
    """
    for name, field in model.model_fields.items():
        dotted, inner = f"{prefix}{name}", field.annotation
        yield dotted, model, name
        if isinstance(inner, type) and issubclass(inner, Recipe):
            for _, kind in sorted(inner.kinds.items()):
                yield from settings_of(kind, f"{dotted}.")
        elif isinstance(inner, type) and issubclass(inner, Settings):
            yield from settings_of(inner, f"{dotted}.")


def _specs(values: dict[str, Any], limit: int) -> list[Spec]:
    values = dict(values)
    if values.pop("kind", Spec.kind) != Spec.kind:
        raise Refusal(f"'kind' of an experiment to run from a file must be {Spec.kind}")
    base = {name: value for name, value in values.items() if name not in ("grid", "zip")}
    if len(base) == len(values):
        return [Spec(**base)]
    grid, rows = _lists(values, "grid"), _lists(values, "zip")
    _refuse_clashes([*grid, *rows])
    packs = math.prod(len(v) for v in grid.values()) * min((len(v) for v in rows.values()), default=1)
    if packs > limit:
        (first,) = (_spec(base, changes, 1, packs) for changes in islice(_changes(grid, rows), 1))
        students = packs * len(first.seeds)
        raise _too_large(ExperimentSize(packs, students, students * first.steps), limit)
    specs: list[Spec] = []
    students = 0
    for place, changes in enumerate(_changes(grid, rows), start=1):
        specs.append(_spec(base, changes, place, packs))
        students += len(specs[-1].seeds)
        if students > limit * _STUDENTS:
            raise _too_large(size(specs), limit)
    _refuse_repeats(specs, list(_changes(grid, rows)))
    return specs


def _lists(values: dict[str, Any], word: str) -> dict[str, list[Any]]:
    """The table of lists under ``grid`` or ``zip``, every name a setting, every list with values."""
    table = values.get(word, {})
    if not isinstance(table, dict):
        raise Refusal(f"'{word}' must be a table of lists, such as {word}: {{student.multiple: [1, 2, 5]}}")
    known = dict.fromkeys(dotted for dotted, _, _ in settings_of())
    for name, entries in table.items():
        if name not in known:
            raise unknown(f"setting for the {word}", name[:100], _near(name, known))
        if not isinstance(entries, list) or not entries:
            raise Refusal(f"'{name}' in the {word} must be a list of values, such as [1, 2, 5]")
    lengths = {name: len(entries) for name, entries in table.items()}
    if word == "zip" and len(set(lengths.values())) > 1:
        found = ", ".join(f"'{name}' has {length}" for name, length in lengths.items())
        raise Refusal(f"the lists of the zip must have one length, but {found} values")
    return table


def _near(name: str, known: Iterable[str]) -> Iterable[str]:
    """The settings to show beside a name that is none: those of its section, or the nearest one and the sections."""
    section = [k for k in known if k.startswith(f"{name.split('.')[0]}.")]
    return section or {*get_close_matches(name[:100], list(known), n=1), *Spec.model_fields}


def _refuse_clashes(names: Sequence[str]) -> None:
    """A setting is varied once, and not beside the table it stands in."""
    for i, name in enumerate(names):
        for other in names[:i]:
            if name == other:
                raise Refusal(f"'{name}' stands in the grid and in the zip: leave it in one of them")
            if f"{name}.".startswith(f"{other}.") or f"{other}.".startswith(f"{name}."):
                raise Refusal(f"'{name}' and '{other}' cannot both be varied: one holds the other")


def _changes(grid: dict[str, list[Any]], rows: dict[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """What each pack changes in the spec, in order: the settings of grid and zip with their values."""
    side_by_side = [dict(zip(rows, row, strict=True)) for row in zip(*rows.values(), strict=True)] or [{}]
    for combination in product(*grid.values()):
        for row in side_by_side:
            yield dict(zip(grid, combination, strict=True)) | row


def _spec(base: dict[str, Any], changes: dict[str, Any], place: int, packs: int) -> Spec:
    values = base
    for name, value in changes.items():
        values = _with(values, name.split("."), value, name)
    try:
        return Spec(**values)
    except Refusal as refusal:
        where = f" (in pack {place} of {packs}, with {_shown(changes)})" if changes else ""
        raise Refusal(f"{refusal}{where}") from None


def _with(table: dict[str, Any], parts: Sequence[str], value: Any, name: str) -> dict[str, Any]:
    """A copy of the table with one setting replaced, or added."""
    first, *rest = parts
    if not rest:
        return {**table, first: value}
    inner = table.get(first, {})
    if not isinstance(inner, dict):
        raise Refusal(f"'{first}' must be a table, since '{name}' is varied in it")
    return {**table, first: _with(inner, rest, value, name)}


def _refuse_repeats(specs: Sequence[Spec], changes: Sequence[dict[str, Any]]) -> None:
    seen: dict[str, int] = {}
    for place, spec in enumerate(specs):
        first = seen.setdefault(spec.hash, place)
        if first != place:
            raise Refusal(
                f"packs {first + 1} and {place + 1} are the same: {_shown(changes[place])} "
                f"and {_shown(changes[first])} say one thing, leave one of them out"
            )


def _too_large(wanted: ExperimentSize, limit: int) -> Refusal:
    return Refusal(
        f"the grid and zip make about {wanted}, more than the limit of {limit:,} packs or {limit * _STUDENTS:,} "
        "students: shorten its lists, or raise the limit"
    )


def _shown(changes: dict[str, Any]) -> str:
    """Settings and their values for a sentence, long ones cut short."""
    texts: Iterable[str] = (f"{name} = {value!r}" for name, value in changes.items())
    return ", ".join(text if len(text) <= 60 else f"{text[:57]}..." for text in islice(texts, 6))


def _count(number: int) -> str:
    return f"{number:,}" if number < 10**15 else "more than 10^15"
