"""SQL over all whole results of a folder, answered by DuckDB from the index (:mod:`.index`).

Views:

- ``experiments``: one row per experiment: kind, hash, members, origin, settings;
- ``members``, ``layers``, ``teachers``, ``units``, ``pairs``: the tables of all trained students. ``recovered`` is 0 or
  1, so that it can be averaged: of a teacher unit whether some student unit recovered it (as measured, or
  best_correlation > 0.95), of a student unit whether it recovered a teacher unit (specialisation > 0.95). Rows of every
  recorded step are there: ``WHERE step = steps`` keeps the last;
- one view per other kind of experiment, named after it (``online_overlaps``): one row per member, every array a column,
  a list where the array has more axes.

A folder of reproduced studies, as ``tutelage reproduce --out`` writes it, has the one view ``claim_values`` instead
(:mod:`.claim_values`).

Every setting that varies, and every setting that a query names, is a column of each view. It is named as everywhere
(``"training.label_noise.std"``, in double quotes because of the dots), or with underscores
(``training_label_noise_std``), or by its last part alone where no other setting of the view ends alike.

A view is made only for a query that names it: to prepare one costs a look at every table behind it.
"""

import logging
import re
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from tutelage.errors import TutelageError
from tutelage.lab.claim_values import answer, stored_in
from tutelage.lab.database import check_read_only, identifier, interruptible, limited, literal, module, opened
from tutelage.lab.index import ABOUT, ResultsIndex, attach, paths
from tutelage.lab.tables import INDEX
from tutelage.measures.correlation import RECOVERED

log = logging.getLogger(__name__)

EXPERIMENTS = "experiments"
VIEWS = {axis: f"{axis}s" for axis in INDEX}
_DERIVED = {"teacher": "best_correlation", "unit": "specialisation"}  # what "recovered" follows from
SECONDS, MEMORY = 300.0, 2.0
"""Limits of a query: seconds, and GiB beyond what the process has taken before."""

LEFT_OUT = "damaged experiments are left out: %d; 'tutelage store check' names them"

_MISTAKES = {"Parser", "Binder", "Catalog", "Permission", "Conversion", "OutOfRange", "NotImplemented", "Interrupt"}
_MISTAKES |= {"OutOfMemory"}
_TRIES = (True, True, False)  # whether the index is believed: twice, should another process replace it meanwhile


class _Replaced(Exception):
    """Another process has replaced the index between two looks at it."""


@dataclass(frozen=True)
class _View:
    """The tables behind a view: the name of their files, and the kinds of experiment (None for all)."""

    name: str
    file: str
    kinds: tuple[str, ...] | None = None

    @property
    def where(self) -> str:
        """The condition on ``cache.known`` that picks its experiments."""
        held = f"key IN (SELECT key FROM cache.held WHERE file = {literal(self.file)})"
        return held if self.kinds is None else f"{held} AND kind IN ({', '.join(map(literal, self.kinds))})"


def query(root: str | Path, sql: str, seconds: float = SECONDS, memory: float = MEMORY) -> pa.Table:
    """The answer to one SELECT over the results in a folder; nothing can be written, no other file read.

    Tables are compared with the SHA-256 in their manifest when they are first read and whenever their inode, size or
    times have changed since (:mod:`.index`); a table that does not match is left out, with a warning. A query that
    takes longer than ``seconds``, or more than ``memory`` GiB, is an error.
    """
    duckdb, root = module(), Path(root).resolve()
    if set("*?[") & set(str(root)):
        raise TutelageError(f"{root} cannot be queried because its name holds one of * ? [: rename the folder")
    try:
        if stored_in(root):
            return answer(root, sql, seconds, memory)
        for believe in _TRIES:
            try:
                return _answer(ResultsIndex(root, believe), sql, seconds, memory)
            except (_Replaced, duckdb.Error) as error:
                if not believe or _is_mistake(error):
                    raise
    except (duckdb.OutOfMemoryException, MemoryError):
        raise TutelageError(
            f"the query takes more memory than {memory:g} GiB: select fewer rows or columns, or raise memory"
        ) from None
    except duckdb.Error as error:
        raise TutelageError(f"the query cannot be answered ({_first_line(error)})") from None
    raise AssertionError  # the last try returns or raises


def _answer(index: ResultsIndex, sql: str, seconds: float, memory: float) -> pa.Table:
    with closing(index.connection):
        _require_whole_results(index)
        check_read_only(sql)
        kinds = _kind_views(index)
        words = set(re.findall(r"\w+", sql.lower()))
        every = [*(_View(view, f"{axis}.parquet") for axis, view in VIEWS.items()), *kinds]
        views = [view for view in every if view.name in words]
        large: list[str] = []
        left_out = len(index.damaged)
        for view in views:
            in_place, bad = index.hold(view.file, view.kinds)
            large += in_place
            left_out += bad
        if left_out:
            log.warning(LEFT_OUT, left_out)
        stored = index.keep()
    most = int(memory * 2**30)
    with limited(most), opened([*paths(index.file), *large], most) as connection:
        _attach(connection, index, stored)
        try:
            _experiments_view(connection, sql if EXPERIMENTS in words else "")
            for view in views:
                _view(connection, index.root, view, sql)
            return interruptible(connection, sql, seconds)
        except module().Error as error:
            if _is_mistake(error) and not isinstance(error, module().OutOfMemoryException):
                raise _refusal(error, connection, kinds) from None
            raise


def _require_whole_results(index: ResultsIndex) -> None:
    if not len(index):
        first = next(iter(sorted(index.damaged.items())), None)
        why = f": of {len(index.damaged)} damaged ones the first is {first[0]} ({first[1]})" if first else ""
        raise TutelageError(f"there are no whole results in {index.root}{why}")


def _attach(connection: Any, index: ResultsIndex, stored: str) -> None:
    """Put the index in place as the database ``cache``: the file, or, where none could be written, one in memory."""
    if stored and attach(connection, index.file, "cache") == stored:
        return
    connection.execute("DETACH DATABASE IF EXISTS cache")
    if index.generation and attach(connection, index.file) != index.generation:
        raise _Replaced
    connection.execute("ATTACH ':memory:' AS cache")
    index.fill(connection)


def _experiments_view(connection: Any, sql: str) -> None:
    names = ["experiment", "kind", "members", *ABOUT, "settings"]
    settings = _Settings.named_in(sql, connection, "true", names)
    columns = [*(f"known.{name}" for name in names), *settings.columns(None)]
    tables = f"cache.known JOIN ({settings.select}) s USING (key)"
    connection.execute(f"CREATE VIEW {EXPERIMENTS} AS SELECT {', '.join(columns)} FROM {tables}")


def _view(connection: Any, root: Path, view: _View, sql: str) -> None:
    """Create a view of tables, with the settings of each row's member."""
    if not (read := _rows(connection, root, view)):
        return
    names = [name for name, *_ in connection.execute(f"DESCRIBE {read}").fetchall() if name != "key"]
    students = view.kinds is None
    columns = ["known.experiment"]
    columns += [f"t.{identifier(name)}" for name in names if not (students and name == "recovered")]
    columns += _recovered(view.file.removesuffix(".parquet"), names) if students else []
    taken = {"experiment", *names, *(["recovered"] if students else [])}
    settings = _Settings.named_in(sql, connection, view.where, taken)
    columns += settings.columns("t.member" if "member" in names else None)
    connection.execute(
        f"CREATE VIEW {identifier(view.name)} AS SELECT {', '.join(columns)} FROM ({read}) t "
        f"JOIN cache.known USING (key) JOIN ({settings.select}) s USING (key)"
    )


def _rows(connection: Any, root: Path, view: _View) -> str:
    """A SELECT over all rows of the tables of a view, with the column ``key``; empty where there are none."""
    held = f"FROM cache.held JOIN cache.known USING (key) WHERE file = {literal(view.file)} AND {view.where}"
    parts, large = [], {}
    for shape, in_place, keys in connection.execute(
        f"SELECT shape, large, list(key ORDER BY key) {held} GROUP BY ALL ORDER BY ALL"
    ).fetchall():
        if in_place:
            large[shape] = keys
        else:
            parts.append(f"SELECT * FROM cache.{identifier(f'rows {shape}')}")
    for number, keys in enumerate(large.values()):
        name = f"{view.name} in place {number}"
        files = [f"{root}/{key:016x}/{view.file}" for key in keys]
        connection.execute(f"SET VARIABLE {identifier(name)} = $files", {"files": files})
        connection.register("arrow", pa.table({"key": pa.array(keys, pa.uint64()), "place": range(len(keys))}))
        connection.execute(f"CREATE TABLE {identifier(name)} AS SELECT * FROM arrow")
        connection.unregister("arrow")
        parts.append(
            f"SELECT k.key, f.* FROM read_parquet(getvariable({literal(name)})) f "
            f"JOIN {identifier(name)} k ON k.place = f.file_index"
        )
    return " UNION ALL BY NAME ".join(parts)


@dataclass(frozen=True)
class _Setting:
    """A setting as columns: its column in ``cache.settings``, its names in SQL, its type, whether it is a list of one
    value per member.
    """

    place: str
    names: tuple[str, ...]
    type: str
    per_member: bool


@dataclass(frozen=True)
class _Settings:
    """The settings that a view has as columns."""

    settings: tuple[_Setting, ...]

    @classmethod
    def named_in(cls, sql: str, connection: Any, where: str, taken: Iterable[str]) -> "_Settings":
        """The settings that vary and those that a query names.

        where: the condition on ``cache.known`` that picks the experiments of the view; taken: names of columns that it
        has already.
        """
        known = f"FROM cache.known JOIN cache.settings USING (key) WHERE {where}"
        listed = connection.execute("SELECT dotted, place FROM cache.names ORDER BY dotted").fetchall()
        some = _each(connection, "count({})", [place for _, place in listed], known)
        here = {dotted: place for (dotted, place), count in zip(listed, some, strict=True) if count}
        words = {*re.findall(r"\w+", sql.lower()), *re.findall(r'"([^"]+)"', sql.lower())}
        aliases = _aliases(list(here), set(taken))
        chosen = {name: tuple(alias for alias in aliases[name] if alias in words) for name in aliases}
        if re.match(r"\s*(describe|desc|summarize)\b", sql, re.IGNORECASE):
            chosen = {name: used or aliases[name][:1] for name, used in chosen.items()}
        elif "*" in sql:
            rest = [name for name, used in chosen.items() if not used]
            varies = _each(connection, "min({0}) <> max({0})", [here[name] for name in rest], known)
            chosen |= {name: aliases[name][:1] for name, different in zip(rest, varies, strict=True) if different}
        chosen = {name: used for name, used in chosen.items() if used}
        kinds = _each(connection, "list(DISTINCT json_type({}))", [here[name] for name in chosen], known)
        several = {
            name
            for (names,) in connection.execute(f"SELECT DISTINCT per_member {known}").fetchall()
            for name in names.split()
        }
        return cls(
            tuple(
                _Setting(here[name], used, _type(set(found)), name in several)
                for (name, used), found in zip(chosen.items(), kinds, strict=True)
            )
        )

    @property
    def select(self) -> str:
        """A SELECT of their values per experiment, and of lists of values per member beside them.

        Values are read from JSON here, once per experiment, and not for each of the rows that are joined to it.
        """
        columns = ["key"]
        for i, setting in enumerate(self.settings):
            json = identifier(setting.place)
            if setting.per_member:
                columns += [f"TRY_CAST({json} AS DOUBLE) AS v{i}", f"TRY_CAST({json} AS DOUBLE[]) AS l{i}"]
            elif setting.type == "JSON":
                columns.append(f"CAST({json} AS JSON) AS v{i}")
            else:
                columns.append(f"TRY_CAST(json_extract_string({json}, '$') AS {setting.type}) AS v{i}")
        return f"SELECT {', '.join(columns)} FROM cache.settings"

    def columns(self, member: str | None) -> list[str]:
        """The columns of a SELECT: every setting under all its names, the value of the member where there is one."""
        values = [
            f"coalesce(s.v{i}, s.l{i}[{member} + 1])" if setting.per_member and member else f"s.v{i}"
            for i, setting in enumerate(self.settings)
        ]
        pairs = zip(values, self.settings, strict=True)
        return [f"{value} AS {identifier(name)}" for value, setting in pairs for name in setting.names]


def _each(connection: Any, expression: str, places: list[str], known: str) -> tuple[Any, ...]:
    """An aggregate of each of these columns of settings, all in one pass."""
    if not places:
        return ()
    wanted = ", ".join(expression.format(identifier(place)) for place in places)
    return tuple(connection.execute(f"SELECT {wanted} {known}").fetchone())


def _aliases(dotted: list[str], taken: set[str]) -> dict[str, tuple[str, ...]]:
    """The names of each setting in SQL, the shortest first: what is ambiguous or taken is none."""
    last = Counter(name.rpartition(".")[2].lower() for name in dotted)
    out: dict[str, tuple[str, ...]] = {}
    for name in dotted:
        whole, end = name.lower(), name.rpartition(".")[2].lower()
        names = dict.fromkeys((end if last[end] == 1 else whole, re.sub(r"\W", "_", whole), whole))
        names = {alias: None for alias in names if alias not in taken}
        if names:
            out[name] = tuple(names)
            taken.update(names)
    return out


def _type(kinds: set[str | None]) -> str:
    """The SQL type that holds the values of a setting, by the types that they have in JSON."""
    kinds -= {None, "NULL"}
    if kinds and kinds <= {"UBIGINT", "BIGINT"}:
        return "BIGINT"
    if kinds and kinds <= {"UBIGINT", "BIGINT", "DOUBLE"}:
        return "DOUBLE"
    if kinds == {"BOOLEAN"}:
        return "BOOLEAN"
    return "JSON" if kinds & {"ARRAY", "OBJECT"} else "VARCHAR"


def view_name(kind: str) -> str:
    """The view of a kind of experiment.

    >>> view_name("online-overlaps")
    'online_overlaps'
    """
    return re.sub(r"\W", "_", kind).lower()


def _kind_views(index: ResultsIndex) -> list[_View]:
    """One view per kind of experiment with arrays; kinds whose names differ in signs alone share one."""
    by_name: dict[str, list[str]] = {}
    for kind in index.kinds("values.parquet"):
        by_name.setdefault(view_name(kind), []).append(kind)
    taken = {EXPERIMENTS, *VIEWS.values()}
    return [_View(name, "values.parquet", tuple(kinds)) for name, kinds in by_name.items() if name not in taken]


def _recovered(axis: str, names: list[str]) -> list[str]:
    """The column ``recovered``: as it was measured, and where it was not, from the correlation it follows from."""
    ways = ["t.recovered"] * ("recovered" in names)
    if axis in _DERIVED and _DERIVED[axis] in names:
        ways.append(f"CAST(t.{_DERIVED[axis]} > CAST({RECOVERED} AS DOUBLE) AS TINYINT)")
    return [f"coalesce({', '.join(ways)}) AS recovered"] if ways else []


def _is_mistake(error: Exception) -> bool:
    """Whether the query is to blame; what is wrong with a file comes as an error of almost any other kind."""
    return type(error).__name__.removesuffix("Exception") in _MISTAKES


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0].strip()


def _refusal(error: Exception, connection: Any, kinds: list[_View]) -> TutelageError:
    """What is wrong with a query, with the views that there are, or the settings where it names a column in vain."""
    what = _first_line(error)
    if 'Referenced column "' in what:
        names = [name for (name,) in connection.execute("SELECT dotted FROM cache.names ORDER BY dotted").fetchall()]
        listed = connection.execute(
            "SELECT DISTINCT column_name FROM duckdb_columns() WHERE database_name = current_database() ORDER BY 1"
        )
        columns = ", ".join(name for (name,) in listed.fetchall() if name not in names)
        return TutelageError(
            f"the query cannot be answered ({what}): there are the columns {columns} and the settings "
            f"{', '.join(names)}"
        )
    files = "SELECT DISTINCT unnest(string_split(files, ' ')) AS file FROM cache.known"
    stored = {file.partition("/")[0] for (file,) in connection.execute(files).fetchall()}
    filled = [view for axis, view in VIEWS.items() if f"{axis}.parquet" in stored]
    views = ", ".join([EXPERIMENTS, *filled, *sorted(view.name for view in kinds)])
    empty = [view for view in VIEWS.values() if view not in filled]
    rest = f"; no stored experiment recorded a measure for {', '.join(empty)}" if empty else ""
    return TutelageError(f"the query cannot be answered ({what}): there are the views {views}{rest}")
