"""The table of the numbers behind a figure: by default the records that the figure is drawn from, one per row."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from torch import Tensor

from tutelage.lab.claim_values import SCHEMA
from tutelage.lab.experiment import flat
from tutelage.lab.results import Results
from tutelage.studies.claims import Measured
from tutelage.studies.judging import as_measured
from tutelage.studies.study import Plan


def numbers(plan: Plan, results: Results, viewed: Any) -> pa.Table:
    """The table of a study: what its plan's ``numbers`` makes of the results."""
    if isinstance(plan.numbers, str):
        return axis_table(results, plan.numbers)
    return record_table(viewed) if plan.numbers is None else plan.numbers(viewed)


def values_table(measured: Iterable[tuple[str, Mapping[str, Any]]]) -> pa.Table:
    """The statistic of every member, from the sentence of each claim and what it measures in each of its settings."""
    rows = [
        {"claim": sentence, "setting": setting} | row
        for sentence, settings in measured
        for setting, values in settings.items()
        for row in _members(as_measured(values))
    ]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def _members(measured: Measured) -> Iterator[dict[str, Any]]:
    """One row per member; where nothing is known of a better end or a premise the cell is empty."""
    values = np.asarray(measured.values, float).ravel()
    best = [None] * len(values) if measured.at_best is None else np.asarray(measured.at_best, float).ravel()
    premise = [None] * len(values) if measured.premise is None else np.asarray(measured.premise, bool).ravel()
    for member, value in enumerate(values):
        met = None if premise[member] is None else bool(premise[member])
        yield {"member": member, "value": value, "at_best": best[member], "premise": met}


def record_table(viewed: Any) -> pa.Table:
    """One row per record, with one column per field: numbers and text as they are, arrays as nested lists.

    A record is a dataclass, a mapping from names, or a result, whose fields are its arrays and those settings that vary
    among the results. Records stand alone, in a sequence, or in a mapping, whose keys are in the column ``key``; where
    fields of a record are such groups, each has rows and columns of its own, which begin with the name of the field.
    What is neither a number nor text is left out.

    >>> record_table([{"width": 1, "loss": np.array([0.5, 0.25])}]).to_pylist()
    [{'width': 1, 'loss': [0.5, 0.25]}]
    """
    # Arrays are not spread over rows: which of their axes agree would depend on the scale of the study.
    rows = list(_rows(_of_results(viewed) if isinstance(viewed, Results) else viewed))
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.Table.from_pylist([{name: row.get(name) for name in names} for row in rows])


def _of_results(results: Results) -> list[dict[str, Any]]:
    settings = [flat(r.experiment) for r in results]
    names = _varied(settings)
    return [{name: s.get(name) for name in names} | r.arrays for s, r in zip(settings, results, strict=True)]


def _rows(value: Any) -> Iterator[dict[str, Any]]:
    """The rows of a record, or of all records of a group."""
    if isinstance(value, list | tuple):
        for each in value:
            yield from _rows(each)
    elif isinstance(value, Mapping) and _is_group(value):
        for key, each in value.items():
            yield from ({"key": _text(key)} | row for row in _rows(each))
    else:
        record = _fields(value)
        groups = {name: each for name, each in record.items() if _is_group(each)}
        if cells := _cells({name: each for name, each in record.items() if name not in groups}):
            yield cells
        for name, group in groups.items():
            yield from ({f"{name}_{column}": cell for column, cell in row.items()} for row in _rows(group))


def _is_record(value: Any) -> bool:
    return is_dataclass(value) or isinstance(value, Mapping)


def _is_group(value: Any) -> bool:
    if isinstance(value, Mapping):
        return len(value) > 0 and all(is_dataclass(each) or _is_group(each) for each in value.values())
    return isinstance(value, list | tuple) and len(value) > 0 and all(_is_record(each) for each in value)


def _fields(record: Any) -> dict[str, Any]:
    if isinstance(record, Mapping):
        return {_text(key): value for key, value in record.items()}
    return {f.name: getattr(record, f.name) for f in fields(record)} if is_dataclass(record) else {}


def _cells(record: Any, prefix: str = "") -> dict[str, Any]:
    """The fields of a record and of what is in it, named after the field and the key or place there."""
    out: dict[str, Any] = {}
    for name, value in _fields(record).items():
        if isinstance(value, list | tuple) and not all(_is_plain(each) for each in value):
            value = dict(enumerate(value))
        if _is_record(value):
            out |= _cells(value, f"{prefix}{name}_")
        elif isinstance(value, np.ndarray | np.generic | Tensor):
            out[prefix + name] = value.tolist()
        elif _is_plain(value) or isinstance(value, list | tuple):
            out[prefix + name] = list(value) if isinstance(value, tuple) else value
    return out


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float)


def _text(key: Any) -> str:
    return ", ".join(map(str, key)) if isinstance(key, tuple) else str(key)


def axis_table(results: Results, axis: str) -> pa.Table:
    """The tables of trained students one below the other, with the settings that vary among them in columns."""
    tables = []
    varied = _varied([flat(r.experiment) for r in results])
    for r in results:
        table = pq.read_table(r.folder / f"{axis}.parquet")
        settings = flat(r.experiment)
        columns = {name.rpartition(".")[2]: settings.get(name) for name in varied}
        for name, value in {"experiment": r.experiment.hash, **columns}.items():
            if name not in table.column_names:
                cell = json.dumps(value) if isinstance(value, list | dict) else value
                table = table.append_column(name, pa.array([cell] * len(table)))
        tables.append(table)
    return pa.concat_tables(tables, promote_options="permissive")


def _varied(tables: list[dict[str, Any]]) -> list[str]:
    """Names of the settings that differ among experiments."""
    names = dict.fromkeys(name for table in tables for name in table)
    return [name for name in names if len({json.dumps(table.get(name)) for table in tables}) > 1]
