"""Reports as Parquet tables, one per axis, and back: long tables for the database, stacked arrays for Python."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from tutelage.measures import MEASURES, Report
from tutelage.measures.registry import axis_shape, find

SECOND = "_2"
"""End of the name of a measure that is taken against the second teacher of an experiment."""

INDEX = {
    "member": (),
    "layer": ("layer",),
    "teacher": ("layer", "teacher"),
    "unit": ("layer", "unit"),
    "pair": ("layer", "teacher", "unit"),
    "teacher_pair": ("layer", "teacher", "other"),
    "unit_pair": ("layer", "unit", "other"),
}
"""Columns that name an entry beyond the step and the member."""


def to_tables(
    report: Report, seeds: tuple[int, ...], teacher: tuple[int, ...], students: tuple[int, ...]
) -> dict[str, pa.Table]:
    """One table per axis; rows in the order step, member, entry; values of diverged members are null.

    teacher, students: widths (n_0, ..., n_L) of both.
    """
    by_axis: dict[str, dict[str, np.ndarray]] = {}
    for name, value in report.values.items():
        by_axis.setdefault(find(name if name in MEASURES else name.removesuffix(SECOND)).axis, {})[name] = value
    tables = {}
    for axis, values in by_axis.items():
        entries = _entries(axis, teacher, students)
        count = len(next(iter(entries.values()))) if entries else 1
        times, members = len(report.steps), len(seeds)
        columns: dict[str, Any] = {
            "step": np.repeat(np.asarray(report.steps, np.int64), members * count),
            "member": np.tile(np.repeat(np.arange(members, dtype=np.int32), count), times),
            "seed": np.tile(np.repeat(np.asarray(seeds, np.int64), count), times),
        }
        columns |= {name: np.tile(index, times * members) for name, index in entries.items()}
        columns |= {name: _nullable(value.reshape(-1)) for name, value in values.items()}
        tables[axis] = pa.table(columns)
    return tables


def to_report(tables: Mapping[str, pa.Table], teacher: tuple[int, ...], students: tuple[int, ...]) -> Report:
    """The arrays [T, S, ...] behind the tables that :func:`to_tables` made."""
    steps: tuple[int, ...] = ()
    values = {}
    for axis, table in tables.items():
        steps = tuple(np.unique(table["step"].to_numpy()).tolist())
        shape = (len(steps), -1, *axis_shape(axis, teacher, students))  # type: ignore[arg-type]
        for name in table.column_names:
            if name in ("step", "member", "seed", *INDEX[axis]):
                continue
            column = table[name]
            if pa.types.is_integer(column.type):
                column = column.fill_null(-1)
            values[name] = column.to_numpy().reshape(shape)
    return Report(steps, values)


def _nullable(value: np.ndarray) -> pa.Array:
    """NaN of floats and -1 of whole numbers, which stand for diverged members, as null."""
    return pa.array(value, mask=np.isnan(value) if value.dtype.kind == "f" else value < 0)


def _entries(axis: str, teacher: tuple[int, ...], students: tuple[int, ...]) -> dict[str, np.ndarray]:
    """Index columns of one member at one step; layers count from 1, units from 0 in their layer.

    Where teacher and students differ in depth, pairs are of all units; the layer is that of the student unit, and
    teacher units count through all their layers.
    """
    m, n = teacher[1:-1], students[1:-1]
    if axis == "member":
        return {}
    if axis == "pair" and len(m) != len(n):
        units = _entries("unit", teacher, students)
        columns = {name: np.tile(column, sum(m)) for name, column in units.items()}
        taught = np.repeat(np.arange(sum(m), dtype=np.int32), sum(n))
        return {"layer": columns["layer"], "teacher": taught, "unit": columns["unit"]}
    layers: dict[str, list[tuple[int, ...]]] = {
        "layer": [() for _ in n],
        "teacher": [(a,) for a in m],
        "unit": [(b,) for b in n],
        "teacher_pair": [(a, a) for a in m],
        "unit_pair": [(b, b) for b in n],
    }
    sizes = layers[axis] if axis in layers else list(zip(m, n, strict=True))
    grids = []
    for layer, size in enumerate(sizes, start=1):
        grid = np.indices((1, *size), dtype=np.int32).reshape(len(size) + 1, -1)
        grid[0] = layer
        grids.append(grid)
    return dict(zip(INDEX[axis], np.concatenate(grids, axis=1), strict=True))
