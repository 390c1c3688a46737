"""Files whose SHA-256 was compared once, remembered in ``.index/checked-AXIS.parquet`` so that it costs once.

What a remembered check means: the file had the right bytes when it was last read whole, and since then its inode, size
and times of change are the same. Whoever replaces or rewrites a file changes one of them and is found out at the next
query. Bits that turn on the disk without a write change none of them: only 'tutelage store check', which reads every
byte each time, finds those.
"""

import hashlib
import io
import os
import stat
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tutelage.errors import TutelageError
from tutelage.files import write_atomically
from tutelage.lab.manifest import bad_table, checksum

_SCHEMA = pa.schema({"file": pa.string(), "key": pa.uint64(), "stamp": pa.string()})
_READERS, _AT_A_TIME = 4, 200
_SPARE = 1000  # remembered checks beyond twice those asked for, before the others are forgotten


def content_key(result: str, digest: str) -> int:
    """A number that names an experiment and the content of one of its tables."""
    return int.from_bytes(hashlib.sha256(f"{result} {digest}".encode()).digest()[:8])


def matching(root: Path, memory: Path | None, wanted: Mapping[str, int]) -> set[str]:
    """Those of the tables ``FOLDER/FILE`` below ``root`` whose content has its key (:func:`content_key`).

    A table whose columns have names that no experiment writes is not among them.

    memory: the file in which checks are remembered, None for nowhere.
    """
    known = _known(memory)
    stamps = {file: stamp for file in wanted if (stamp := _stamp(f"{root}/{file}"))}
    good = {file for file, stamp in stamps.items() if known.get(file) == (wanted[file], stamp)}
    fresh = {file: wanted[file] for file in stamps if file not in good}
    intact = set(_compared(root, fresh))
    # a file that changed while it was read is not remembered, and is not used either
    intact = {file for file in intact if _stamp(f"{root}/{file}") == stamps[file]}
    if memory is not None and intact:
        known = known if len(known) <= 2 * len(wanted) + _SPARE else {file: known[file] for file in good}
        _keep(memory, known | {file: (wanted[file], stamps[file]) for file in intact})
    return good | intact


def _compared(root: Path, files: Mapping[str, int]) -> Iterator[str]:
    """The files whose content, read whole, has its key; several are read at a time."""
    names = sorted(files)

    def some(start: int) -> list[str]:
        return [name for name in names[start : start + _AT_A_TIME] if _has_key(root, name, files[name])]

    with ThreadPoolExecutor(max_workers=_READERS) as readers:
        for part in readers.map(some, range(0, len(names), _AT_A_TIME)):
            yield from part


def _has_key(root: Path, file: str, key: int) -> bool:
    try:
        return content_key(file.rpartition("/")[0], checksum(root / file)) == key and not bad_table(root / file)
    except OSError:
        return False


def _stamp(path: str) -> str:
    """What changes whenever a plain file is written or replaced, empty for anything else."""
    try:
        about = os.lstat(path)
    except OSError:
        return ""
    stamp = f"{about.st_ino} {about.st_size} {about.st_mtime_ns} {about.st_ctime_ns}"
    return stamp if stat.S_ISREG(about.st_mode) else ""


def sealed(data: bytes) -> bytes:
    """Bytes with their SHA-256 before them."""
    return hashlib.sha256(data).digest() + data


def unsealed(path: Path) -> bytes | None:
    """The bytes that :func:`sealed` wrote, None where the file is missing, a link, or not as it was written."""
    try:
        data = b"" if path.is_symlink() else path.read_bytes()
    except OSError:
        return None
    return data[32:] if hashlib.sha256(data[32:]).digest() == data[:32] else None


def _known(memory: Path | None) -> dict[str, tuple[int, str]]:
    if memory is None or (data := unsealed(memory)) is None:
        return {}
    try:
        table = pq.read_table(io.BytesIO(data))
    except (OSError, pa.ArrowException):
        return {}
    if not table.schema.equals(_SCHEMA):
        return {}
    columns = (table[name].to_pylist() for name in _SCHEMA.names)
    return {file: (key, stamp) for file, key, stamp in zip(*columns, strict=True)}


def _keep(memory: Path, rows: Mapping[str, tuple[int, str]]) -> None:
    """Remember checks; a folder that cannot be written is checked anew each time."""
    columns = [list(rows), [key for key, _ in rows.values()], [stamp for _, stamp in rows.values()]]
    buffer = io.BytesIO()
    table = pa.table([pa.array(c, t) for c, t in zip(columns, _SCHEMA.types, strict=True)], schema=_SCHEMA)
    pq.write_table(table, buffer, compression="zstd")
    with suppress(TutelageError):
        write_atomically(memory, sealed(buffer.getvalue()))
