"""What a folder of results holds, as one DuckDB file beside the results: ``.index.duckdb``.

The idea. A hundred thousand manifests and tables take minutes to open, one database takes a moment. So what was read of
an experiment is kept: its settings and origin, and the rows of its small tables after their SHA-256 was compared with
the manifest. With each goes a stamp (inode, size and times of the file), and a stamp that differs from that of the file
on the disk means: read it again.

What is guaranteed. The results alone decide: a missing, old, damaged or locked index costs time and nothing else.
DuckDB allows one writer, so that nobody ever writes into an index that others read: changes make a new generation, a
file of another name that takes the place of the old one when it is complete. Of two processes that do so at once the
last one wins, and the next query adds what is missing. Where nothing can be written, the changes are made in memory.

How far it is believed. As far as any cache in the folder: the numbers in it could be anybody's, and so could those of
the results. It is opened to be read, on a locked connection (:mod:`.database`), and only if it holds nothing but tables
as they are made here: a view or a generated column would run SQL that no query was checked for. A bit that turned on
the disk is found by DuckDB's checksum of each block. Bits that turn in a result without a write change no stamp: only
'tutelage store check', which reads every byte each time, finds those.

What it costs: one call of the system per experiment and one per table that is asked for, about a second for a hundred
thousand. A change rewrites the file, about a second for every hundred megabytes; files that are large are therefore
not copied into it.
"""

import hashlib
import io
import os
import re
import secrets
import stat
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tutelage.errors import TutelageError
from tutelage.lab.database import COLUMN, identifier, literal, module, opened
from tutelage.lab.experiment import canonical
from tutelage.lab.manifest import HASH, MANIFEST, Damage, bad_table, checksum, damage, open_own, read, regular

A = TypeVar("A")
B = TypeVar("B")

FILE = ".index.duckdb"

ABOUT = {
    "version": pa.string(),
    "commit": pa.string(),
    "device": pa.string(),
    "engine": pa.string(),
    "seconds": pa.float64(),
    "finished": pa.string(),
    "bytes": pa.int64(),
}
"""Where results came from."""

_KNOWN = pa.schema(
    {
        "key": pa.uint64(),
        "experiment": pa.string(),
        "stamp": pa.int64(),
        "kind": pa.string(),
        "members": pa.int64(),
        **ABOUT,
        "settings": pa.string(),
        "per_member": pa.string(),
        "files": pa.string(),
    }
)
"""One row per whole experiment. ``key`` is its hash as a number; ``files``: " NAME/SIZE" of each."""

_HELD = pa.schema(
    {"key": pa.uint64(), "file": pa.string(), "stamp": pa.int64(), "shape": pa.string(), "large": pa.bool_()}
)
"""One row per table whose SHA-256 was compared. Its rows are in the table ``rows SHAPE``, or, if large, in place."""

_NAMES = pa.schema({"dotted": pa.string(), "place": pa.string()})
"""The settings, each a column of the table ``settings``, whose name is no data: "s" and a hash of the dotted name."""

_NEW_NAMES = """SELECT DISTINCT dotted, 's' || left(md5(dotted), 16) AS place
    FROM (SELECT unnest(json_keys(settings)) AS dotted FROM "new known")"""
_TYPES = {"uint64": "UBIGINT", "int64": "BIGINT", "string": "VARCHAR", "double": "DOUBLE", "bool": "BOOLEAN"}

SMALL = 64 << 10
"""Bytes of a table that is copied: opening a file costs 0.1 ms, less than to copy a larger one at each change."""

_VALUES = 1 << 20  # in a small table: 64 KiB of repeated values could fill the memory
_READERS, _AT_A_TIME = 4, 200  # threads, for a folder on another machine, and files that each takes at once
_SAID = ("version", "commit", "device", "engine", "finished")


class ResultsIndex:
    """The index of a folder, as it should be: what is on the disk, and what has changed since.

    Parameters
    ----------
    root
        The folder of results.
    believe
        Whether the file is to be used, if it can be; else everything is read anew.
    """

    def __init__(self, root: Path, believe: bool = True) -> None:
        self.root, self.file = root, root / FILE
        self.part = root / f".index.{secrets.token_hex(4)}.part"
        stamps = _stamps(root, _stamp)
        self.connection = opened([*paths(self.file), *paths(self.part)])
        self.generation = attach(self.connection, self.file) if believe else ""
        known = dict(self._old("SELECT experiment, stamp FROM old.known"))
        self.good = {name for name, stamp in known.items() if stamps.get(name) == stamp}
        rows = _side_by_side(lambda name: _row(root / name, stamps[name]), sorted(stamps.keys() - self.good))
        self.damaged = {row["experiment"]: row["damage"] for row in rows if "damage" in row}
        self.fresh = [row for row in rows if row and "damage" not in row]
        self.held: list[dict[str, Any]] = []  # tables that were read now
        self.dropped: set[tuple[int, str]] = set()  # tables that are not what they were when they were read
        self.rows: dict[str, list[pa.Table]] = {}  # of tables that were read now, by shape
        self.changed = (bool(rows) and bool(self.fresh)) or len(self.good) < len(known)

    def _old(self, sql: str) -> list[tuple[Any, ...]]:
        return list(self.connection.execute(sql).fetchall()) if self.generation else []

    def __len__(self) -> int:
        """The number of whole experiments."""
        return len(self.good) + len(self.fresh)

    def listed(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """These columns of all whole experiments."""
        old = self._old(f"SELECT {', '.join(names)} FROM old.known")
        rows = [dict(zip(names, row, strict=True)) for row in old]
        return [row for row in rows if row["experiment"] in self.good] + [
            {name: row.get(name) for name in names} for row in self.fresh
        ]

    def kinds(self, file: str) -> list[str]:
        """The kinds of experiment that have a file of this name."""
        old = self._old(f"SELECT DISTINCT kind FROM old.known WHERE contains(files, {literal(f' {file}/')})")
        return sorted({kind for (kind,) in old} | {row["kind"] for row in self.fresh if f" {file}/" in row["files"]})

    def hold(self, file: str, kinds: Collection[str] | None = None) -> tuple[list[str], int]:
        """See to it that the tables of this name are held, of all kinds of experiment or of some.

        Returns the paths of the large ones, and how many were left out because they do not match their checksum.
        """
        where = f"contains(files, {literal(f' {file}/')})"
        if kinds is not None:
            where += f" AND kind IN ({', '.join(map(literal, kinds))})"
        names = (name for (name,) in self._old(f"SELECT experiment FROM old.known WHERE {where}"))
        known = {int(name, 16) for name in names if name in self.good}
        new = [row for row in self.fresh if f" {file}/" in row["files"] and (kinds is None or row["kind"] in kinds)]
        stamps = {key: _stamp(self._path(key, file)) for key in (*known, *(row["key"] for row in new))}
        select = f"SELECT key, stamp, large FROM old.held WHERE file = {literal(file)}"
        # A table falls into one of three: held with the stamp it has on the disk, and used as it is; held with another
        # stamp, dropped and read again; or not held, and read. Nothing is used whose stamp was not compared just now.
        # A table of an experiment whose manifest is new is new, too: the manifest may name another checksum
        held = {key: (stamp, large) for key, stamp, large in self._old(select) if key in known}
        large = [key for key, (stamp, is_large) in held.items() if is_large and stamp == stamps[key]]
        self.dropped |= {(key, file) for key, (stamp, _) in held.items() if stamp != stamps[key]}
        missing = sorted(key for key, stamp in stamps.items() if key not in held or held[key][0] != stamp)
        found = _side_by_side(lambda key: self._read(key, file, stamps[key]), missing)
        good = [entry for entry in found if entry is not None]
        for entry, table in good:
            self.held.append(entry)
            large += [entry["key"]] * entry["large"]
            if table is not None:
                self.rows.setdefault(entry["shape"], []).append(table)
        self.changed = self.changed or bool(good or self.dropped)
        return [self._path(key, file) for key in large], len(missing) - len(good)

    def _path(self, key: int, file: str) -> str:
        return f"{self.root}/{key:016x}/{file}"

    def _read(self, key: int, file: str, stamp: int) -> tuple[dict[str, Any], pa.Table | None] | None:
        """What is held of a table, and its rows if it is small; None where it is not what the manifest says."""
        path = Path(self._path(key, file))
        try:
            digest = read(path.parent).files[file]
            entry = {"key": key, "file": file, "stamp": stamp, "large": regular(path.parent, file) > SMALL}
            table = None
            if entry["large"]:
                if checksum(path) != digest or bad_table(path):
                    return None
                schema = pq.read_schema(path)
            else:
                with open_own(path) as stream:
                    content = stream.read(SMALL + 1)
                if hashlib.sha256(content).hexdigest() != digest:
                    return None
                schema, table = _parsed(content)
                entry["large"] = table is None
        except Exception:  # the manifest may be anybody's too, and so is what readers raise of a file that matches it
            return None
        names = [name.lower() for name in schema.names]
        if not all(map(COLUMN.fullmatch, schema.names)) or len(set(names)) < len(names) or "key" in names:
            return None
        if _stamp(str(path)) != stamp:  # a file that changed while it was read is not used
            return None
        shape = f"{file} {[(field.name, str(field.type)) for field in schema]}"
        entry["shape"] = hashlib.sha256(shape.encode()).hexdigest()[:16]
        if table is not None:
            keys = pa.array(np.full(len(table), key, np.uint64))
            table = table.replace_schema_metadata(None).append_column("key", keys)
        return entry, table

    def keep(self) -> str:
        """Write the changes, if any, as a new generation; that of the file, empty if it cannot be written."""
        if not self.changed and self.generation:
            return self.generation
        try:
            self.connection.execute(f"ATTACH {literal(self.part)} AS cache")
            generation = self.fill(self.connection)
            self.connection.execute("DETACH cache")  # closes the file: what is renamed next is complete
            os.replace(self.part, self.file)
            return generation
        except (OSError, module().IOException):
            return ""
        finally:
            for left in paths(self.part):
                with suppress(OSError):
                    os.unlink(left)

    def fill(self, connection: Any) -> str:
        """Make the tables of a new generation in the database ``cache``, from what is still good of ``old`` and the
        rest; the name of the generation.

        Data alone is taken over from the old file: whatever else it may hold ends with it.
        """
        fresh = {
            "good": pa.table({"key": pa.array((int(name, 16) for name in self.good), pa.uint64())}),
            "dropped": pa.Table.from_pylist([{"key": key, "file": file} for key, file in self.dropped], _HELD),
            "new known": pa.Table.from_pylist(self.fresh, _KNOWN),
            "new held": pa.Table.from_pylist(self.held, _HELD),
            **{f"new rows {shape}": pa.concat_tables(tables).combine_chunks() for shape, tables in self.rows.items()},
        }
        for name, table in fresh.items():
            connection.register(name, table)
        held = "SEMI JOIN good USING (key) ANTI JOIN dropped USING (key, file)"
        shapes = f"SELECT DISTINCT shape FROM old.held {held} WHERE NOT large"
        before = [shape for (shape,) in connection.execute(shapes).fetchall()] if self.generation else []
        kept = {
            "known": "SEMI JOIN good USING (key)",
            "settings": "SEMI JOIN good USING (key)",
            "names": f"ANTI JOIN ({_NEW_NAMES}) USING (dotted)",
            "held": held,
            **{f"rows {s}": f"SEMI JOIN (FROM old.held {held} WHERE shape = {literal(s)}) USING (key)" for s in before},
        }
        new = {
            name: f"FROM {identifier(f'new {name}')}" for name in ("known", "held", *(f"rows {s}" for s in self.rows))
        }
        new |= {"settings": _settings(connection), "names": _NEW_NAMES}
        # Invariant of every table: rows of old whose key is still good, and rows of new, never both for one key: what
        # was read anew is not in `good`, or is in `dropped`.
        for name in {**kept, **new}:
            old = [f"FROM old.{identifier(name)} {kept[name]}"] if self.generation and name in kept else []
            both = " UNION ALL BY NAME ".join([*old, *([new[name]] if name in new else [])])
            connection.execute(f"CREATE TABLE cache.{identifier(name)} AS {both}")
        for name in fresh:
            connection.unregister(name)
        generation = secrets.token_hex(8)
        connection.execute(f"CREATE TABLE cache.generation AS SELECT {literal(generation)} AS id")
        return generation


def paths(file: Path) -> list[str]:
    """Every file that DuckDB may open for a database, its logs included."""
    return [f"{file}{end}" for end in ("", ".wal", ".wal.checkpoint", ".wal.recovery")]


def attach(connection: Any, file: Path, name: str = "old") -> str:
    """Attach an index to be read, and name its generation; empty where there is none that may be used."""
    if not _is_file(file) or any(os.path.lexists(log) for log in paths(file)[1:]):  # we leave no log behind
        return ""
    try:
        connection.execute(f"ATTACH {literal(file)} AS {name} (READ_ONLY)")
        if _is_ours(connection, name):
            ((generation,),) = connection.execute(f"SELECT id FROM {name}.generation").fetchall()
            return str(generation)
        connection.execute(f"DETACH {name}")
    except (module().Error, ValueError):
        with suppress(module().Error):
            connection.execute(f"DETACH {name}")
    return ""


def _is_ours(connection: Any, name: str) -> bool:
    """Whether a database has the tables that :meth:`ResultsIndex.fill` makes, and nothing that computes."""
    here = f"database_name = {literal(name)}"
    computing = (
        f"(SELECT count(*) FROM duckdb_views() WHERE {here} AND NOT internal)"
        f" + (SELECT count(*) FROM duckdb_functions() WHERE {here} AND NOT internal)"
        f" + (SELECT count(*) FROM duckdb_tables() WHERE {here} AND contains(sql, 'GENERATED ALWAYS'))"
    )
    columns: dict[str, dict[str, str]] = {}
    every = f"SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE {here} ORDER BY column_index"
    for table, column, kind in connection.execute(every).fetchall():
        columns.setdefault(table, {})[column] = kind
    wanted = {"known": _KNOWN, "held": _HELD, "names": _NAMES}
    alike = all(columns.get(table) == _sql_types(schema) for table, schema in wanted.items())
    if not alike or connection.execute(f"SELECT {computing}").fetchone() != (0,):
        return False
    places = {place for (place,) in connection.execute(f"SELECT place FROM {name}.names").fetchall()}
    shapes = connection.execute(f"SELECT DISTINCT shape FROM {name}.held WHERE NOT large").fetchall()
    settings = columns.get("settings", {})
    return settings.keys() == places | {"key"} and all(f"rows {shape}" in columns for (shape,) in shapes)


def _sql_types(schema: pa.Schema) -> dict[str, str]:
    return {field.name: _TYPES[str(field.type)] for field in schema}


def _settings(connection: Any) -> str:
    """The settings of new experiments, one JSON text per column: read once from the text that has all of them."""
    names = connection.execute(f"{_NEW_NAMES} ORDER BY dotted").fetchall()
    escaped = [dotted.replace("\\", "\\\\").replace('"', '\\"') for dotted, _ in names]
    wanted = ", ".join(literal(f'$."{name}"') for name in escaped)
    columns = ["key", *(f"CAST(value[{i}] AS VARCHAR) AS {place}" for i, (_, place) in enumerate(names, start=1))]
    values = f"json_extract(settings, [{wanted}]::VARCHAR[])" if names else "[]"
    return f'SELECT {", ".join(columns)} FROM (SELECT key, {values} AS value FROM "new known")'


def hashes(root: Path) -> list[str]:
    """Names of all experiments, whole or not."""
    return sorted(_stamps(root, lambda path: 0))


def _stamps(root: Path, stamp: Callable[[str], int]) -> dict[str, int]:
    """The name of every experiment and the stamp of its manifest; a link instead of a folder has none.

    The stamp of the folder would tell of files that were removed; those of them that a query asks for are looked at
    anyway, and every call of the system takes microseconds a hundred thousand times.
    """
    try:
        with os.scandir(root) as entries:
            return {
                entry.name: 0 if entry.is_symlink() else stamp(f"{root}/{entry.name}/{MANIFEST}")
                for entry in entries
                if HASH.fullmatch(entry.name)
            }
    except OSError as error:
        raise TutelageError(
            f"the results in {root} cannot be read ({error.strerror}): name their folder with --results"
        ) from None


def _stamp(path: str) -> int:
    """What changes whenever a plain file is written or replaced, 0 for anything else.

    The hash of Python of whole numbers is the same in every process; were it not, the index would cost time.
    """
    try:
        about = os.lstat(path)
    except OSError:
        return 0
    if not stat.S_ISREG(about.st_mode):
        return 0
    return hash((about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns))


def _is_file(path: Path) -> bool:
    return _stamp(str(path)) != 0


def _side_by_side(function: Callable[[A], B], given: Sequence[A]) -> list[B]:
    """Results of a function that reads files, in order; several are read at a time, for a folder on another machine."""

    def some(start: int) -> list[B]:
        return [function(one) for one in given[start : start + _AT_A_TIME]]

    with ThreadPoolExecutor(max_workers=_READERS) as readers:
        return [one for part in readers.map(some, range(0, len(given), _AT_A_TIME)) for one in part]


def _parsed(content: bytes) -> tuple[pa.Schema, pa.Table | None]:
    """The columns of a Parquet file and its rows; no rows where they are better read in place, by DuckDB itself."""
    file = pq.ParquetFile(io.BytesIO(content))
    about = file.metadata
    groups = (about.row_group(i) for i in range(about.num_row_groups))
    values = sum(group.column(j).num_values for group in groups for j in range(group.num_columns))
    copied = values <= _VALUES and all(_is_simple(field.type) for field in file.schema_arrow)
    return file.schema_arrow, file.read(use_threads=False) if copied else None


def _is_simple(kind: pa.DataType) -> bool:
    """Whether columns of a type can be handed to DuckDB: numbers, texts and lists of them, as experiments write."""
    if pa.types.is_list(kind):
        return _is_simple(kind.value_type)
    return pa.types.is_integer(kind) or kind in (pa.float32(), pa.float64(), pa.bool_(), pa.string())


def _row(folder: Path, stamp: int) -> dict[str, Any]:
    """What is known of one experiment, or its damage; nothing where it has been removed in the meantime."""
    try:
        manifest = read(folder)
        for problem in damage(folder, manifest, checksums=False):
            raise problem
        about = manifest.about
        return {
            "key": int(folder.name, 16),
            "experiment": folder.name,
            "stamp": stamp,
            "kind": manifest.settings["kind"],
            "members": manifest.members,
            **{name: text(about.get(name)) for name in _SAID},
            "seconds": number(about.get("seconds")),
            "bytes": sum(manifest.bytes.values()),
            "settings": canonical(manifest.flat),
            "per_member": " ".join(manifest.per_member),
            "files": "".join(f" {name}/{size}" for name, size in manifest.bytes.items()),
        }
    except Damage as problem:
        if os.path.lexists(folder):
            return {"experiment": folder.name, "damage": f"{problem.file} {problem.what}"}
        return {}


_SURROGATE = re.compile(r"[\ud800-\udfff]")  # half of a pair, which JSON can write and UTF-8 cannot


def number(value: Any) -> float | None:
    """A number as a float, None where it is none."""
    try:
        return float(value) if type(value) in (int, float) else None
    except OverflowError:
        return None


def text(value: Any) -> str | None:
    """A text that a table can hold, None where it is none."""
    return value if isinstance(value, str) and not _SURROGATE.search(value) else None
