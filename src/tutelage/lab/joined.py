"""The tables of many experiments as one: large ones are read in place, small ones from a copy that holds them all.

Opening a file costs DuckDB a tenth of a millisecond, so a hundred thousand small tables would take ten seconds each
time. When enough of them have come together they are copied into ``.index/AXIS-TIME-KEY.parquet``, each row under a key
that names experiment and content; KEY names the content of the copy. An experiment that was removed or computed again
since has no row whose key is still asked for.
"""

import logging
import os
import secrets
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tutelage.lab.checked import content_key, matching
from tutelage.lab.database import literal, opened
from tutelage.lab.index import index_folder
from tutelage.lab.manifest import checksum
from tutelage.lab.tables import INDEX

log = logging.getLogger(__name__)

LEFT_OUT = "damaged experiments are left out: %d; 'tutelage store check' names them"

SMALL = 64 << 10
"""Tables of at most so many bytes are copied."""

FEW = 1000
"""So many small tables are read in place; beyond, and beyond an eighth of what the copy holds, they are copied."""


@dataclass(frozen=True)
class AxisTables:
    """The tables of an axis: a copy of many, and sets of tables with the same columns (place, path and key of each)."""

    copy: Path | None
    alike: list[pa.Table]

    @property
    def files(self) -> list[str]:
        """Every file that :meth:`select` reads."""
        copy = [] if self.copy is None else [str(self.copy)]
        return copy + [path for tables in self.alike for path in tables["path"].to_pylist()]

    def select(self, connection: Any) -> str:
        """A SELECT over all tables, with the column ``key``; empty where there are none."""
        parts = [] if self.copy is None else [f"SELECT * FROM read_parquet({literal(self.copy)})"]
        for tables in self.alike:
            name = f"tables_{secrets.token_hex(4)}"
            connection.execute(f"SET VARIABLE {name} = $paths", {"paths": tables["path"].to_pylist()})
            connection.register("arrow", tables.select(["place", "key"]))
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM arrow")
            connection.unregister("arrow")
            parts.append(
                f"SELECT k.key, f.* FROM read_parquet(getvariable('{name}'), union_by_name = true) f "
                f"JOIN {name} k ON k.place = f.file_index"
            )
        return " UNION ALL BY NAME ".join(parts)


def source(root: Path, axis: str, table: pa.Table, copied: bool = True) -> AxisTables:
    """The tables of an axis of all experiments; copied: whether small ones may be read from a copy."""
    table = table.filter(table[f"{axis}_key"].is_valid())
    if not copied:
        return AxisTables(None, _in_place(root, axis, table))
    copy, held = _newest(root, axis, table)
    loose = table.filter(pc.invert(pc.is_in(table[f"{axis}_key"], held)))
    small = loose.filter(pc.less_equal(loose[f"{axis}_bytes"], SMALL))
    if len(small) > FEW + len(held) // 8 and (made := _copy(root, axis, held, small, copy)):
        copy, loose = made, loose.filter(pc.greater(loose[f"{axis}_bytes"], SMALL))
    return AxisTables(copy, _in_place(root, axis, loose))


def _in_place(root: Path, axis: str, table: pa.Table) -> list[pa.Table]:
    """Place, path and key of tables, for each set of experiments whose tables have the same columns.

    Tables that do not match their checksum are left out, with a warning.
    """
    table = table.filter(pa.array(_as_written(root, axis, table), pa.bool_()))
    sets = []
    for layout in table["layout"].unique().to_pylist():
        alike = table.filter(pc.equal(table["layout"], layout))
        paths = [f"{root}/{result}/{axis}.parquet" for result in alike["experiment"].to_pylist()]
        places = pa.array(range(len(paths)), pa.uint64())
        sets.append(pa.table({"place": places, "path": pa.array(paths, pa.string()), "key": alike[f"{axis}_key"]}))
    return sets


def _as_written(root: Path, axis: str, table: pa.Table) -> list[bool]:
    """Whether the table of each experiment has the SHA-256 that its manifest says (:mod:`.checked`)."""
    files = [f"{result}/{axis}.parquet" for result in table["experiment"].to_pylist()]
    wanted = dict(zip(files, table[f"{axis}_key"].to_pylist(), strict=True))
    matched = matching(root, _memory(root, axis), wanted)
    good = [file in matched for file in files]
    if not all(good):
        log.warning(LEFT_OUT, good.count(False))
    return good


def _memory(root: Path, what: str) -> Path | None:
    """The file that remembers which files were checked."""
    folder = index_folder(root)
    return None if folder is None else folder / f"checked-{what}.parquet"


def _newest(root: Path, axis: str, table: pa.Table) -> tuple[Path | None, pa.Array]:
    """The newest copy, and the keys it holds of those asked for."""
    copy = next(iter(_copies(root, axis)), None)
    if copy is not None and _is_as_copied(root, axis, copy):
        with suppress(Exception):  # a damaged copy is as good as none
            keys = pq.read_table(copy, columns=["key"])["key"].unique()
            wanted = table[f"{axis}_key"].combine_chunks()
            return copy, wanted.filter(pc.is_in(wanted, keys))
    return None, pa.array([], pa.uint64())


def _is_as_copied(root: Path, axis: str, copy: Path) -> bool:
    """Whether a copy still has the content that the last part of its name stands for."""
    file = f"{copy.parent.name}/{copy.name}"
    try:
        key = int(copy.stem.rpartition("-")[2], 16)
    except ValueError:
        return False
    return bool(matching(root, _memory(root, f"{axis}-copy"), {file: key}))


def _copies(root: Path, axis: str) -> list[Path]:
    """Copies of the tables of an axis, newest first."""
    folder = index_folder(root)
    if folder is None or not folder.is_dir():
        return []
    return sorted((f for f in folder.glob(f"{axis}-*.parquet") if f.is_file() and not f.is_symlink()), reverse=True)


def _copy(root: Path, axis: str, held: pa.Array, fresh: pa.Table, old: Path | None) -> Path | None:
    """A new copy: of what the old one holds that is still wanted, and the fresh tables; None where it cannot be."""
    if (folder := index_folder(root)) is None:
        return None
    part = folder / f".{axis}.{secrets.token_hex(4)}.part"
    tables = AxisTables(None, _in_place(root, axis, fresh))
    read: list[str | Path] = [*tables.files, *([] if old is None else [old])]
    try:
        folder.mkdir(exist_ok=True)
        with opened([*read, part]) as connection:
            connection.register("held", pa.table({"key": held}))
            parts = [tables.select(connection)]
            if old is not None:
                parts.append(f"SELECT t.* FROM read_parquet({literal(old)}) t SEMI JOIN held ON t.key = held.key")
            every = " UNION ALL BY NAME ".join(filter(None, parts))
            how = "FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false"
            connection.execute(f"COPY ({every}) TO {literal(part)} ({how})")
        final = folder / f"{axis}-{time.time_ns():020d}-{content_key(folder.name, checksum(part)):016x}.parquet"
        os.replace(part, final)
    except OSError:
        return None
    finally:
        part.unlink(missing_ok=True)
    for stale in _copies(root, axis)[2:]:  # the last but one may still be read
        with suppress(OSError):
            stale.unlink()
    return final


def forget(root: Path) -> bool:
    """Remove all copies, to be made anew from the experiments; whether there were any."""
    copies = [copy for axis in INDEX for copy in _copies(root, axis)]
    for copy in copies:
        with suppress(OSError):
            copy.unlink()
    return bool(copies)
