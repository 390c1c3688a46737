"""The statistic of every member behind every verdict, as a reproduced study stores it: read, and asked with SQL.

``tutelage reproduce`` writes OUT/SCALE/STUDY/values.parquet beside claims.json. Whoever doubts a verdict can pool the
members of several settings, take another test, or draw them, without computing an experiment.
"""

from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tutelage.errors import TutelageError, unknown
from tutelage.lab.database import check_read_only, interruptible, limited, opened

NAME = "values.parquet"
VIEW = "claim_values"
SCHEMA = pa.schema(
    [
        ("claim", pa.string()),
        ("setting", pa.string()),
        ("member", pa.int64()),
        ("value", pa.float64()),
        ("at_best", pa.float64()),
        ("premise", pa.bool_()),
    ]
)
"""A value that is NaN is not defined for the member; ``at_best`` is the better end where only two ends are known; a
member that does not meet the premise is not judged."""


def stored_in(folder: str | Path) -> dict[tuple[str, str], Path]:
    """The files below OUT by scale and study."""
    found = sorted(path for path in Path(folder).glob(f"*/*/{NAME}") if (path.parent / "claims.json").is_file())
    return {(p.parent.parent.name, p.parent.name): p for p in found if not p.parent.name.startswith(".")}


def values_of(study: str, scale: str, folder: str | Path) -> pa.Table:
    """The values of one study, one row per claim, setting and member.

    Parameters
    ----------
    study, scale
        What was reproduced.
    folder
        The folder that ``tutelage reproduce --out`` wrote.

    Returns
    -------
    pyarrow.Table
        With the columns of ``SCHEMA``.
    """
    stored = stored_in(folder)
    if not stored:
        raise TutelageError(f"{folder} holds no values of claims (no SCALE/STUDY/{NAME}): run 'tutelage reproduce'")
    if (scale, study) not in stored:
        here = [name for kept, name in stored if kept == scale]
        raise unknown(f"study with stored values at scale {scale}", study, here)
    return pq.read_table(stored[scale, study], schema=SCHEMA)


def every_value(folder: str | Path) -> pa.Table:
    """The values of all studies below OUT, with the columns ``study`` and ``scale`` before the others."""
    tables = []
    for (scale, study), path in stored_in(folder).items():
        table = pq.read_table(path, schema=SCHEMA)
        names = {"study": study, "scale": scale}
        for place, (name, value) in enumerate(names.items()):
            table = table.add_column(place, name, pa.array([value] * len(table), pa.string()))
        tables.append(table)
    return pa.concat_tables(tables)


def answer(folder: str | Path, sql: str, seconds: float, memory: float) -> pa.Table:
    """The answer to one SELECT over the view ``claim_values`` of a folder of reproduced studies."""
    check_read_only(sql)
    table, most = every_value(folder), int(memory * 2**30)
    with limited(most), closing(opened([], most)) as connection:
        connection.register(VIEW, table)
        return interruptible(connection, sql, seconds)
