"""SQL over all whole results of a folder, read in place by DuckDB.

Views:

- ``experiments``: one row per experiment: kind, hash, members, origin, settings;
- ``members``, ``layers``, ``teachers``, ``units``, ``pairs``: the tables of all trained students. ``recovered`` is 0 or
  1, so that it can be averaged: of a teacher unit whether some student unit recovered it (as measured, or
  best_correlation > 0.95), of a student unit whether it recovered a teacher unit (specialisation > 0.95). Rows of every
  recorded step are there: ``WHERE step = steps`` keeps the last;
- one view per other kind of experiment, named after it (``online_overlaps``): one row per member, every array a column,
  a list where the array has more axes.

Every setting that varies, and every setting that a query names, is a column of each view (:mod:`.columns`).
"""

import logging
import re
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tutelage.errors import TutelageError
from tutelage.lab.columns import selected, settings_columns
from tutelage.lab.database import identifier, literal, module, opened
from tutelage.lab.index import ABOUT, experiments
from tutelage.lab.joined import LEFT_OUT, AxisTables, forget, source
from tutelage.lab.manifest import Damage, damage, read
from tutelage.lab.memory import limited
from tutelage.lab.read_only import check_read_only
from tutelage.lab.tables import INDEX
from tutelage.measures.correlation import RECOVERED

log = logging.getLogger(__name__)

EXPERIMENTS = "experiments"
VIEWS = {axis: f"{axis}s" for axis in INDEX}
_DERIVED = {"teacher": "best_correlation", "unit": "specialisation"}  # what "recovered" follows from
SECONDS, MEMORY = 300.0, 2.0
"""Limits of a query: seconds, and GiB beyond what the process has taken before."""

_MISTAKES = {"Parser", "Binder", "Catalog", "Permission", "Conversion", "OutOfRange", "NotImplemented", "Interrupt"}
_MISTAKES |= {"OutOfMemory"}


def query(root: str | Path, sql: str, seconds: float = SECONDS, memory: float = MEMORY) -> pa.Table:
    """The answer to one SELECT over the results in a folder; nothing can be written, no other file read.

    Tables are compared with the SHA-256 in their manifest when they are first read and whenever their inode, size or
    times have changed since (:mod:`.checked`); a table that does not match is left out, with a warning. A query that
    takes longer than ``seconds``, or more than ``memory`` GiB, is an error.
    """
    duckdb, root = module(), Path(root).resolve()
    if set("*?[") & set(str(root)):
        raise TutelageError(f"{root} cannot be queried because its name holds one of * ? [: rename the folder")
    table = _whole_results(root)
    try:
        check_read_only(duckdb, sql)
        try:
            return _answer(root, table, sql, seconds, memory)
        except duckdb.Error as error:
            if _is_mistake(error) or not forget(root):
                raise
            return _answer(root, table, sql, seconds, memory)  # a copy of the tables was damaged, perhaps
    except (duckdb.OutOfMemoryException, MemoryError):
        raise TutelageError(
            f"the query takes more memory than {memory:g} GiB: select fewer rows or columns, or raise memory"
        ) from None
    except duckdb.Error as error:
        raise _refusal(error, root, table, _axes(sql)) from None


def _whole_results(root: Path) -> pa.Table:
    every = experiments(root)
    whole = every.filter(every["damage"].is_null())
    if len(whole):
        if len(whole) < len(every):
            log.warning(LEFT_OUT, len(every) - len(whole))
        return whole
    first = (
        f": of {len(every)} damaged ones the first is {every['experiment'][0]} ({every['damage'][0]})"
        if len(every)
        else ""
    )
    raise TutelageError(f"there are no whole results in {root}{first}")


def _answer(root: Path, table: pa.Table, sql: str, seconds: float, memory: float) -> pa.Table:
    axes = {axis: source(root, axis, table) for axis in _axes(sql)}
    kinds = {kind: _of_kind(root, kind, table) for kind in _kinds(table, sql)}
    files = [file for tables in (*axes.values(), *kinds.values()) for file in tables.files]
    most = int(memory * 2**30)
    with limited(most), opened(files, most) as connection:
        _prepare(connection, table, sql)
        for axis, tables in axes.items():
            _view(connection, axis, tables, sql)
        for kind, tables in kinds.items():
            _kind_view(connection, kind, tables, sql)
        return _interruptible(connection, sql, seconds)


def _interruptible(connection: Any, sql: str, seconds: float) -> pa.Table:
    """The answer to a statement, from a thread beside this one, so that a signal to this one, or time, ends the work.

    DuckDB looks at no signals while it computes: Python would handle them only when the answer is there.
    """
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="query") as worker:
        answer = worker.submit(lambda: connection.sql(sql).to_arrow_table())
        try:
            return answer.result(seconds)
        except BaseException as end:
            while not answer.done():  # an interrupt that comes before the work has begun would be lost
                connection.interrupt()
                wait([answer], timeout=0.05)
            if isinstance(end, TimeoutError):
                raise TutelageError(
                    f"the query takes longer than {seconds:g} seconds: select fewer rows, or raise seconds"
                ) from None
            raise


def _prepare(connection: Any, table: pa.Table, sql: str) -> None:
    """The table of what is known of all experiments, and the view ``experiments``."""
    connection.register("arrow", table)
    connection.execute("CREATE TABLE known AS SELECT * FROM arrow")
    connection.unregister("arrow")
    names = ["experiment", "kind", "members", *ABOUT.names, "settings"]
    settings = settings_columns(connection, "true", sql, names) if EXPERIMENTS in sql.lower() else []
    columns = [*names, *selected(settings, "known", None)]
    connection.execute(f"CREATE VIEW {EXPERIMENTS} AS SELECT {', '.join(columns)} FROM known")


def _view(connection: Any, axis: str, tables: AxisTables, sql: str) -> None:
    """Create the view of an axis of trained students."""
    if not (read := tables.select(connection)):
        return
    names = _columns(connection, read)
    columns = ["known.experiment", *(f"t.{identifier(name)}" for name in names if name != "recovered")]
    columns += _recovered(axis, names)
    taken = {"experiment", "recovered", *names}
    settings = settings_columns(connection, f"{axis}_key IS NOT NULL", sql, taken)
    columns += selected(settings, "known", "t.member")
    connection.execute(
        f"CREATE VIEW {VIEWS[axis]} AS SELECT {', '.join(columns)} FROM ({read}) t "
        f"JOIN known ON known.{axis}_key = t.key"
    )


def _kind_view(connection: Any, kind: str, tables: AxisTables, sql: str) -> None:
    """Create the view of a kind of experiment, with its arrays as columns."""
    if not (read := tables.select(connection)):
        return
    names = _columns(connection, read)
    columns = ["known.experiment", *(f"t.{identifier(name)}" for name in names)]
    settings = settings_columns(connection, f"kind = {literal(kind)}", sql, {"experiment", *names})
    columns += selected(settings, "known", "t.member")
    connection.execute(
        f"CREATE VIEW {identifier(view_name(kind))} AS SELECT {', '.join(columns)} FROM ({read}) t "
        "JOIN known ON known.values_key = t.key"
    )


def _of_kind(root: Path, kind: str, table: pa.Table) -> AxisTables:
    """The arrays of all experiments of a kind."""
    return source(root, "values", table.filter(pc.equal(table["kind"], kind)), copied=False)


def _columns(connection: Any, read: str) -> list[str]:
    """The columns of tables, their key apart."""
    return [name for name, *_ in connection.execute(f"DESCRIBE {read}").fetchall() if name != "key"]


def view_name(kind: str) -> str:
    """The view of a kind of experiment.

    >>> view_name("online-overlaps")
    'online_overlaps'
    """
    return re.sub(r"\W", "_", kind).lower()


def _kinds(table: pa.Table, sql: str) -> list[str]:
    """The kinds of experiment whose views a query may mean."""
    with_values = table.filter(table["values_key"].is_valid())
    words = set(re.findall(r"\w+", sql.lower()))
    return sorted(kind for kind in with_values["kind"].unique().to_pylist() if view_name(kind) in words)


def _recovered(axis: str, names: list[str]) -> list[str]:
    """The column ``recovered``: as it was measured, and where it was not, from the correlation it follows from."""
    ways = ["t.recovered"] * ("recovered" in names)
    if axis in _DERIVED and _DERIVED[axis] in names:
        ways.append(f"CAST(t.{_DERIVED[axis]} > CAST({RECOVERED} AS DOUBLE) AS TINYINT)")
    return [f"coalesce({', '.join(ways)}) AS recovered"] if ways else []


def _is_mistake(error: Exception) -> bool:
    """Whether the query is to blame; what is wrong with a Parquet file comes as an error of almost any other kind."""
    return type(error).__name__.removesuffix("Exception") in _MISTAKES


def _axes(sql: str) -> list[str]:
    """The axes whose views a query may mean: only those are prepared."""
    return [axis for axis, view in VIEWS.items() if view in sql.lower()]


def _refusal(error: Exception, root: Path, table: pa.Table, axes: list[str]) -> TutelageError:
    """Which damaged experiment could not be read, or else what is wrong with the query."""
    if not _is_mistake(error):
        named = re.search(re.escape(str(root)) + r"/([0-9a-f]{16})/", str(error))
        for name in [named[1]] if named else table["experiment"].to_pylist():
            if damaged := _damaged_table(root / name, axes):
                return damaged
    first = str(error).strip().split("\n")[0].strip()
    kinds = table.filter(table["values_key"].is_valid())["kind"].unique().to_pylist()
    filled = [view for axis, view in VIEWS.items() if table[f"{axis}_key"].null_count < len(table)]
    views = ", ".join([EXPERIMENTS, *filled, *sorted(map(view_name, kinds))])
    empty = [view for view in VIEWS.values() if view not in filled]
    rest = f"; no stored experiment recorded a measure for {', '.join(empty)}" if empty else ""
    return TutelageError(f"the query cannot be answered ({first}): there are the views {views}{rest}")


def _damaged_table(folder: Path, axes: list[str]) -> Damage | None:
    try:
        manifest = read(folder)
        tables = {f"{axis}.parquet" for axis in (*axes, "values")} & manifest.files.keys()
        return next(damage(folder, replace(manifest, files={name: manifest.files[name] for name in tables})), None)
    except Damage as found:
        return found
