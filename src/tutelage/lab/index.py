"""Which experiments a results folder has, with settings and origin of each as columns of one table.

What was read of an experiment is kept in ``.index/experiments.parquet`` and used again as long as the folder and its
manifest are untouched. The folders alone decide: an index that is missing, old or damaged costs time and nothing else.
"""

import io
import os
import re
import stat
from collections.abc import Iterator, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tutelage.errors import TutelageError
from tutelage.files import write_atomically
from tutelage.lab.checked import content_key, sealed, unsealed
from tutelage.lab.experiment import canonical, digest
from tutelage.lab.manifest import HASH, MANIFEST, Damage, Manifest, damage, read, regular
from tutelage.lab.tables import INDEX

ABOUT = pa.schema(
    {
        "version": pa.string(),
        "commit": pa.string(),
        "device": pa.string(),
        "engine": pa.string(),
        "seconds": pa.float64(),
        "finished": pa.string(),
        "bytes": pa.int64(),
    }
)
"""Where results came from."""

_LOOK = {
    "experiment": pa.string(),
    "kind": pa.string(),
    "members": pa.int64(),
    "stamp": pa.string(),
    "damage": pa.string(),
    "files": pa.string(),
    "settings": pa.string(),
    "per_member": pa.string(),
    "layout": pa.string(),
}
TABLES = (*INDEX, "values")
"""Tables that an experiment may have: those of trained students by axis, and the arrays of any other kind."""

_KEYS = {f"{axis}_key": pa.uint64() for axis in TABLES} | {f"{axis}_bytes": pa.int64() for axis in TABLES}
SCHEMA = pa.schema([*pa.schema(_LOOK), *ABOUT, *pa.schema(_KEYS)])

_READERS, _AT_A_TIME = 4, 200
_SAID = ("version", "commit", "device", "engine", "finished")


def experiments(root: Path, every_file: bool = False) -> pa.Table:
    """One row per experiment of a results folder, in the order of their hashes; ``damage`` says what is wrong with one.

    Kinds and sizes of files are compared with the manifest when an experiment is met for the first time and, with
    ``every_file``, each time; checksums are a matter for :func:`tutelage.lab.store_tools.check`.
    """
    stamps = dict(sorted(_stamps(root)))
    known = _known(root)
    names = known["experiment"].to_pylist()
    good = [stamps.get(name) == stamp for name, stamp in zip(names, known["stamp"].to_pylist(), strict=True)]
    kept = known.filter(pa.array(good, pa.bool_()))
    missing = stamps.keys() - set(kept["experiment"].to_pylist())
    rows = _rows(root, {name: stamps[name] for name in sorted(missing)})
    table = pa.concat_tables([kept, pa.Table.from_pylist(rows, SCHEMA)]) if rows else kept
    if rows or len(kept) < len(known):
        table = table.sort_by("experiment")
        _keep(root, table.filter(table["damage"].is_null()))
    return _looked_at(root, table, missing) if every_file else table


def index_folder(root: Path) -> Path | None:
    """The folder of what was read before, None where it is not to be used because it leads elsewhere."""
    folder = root / ".index"
    return None if folder.is_symlink() else folder


def hashes(root: Path) -> list[str]:
    """Names of all experiments, whole or not."""
    try:
        with os.scandir(root) as entries:
            return sorted(entry.name for entry in entries if HASH.fullmatch(entry.name))
    except OSError as error:
        raise TutelageError(
            f"the results in {root} cannot be read ({error.strerror}): name their folder with --results"
        ) from None


def _stamps(root: Path) -> Iterator[tuple[str, str]]:
    """Name of every experiment and what changes whenever its files or its manifest are replaced."""
    for name in hashes(root):
        try:
            folder = os.lstat(f"{root}/{name}")
            file = os.lstat(f"{root}/{name}/{MANIFEST}")
            yield name, f"{folder.st_ino} {folder.st_ctime_ns} {file.st_ino} {file.st_ctime_ns} {file.st_size}"
        except OSError:
            yield name, ""


def _known(root: Path) -> pa.Table:
    """The index as it was left, empty where there is none that can be used."""
    folder = index_folder(root)
    if folder is not None:
        try:
            table = pq.read_table(io.BytesIO(unsealed(folder / "experiments.parquet") or b""))
            if table.schema.equals(SCHEMA):
                return table
        except (OSError, pa.ArrowException):
            pass
    return SCHEMA.empty_table()


def _keep(root: Path, table: pa.Table) -> None:
    """Write the index for the next time; a folder that cannot be written is read anew each time."""
    if (folder := index_folder(root)) is None:
        return
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    with suppress(TutelageError):
        write_atomically(folder / "experiments.parquet", sealed(buffer.getvalue()))


def _rows(root: Path, stamps: dict[str, str]) -> list[dict[str, Any]]:
    """What the index says of experiments; several are read at a time, which a folder on another machine needs."""
    names = list(stamps)

    def some(start: int) -> list[dict[str, Any]]:
        return [_row(root / name, stamps[name]) for name in names[start : start + _AT_A_TIME]]

    with ThreadPoolExecutor(max_workers=_READERS) as readers:
        chunks = readers.map(some, range(0, len(names), _AT_A_TIME))
        return [row for chunk in chunks for row in chunk if row]


def _row(folder: Path, stamp: str) -> dict[str, Any]:
    """What the index says of one experiment, nothing where it has been removed in the meantime."""
    row: dict[str, Any] = {"experiment": folder.name, "stamp": stamp}
    try:
        manifest = read(folder)
        for problem in damage(folder, manifest, checksums=False):
            raise problem
        sizes = manifest.bytes or {name: regular(folder, name) for name in manifest.files}
        row |= _described(manifest) | _about(manifest)
    except Damage as problem:
        return row | {"damage": f"{problem.file} {problem.what}"} if os.path.lexists(folder) else {}
    row["bytes"] = sum(sizes.values())
    row["files"] = " ".join(f"{name}/{size}" for name, size in sizes.items())
    for axis in TABLES:
        if (name := f"{axis}.parquet") in manifest.files:
            row |= {f"{axis}_key": content_key(folder.name, manifest.files[name]), f"{axis}_bytes": sizes[name]}
    return row


def _described(manifest: Manifest) -> dict[str, Any]:
    """Kind, number of members and settings of an experiment; layout: the same where tables have the same columns."""
    about, flat = manifest.settings, manifest.flat
    decides = [about["kind"], sorted(flat), flat.get("record.measures"), flat.get("precision"), about.get("plugins")]
    return {
        "kind": text(about["kind"]),
        "members": manifest.members,
        "settings": canonical(flat),
        "per_member": " ".join(manifest.per_member),
        "layout": digest(canonical(decides)),
    }


def _about(manifest: Manifest) -> dict[str, Any]:
    """Origin of an experiment; entries that are not of the kind they should be stay empty."""
    about = manifest.about
    return {name: text(about.get(name)) for name in _SAID} | {"seconds": number(about.get("seconds"))}


def _looked_at(root: Path, table: pa.Table, just_read: Set[str]) -> pa.Table:
    """The same rows after a look at every file of every experiment that was thought to be whole and was not just
    read.
    """
    states = table["damage"].to_pylist()
    rows = zip(table["experiment"].to_pylist(), table["files"].to_pylist(), strict=True)
    for i, (result, files) in enumerate(rows):
        if states[i] is None and result not in just_read:
            states[i] = _changed(f"{root}/{result}", files)
    place = table.schema.get_field_index("damage")
    return table.set_column(place, "damage", pa.array(states, pa.string()))


def _changed(folder: str, files: str) -> str | None:
    """What is wrong with the first file that is not what it was when the index was written."""
    for entry in files.split(" "):
        name, size = entry.split("/")
        try:
            about = os.lstat(f"{folder}/{name}")
        except OSError:
            about = None
        if about is None or about.st_size != int(size) or not stat.S_ISREG(about.st_mode):
            expected = Manifest({}, {}, "", {name: ""}, 0, [], {}, {name: int(size)})
            problem = next(damage(Path(folder), expected, checksums=False), None)
            return f"{name} {problem.what if problem else 'has changed'}"
    return None


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
