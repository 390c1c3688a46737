"""Results of a folder as columns that the page plots, and the story of one stored student."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.types as types

from tutelage.errors import TutelageError
from tutelage.lab import build
from tutelage.lab.query import query
from tutelage.lab.trained_students import load_students
from tutelage.measures.diagnosis import diagnose, summary
from tutelage.training.inputs import Inputs

ROWS = 50_000
"""The most members that are sent."""
SQL = "SELECT * FROM members WHERE step = steps"


def browsed(results: Path) -> dict[str, Any]:
    """Columns of all members at their last step: numbers and texts, the settings that vary among them.

    Parameters
    ----------
    results
        Folder of results.

    Returns
    -------
    dict
        ``columns`` by name, ``sql`` that gave them, and how many members there are in all.
    """
    table = query(results, f"{SQL} LIMIT {ROWS}")
    total = query(results, "SELECT count(*) AS n FROM members WHERE step = steps")["n"][0].as_py()
    columns = {name: _column(table[name]) for name in table.column_names}
    return {
        "columns": {n: c for n, c in columns.items() if c is not None},
        "sql": SQL,
        "rows": len(table),
        "total": total,
    }


def _column(column: pa.ChunkedArray) -> list[Any] | None:
    """A column as plain data; lists and tables are left out."""
    kind = column.type
    if types.is_floating(kind):
        return [None if v is None or v != v or v in (float("inf"), float("-inf")) else v for v in column.to_pylist()]
    if types.is_integer(kind) or types.is_boolean(kind):
        return [None if v is None else int(v) for v in column.to_pylist()]
    if types.is_string(kind) or types.is_large_string(kind) or types.is_dictionary(kind):
        return [None if v is None else str(v) for v in column.to_pylist()]
    return None


def student(results: Path, asked: dict[str, Any]) -> dict[str, Any]:
    """What one stored student did not learn, and why.

    Parameters
    ----------
    results
        Folder of results.
    asked
        ``experiment``, the hash of its experiment, and ``seed``.

    Returns
    -------
    dict
        Title and sentences.
    """
    name, seed = asked.get("experiment"), asked.get("seed")
    if not isinstance(name, str) or not name.isalnum() or not (results / name).is_dir():
        raise TutelageError(f"there is no experiment '{str(name)[:40]}' in these results")
    result = load_students(results / name)
    if seed not in result.experiment.seeds:
        raise TutelageError(f"experiment {name} has no member with seed {str(seed)[:20]}")
    if result.experiment.record.weights == "none":
        raise TutelageError(f"experiment {name} kept no weights: run it with record.weights set to last")
    member = result.experiment.seeds.index(seed)
    chosen = slice(member, member + 1)
    inputs = build(result.experiment)[2]
    chosen_inputs = Inputs(inputs.train[chosen], inputs.evaluate[chosen], inputs.seeds[chosen])
    diagnoses = diagnose(result.teacher()[chosen], result.weights()[chosen], chosen_inputs)
    units = sum(result.experiment.teacher.widths()[1:-1])
    reasons = ", ".join(f"{count} {reason}" for reason, count in summary(diagnoses).items() if count)
    lines = [f"{units - len(diagnoses)} of {units} teacher units are recovered{f'; {reasons}' if reasons else ''}."]
    lines += [f"Layer {d.layer}, unit {d.unit}: {d}." for d in diagnoses[:30]]
    return {"title": f"Student of seed {seed}, experiment {name}", "sentences": lines}
