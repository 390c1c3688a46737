"""SQL over all whole packs of a results folder, read in place by DuckDB.

Views: ``packs`` (one row a pack: settings, origin) and ``members``, ``layers``, ``teachers``, ``units``, ``pairs`` (the
tables of all packs, each row with the settings of its pack as columns). ``p`` is the polarity; polarity and learning
rate are those of the member. ``recovered`` is 0 or 1, so that it can be averaged: of a teacher unit whether some
student unit has found it (as measured, or best_correlation > 0.95), of a student unit whether it has found a teacher
unit (specialisation > 0.95). Rows of every recorded step are there: ``WHERE step = steps`` keeps the last.
"""

import logging
import re
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa

from tutelage.errors import Refusal
from tutelage.measures.correlation import RECOVERED
from tutelage.runs.columns import PER_MEMBER, SETTINGS
from tutelage.runs.index import ABOUT, packs
from tutelage.runs.joined import LEFT_OUT, forget, quoted, source
from tutelage.runs.manifest import Damage, damage, read
from tutelage.runs.read_only import check_read_only

log = logging.getLogger(__name__)

VIEWS = {"member": "members", "layer": "layers", "teacher": "teachers", "unit": "units", "pair": "pairs"}
_DERIVED = {"teacher": "best_correlation", "unit": "specialisation"}  # what "recovered" follows from
_MISTAKES = ("Parser", "Binder", "Catalog", "Permission", "Conversion", "OutOfRange", "NotImplemented", "Interrupt")


def query(root: str | Path, sql: str) -> pa.Table:
    """The answer to one SELECT over the packs of a results folder; nothing can be written, no other file read.

    Tables are compared with the SHA-256 in their manifest when they are first read and whenever their inode, size or
    times have changed since (:mod:`.checked`); a table that does not match is left out, with a warning.
    """
    duckdb, root = _duckdb(), Path(root).resolve()
    if set("*?[") & set(str(root)):
        raise Refusal(f"{root} cannot be queried because its name holds one of * ? [: rename the folder")
    table = _whole_packs(root)
    try:
        check_read_only(duckdb, sql)
        try:
            return _answer(duckdb, root, table, sql)
        except duckdb.Error as error:
            if _is_mistake(error) or not forget(root):
                raise
            return _answer(duckdb, root, table, sql)  # a copy of the tables was damaged, perhaps
    except duckdb.Error as error:
        raise _refusal(error, root, table, _axes(sql)) from None


def _whole_packs(root: Path) -> pa.Table:
    every = packs(root)
    whole = every.filter(every["damage"].is_null())
    if len(whole):
        if len(whole) < len(every):
            log.warning(LEFT_OUT, len(every) - len(whole))
        return whole
    first = (
        f": of {len(every)} damaged ones the first is {every['pack'][0]} ({every['damage'][0]})" if len(every) else ""
    )
    raise Refusal(f"there is no whole pack in {root}{first}")


def _answer(duckdb: ModuleType, root: Path, table: pa.Table, sql: str) -> pa.Table:
    with duckdb.connect(":memory:") as connection:
        _prepare(connection, table)
        files = [file for axis in _axes(sql) for file in _view(connection, root, axis, table)]
        _lock(connection, files)
        return _interruptible(connection, sql)


def _interruptible(connection: Any, sql: str) -> pa.Table:
    """The answer to a statement, from a thread beside this one, so that a signal to this one ends the work.

    DuckDB looks at no signals while it computes: Python would handle them only when the answer is there.
    """
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="query") as worker:
        answer = worker.submit(lambda: connection.sql(sql).to_arrow_table())
        try:
            return answer.result()
        except BaseException:
            while not answer.done():  # an interrupt that comes before the work has begun would be lost
                connection.interrupt()
                wait([answer], timeout=0.05)
            raise


def _duckdb() -> ModuleType:
    try:
        import duckdb
    except ImportError:
        raise Refusal("queries need DuckDB, which is not installed: pip install duckdb") from None
    return duckdb


def _prepare(connection: Any, table: pa.Table) -> None:
    """The table of settings, the view ``packs``, and the settings that differ from member to member."""
    connection.execute("SET temp_directory = ''")
    connection.register("arrow", table)
    connection.execute("CREATE TABLE known AS SELECT * FROM arrow")
    connection.unregister("arrow")
    shown = ["pack", *SETTINGS.names, *ABOUT.names, *(f"{name}_of" for name in PER_MEMBER), "seeds", "settings"]
    connection.execute(f"CREATE VIEW packs AS SELECT {', '.join(shown)}, polarity AS p FROM known")
    lists = ", ".join(f"unnest({name}_of) AS {name}" for name in PER_MEMBER)
    some = " OR ".join(f"{name}_of IS NOT NULL" for name in PER_MEMBER)
    connection.execute(
        f"CREATE TABLE own AS SELECT pack, unnest(range(members)) AS member, {lists} FROM known WHERE {some}"
    )


def _view(connection: Any, root: Path, axis: str, table: pa.Table) -> list[str]:
    """Create the view of an axis; the files it reads."""
    sql, files = source(connection, root, axis, table)
    if not sql:
        return []
    names = [name for name, *_ in connection.execute(f"DESCRIBE {sql}").fetchall() if name != "key"]
    columns = ["known.pack", *(f't."{name}"' for name in names if name != "recovered")]
    columns += _recovered(axis, names)
    for name in (name for name in SETTINGS.names if name not in names):
        value = f"coalesce(own.{name}, known.{name})" if name in PER_MEMBER else f"known.{name}"
        columns += [f"{value} AS {name}"] + [f"{value} AS p"] * (name == "polarity" and "p" not in names)
    connection.execute(
        f"CREATE VIEW {VIEWS[axis]} AS SELECT {', '.join(columns)} FROM ({sql}) t "
        f"JOIN known ON known.{axis}_key = t.key LEFT JOIN own ON own.pack = known.pack AND own.member = t.member"
    )
    return files


def _recovered(axis: str, names: list[str]) -> list[str]:
    """The column ``recovered``: as it was measured, and where it was not, from the correlation it follows from."""
    ways = ["t.recovered"] * ("recovered" in names)
    if axis in _DERIVED and _DERIVED[axis] in names:
        ways.append(f"CAST(t.{_DERIVED[axis]} > CAST({RECOVERED} AS DOUBLE) AS TINYINT)")
    return [f"coalesce({', '.join(ways)}) AS recovered"] if ways else []


def _lock(connection: Any, files: list[str]) -> None:
    """From here on the connection reads these files and no other, writes none, and cannot be told otherwise."""
    listed = ", ".join(quoted(file) for file in files)
    connection.execute(f"SET allowed_paths = [{listed}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _is_mistake(error: Exception) -> bool:
    """Whether the query is to blame; what is wrong with a Parquet file comes as an error of almost any other kind."""
    return type(error).__name__.removesuffix("Exception") in _MISTAKES


def _axes(sql: str) -> list[str]:
    """The axes whose views a query may mean: only those are prepared."""
    return [axis for axis, view in VIEWS.items() if view in sql.lower()]


def _refusal(error: Exception, root: Path, table: pa.Table, axes: list[str]) -> Refusal:
    """Which damaged pack could not be read, or else what is wrong with the query."""
    if not _is_mistake(error):
        named = re.search(re.escape(str(root)) + r"/([0-9a-f]{16})/", str(error))
        for pack in [named[1]] if named else table["pack"].to_pylist():
            if found := _damaged_table(root / pack, axes):
                return found
    first = str(error).strip().split("\n")[0].strip()
    views = ", ".join(["packs", *VIEWS.values()])
    return Refusal(f"the query cannot be answered ({first}): there are the views {views}")


def _damaged_table(folder: Path, axes: list[str]) -> Damage | None:
    try:
        manifest = read(folder)
        tables = {f"{axis}.parquet" for axis in axes} & manifest.files.keys()
        return next(damage(folder, replace(manifest, files={name: manifest.files[name] for name in tables})), None)
    except Damage as found:
        return found
