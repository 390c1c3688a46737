"""Grids of experiments: settings that vary, written as one YAML file, read as a list of experiments.

Besides the sections of an experiment, a file may have two tables. ``grid`` gives settings lists of values, by dotted
name, and every combination is an experiment; the lists of ``zip`` have one length, and are gone through side by side::

    grid: {student.width_factor: [1, 2, 5], teacher.polarity: [0, 1]}    # six experiments
    zip: {training.steps: [1000, 4000], record.every: [100, 400]}    # twelve, with both

Experiments come in the order of the file: the first setting of the grid varies slowest, the zip fastest. A file without
either is one experiment, with the hash it always had.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice, product
from pathlib import Path
from typing import Any

from tutelage.errors import TutelageError, unknown
from tutelage.lab.experiment import Experiment
from tutelage.lab.loads import split
from tutelage.lab.teacher_student import TeacherStudent
from tutelage.lab.yaml_file import read_tables
from tutelage.settings import Recipe, Settings, one_line, section_of

LIMIT = 10_000
"""The most experiments of one file, unless another limit is given."""

_STUDENTS = 1_000  # members per experiment; times the limit of experiments, the most members of a file


@dataclass(frozen=True)
class ExperimentSize:
    """Size of a file of experiments: experiments, students, and the steps that all students take together."""

    experiments: int
    students: int
    student_steps: int

    def __str__(self) -> str:
        counts = (self.experiments, "experiment"), (self.students, "student"), (self.student_steps, "student-step")
        return ", ".join(f"{_count(n)} {word}{'s' if n != 1 else ''}" for n, word in counts)


def size(experiments: Sequence[TeacherStudent]) -> ExperimentSize:
    """The size of all experiments together, after large ones are split."""
    students = [len(experiment.seeds) for experiment in experiments]
    steps = sum(n * s.steps for n, s in zip(students, experiments, strict=True))
    return ExperimentSize(sum(len(split(s)) for s in experiments), sum(students), steps)


def read_experiment(
    path: str | Path, limit: int = LIMIT, kind_of: Callable[[str], type[Experiment]] | None = None
) -> list[Any]:
    """The experiments of a file, in its order; more than ``limit`` raise an error, and so is whatever is wrong.

    kind_of: from the name of a kind to its class, for files with experiments of other kinds than students.

    A file that `tutelage reproduce` wrote holds several experiments, one after another. Every error is one
    sentence with the name of the file and of the setting.
    """
    tables = read_tables(path)
    try:
        return [experiment for values in tables for experiment in experiments_of(values, limit, kind_of)]
    except TutelageError as error:
        raise TutelageError(f"{path}: {one_line(str(error))}") from None


def settings_of(model: type[Settings] = TeacherStudent, prefix: str = "") -> Iterator[tuple[str, type[Settings], str]]:
    """Every setting of an experiment: its dotted name, the class that has it, its name there; of recipes, those of all
    kinds.

    >>> ("student.scale", "SmallNormal") in [(dotted, owner.__name__) for dotted, owner, _ in settings_of()]
    True
    """
    for name, field in model.model_fields.items():
        dotted, (inner, _) = f"{prefix}{name}", section_of(field.annotation)
        yield dotted, model, name
        if inner is not None and issubclass(inner, Recipe):
            for _, kind in sorted(inner.kinds.items()):
                yield from settings_of(kind, f"{dotted}.")
        elif inner is not None:
            yield from settings_of(inner, f"{dotted}.")


def experiments_of(
    values: dict[str, Any], limit: int = LIMIT, kind_of: Callable[[str], type[Experiment]] | None = None
) -> list[Any]:
    """The experiments that plain data with ``grid`` and ``zip`` describe; of another kind than students it is one."""
    values = dict(values)
    if (kind := values.pop("kind", TeacherStudent.kind)) != TeacherStudent.kind:
        if kind_of is None or not isinstance(kind, str):
            raise TutelageError(f"'kind' of an experiment to read from a file must be {TeacherStudent.kind}")
        if varied := {"grid", "zip"} & values.keys():
            raise TutelageError(
                f"'{min(varied)}' is for experiments of the kind {TeacherStudent.kind}: write one table per experiment"
            )
        return [kind_of(kind)(**values)]
    base = {name: value for name, value in values.items() if name not in ("grid", "zip")}
    if len(base) == len(values):
        return [TeacherStudent(**base)]
    grid, rows = _lists(values, "grid"), _lists(values, "zip")
    _refuse_clashes([*grid, *rows])
    results = math.prod(len(v) for v in grid.values()) * min((len(v) for v in rows.values()), default=1)
    if results > limit:
        (first,) = (_experiment(base, changes, 1, results) for changes in islice(_changes(grid, rows), 1))
        students = results * len(first.seeds)
        raise _too_large(ExperimentSize(results, students, students * first.steps), limit)
    experiments: list[TeacherStudent] = []
    students = 0
    for place, changes in enumerate(_changes(grid, rows), start=1):
        experiments.append(_experiment(base, changes, place, results))
        students += len(experiments[-1].seeds)
        if students > limit * _STUDENTS:
            raise _too_large(size(experiments), limit)
    _refuse_repeats(experiments, list(_changes(grid, rows)))
    return experiments


def _lists(values: dict[str, Any], word: str) -> dict[str, list[Any]]:
    """The table of lists under ``grid`` or ``zip``, every name a setting, every list with values."""
    table = values.get(word, {})
    if not isinstance(table, dict):
        raise TutelageError(f"'{word}' must be a table of lists, such as {word}: {{student.width_factor: [1, 2, 5]}}")
    known = dict.fromkeys(dotted for dotted, _, _ in settings_of())
    for name, entries in table.items():
        if name not in known:
            raise unknown(f"setting for the {word}", name[:100], _near(name, known))
        if not isinstance(entries, list) or not entries:
            raise TutelageError(f"'{name}' in the {word} must be a list of values, such as [1, 2, 5]")
    lengths = {name: len(entries) for name, entries in table.items()}
    if word == "zip" and len(set(lengths.values())) > 1:
        counts = ", ".join(f"'{name}' has {length}" for name, length in lengths.items())
        raise TutelageError(f"the lists of the zip must have one length, but {counts} values")
    return table


def _near(name: str, known: Iterable[str]) -> Iterable[str]:
    """The settings to show beside a name that is none: those of its section, or the nearest one and the sections."""
    section = [k for k in known if k.startswith(f"{name.split('.')[0]}.")]
    return section or {*get_close_matches(name[:100], list(known), n=1), *TeacherStudent.model_fields}


def _refuse_clashes(names: Sequence[str]) -> None:
    """A setting is varied once, and not beside the table it stands in."""
    for i, name in enumerate(names):
        for other in names[:i]:
            if name == other:
                raise TutelageError(f"'{name}' is in the grid and in the zip: remove it from one of them")
            if f"{name}.".startswith(f"{other}.") or f"{other}.".startswith(f"{name}."):
                raise TutelageError(
                    f"'{name}' and '{other}' cannot both be varied, since one contains the other: remove one of them"
                )


def _changes(grid: dict[str, list[Any]], rows: dict[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """What each experiment changes in the first, in order: the settings of grid and zip with their values."""
    side_by_side = [dict(zip(rows, row, strict=True)) for row in zip(*rows.values(), strict=True)] or [{}]
    for combination in product(*grid.values()):
        for row in side_by_side:
            yield dict(zip(grid, combination, strict=True)) | row


def _experiment(base: dict[str, Any], changes: dict[str, Any], place: int, results: int) -> TeacherStudent:
    values = base
    for name, value in changes.items():
        values = _with(values, name.split("."), value, name)
    try:
        return TeacherStudent(**values)
    except TutelageError as error:
        where = f" (in experiment {place} of {results}, with {_shown(changes)})" if changes else ""
        raise TutelageError(f"{error}{where}") from None


def _with(table: dict[str, Any], parts: Sequence[str], value: Any, name: str) -> dict[str, Any]:
    """A copy of the table with one setting replaced, or added."""
    first, *rest = parts
    if not rest:
        return {**table, first: value}
    inner = table.get(first, {})
    if not isinstance(inner, dict):
        raise TutelageError(f"'{first}' must be a table, since '{name}' is varied in it")
    return {**table, first: _with(inner, rest, value, name)}


def _refuse_repeats(experiments: Sequence[TeacherStudent], changes: Sequence[dict[str, Any]]) -> None:
    first_place: dict[str, int] = {}
    for place, experiment in enumerate(experiments):
        first = first_place.setdefault(experiment.hash, place)
        if first != place:
            raise TutelageError(
                f"experiments {first + 1} and {place + 1} have the same settings: {_shown(changes[first])} and "
                f"{_shown(changes[place])} mean the same, remove one of them"
            )


def _too_large(wanted: ExperimentSize, limit: int) -> TutelageError:
    return TutelageError(
        f"the grid and zip make about {wanted}, more than the limit of {limit:,} experiments or {limit * _STUDENTS:,} "
        "students: shorten its lists, or raise the limit"
    )


def _shown(changes: dict[str, Any]) -> str:
    """Settings and their values for a sentence, long ones cut short."""
    texts: Iterable[str] = (f"{name} = {value!r}" for name, value in changes.items())
    return ", ".join(text if len(text) <= 60 else f"{text[:57]}..." for text in islice(texts, 6))


def _count(number: int) -> str:
    return f"{number:,}" if number < 10**15 else "more than 10^15"
