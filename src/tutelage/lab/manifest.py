"""The manifest of an experiment: what it came from, which files it has, and whether they are still what they were.

Every file of an experiment is opened as what it is: a link, a folder or a device in its place counts as damage and is
never followed, so that a results folder from elsewhere reads nothing but itself.
"""

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import BufferedReader
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import yaml

import tutelage
from tutelage.errors import TutelageError
from tutelage.lab.database import COLUMN, SETTING
from tutelage.lab.experiment import Experiment, canonical, digest, flat, per_member_settings
from tutelage.settings import one_line
from tutelage.version import commit

MANIFEST, SETTINGS = "manifest.json", "settings.yaml"
HASH = re.compile(r"[0-9a-f]{16}")
"""Names of the folders that are experiments."""

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")  # of a file of an experiment: no folder, nothing hidden
_CHECKSUM = re.compile(r"[0-9a-f]{64}")
_END = re.compile(rb',\n "checksum": "([0-9a-f]{64})"\n}$')
_ABOUT = ("version", "commit", "device", "engine", "threads", "stack", "seconds", "finished")


class Damage(TutelageError):
    """An experiment is not what was written; ``file`` says which of its files, ``what`` what is wrong with it."""

    def __init__(self, folder: Path, file: str, what: str) -> None:
        self.folder, self.file, self.what = folder, file, what
        advice = f"delete the folder {folder} and run the same command again"
        super().__init__(f"the result {folder.name} is damaged ({file} {what}): {advice}")


@dataclass(frozen=True)
class Manifest:
    """What a manifest says of an experiment.

    settings: what the hash is taken of, as data and (``text``) as text; flat: all settings by dotted name, defaults
    too; files and bytes: checksum and size of every file; about: origin.
    """

    settings: dict[str, Any]
    flat: dict[str, Any]
    text: str
    files: dict[str, str]
    members: int
    per_member: list[str]
    about: dict[str, Any] = field(default_factory=dict)
    bytes: dict[str, int] = field(default_factory=dict)


def compose(experiment: Experiment, folder: Path, log: Mapping[str, Any]) -> str:
    """The manifest of a folder whose other files are written; the log says how they came about."""
    here = {
        "version": tutelage.__version__,
        "commit": commit(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    names = sorted(file.name for file in folder.iterdir())
    values = {
        "experiment": experiment.hash,
        **{name: log.get(name, here.get(name)) for name in _ABOUT},
        "description": experiment.description(),
        "members": experiment.members,
        "settings": flat(experiment),
        "per_member": per_member_settings(experiment),
        "files": {name: checksum(folder / name) for name in names},
        "bytes": {name: (folder / name).stat().st_size for name in names},
    }
    text = json.dumps(values, indent=1)
    return f'{text[:-2]},\n "checksum": "{hashlib.sha256(text.encode()).hexdigest()}"\n}}'


def read(folder: Path, name: str | None = None) -> Manifest:
    """The manifest of an experiment; raises an error where it is missing, not whole or of another experiment.

    name: the hash that the experiment should have (default: the name of its folder).
    """
    content = _content(folder, MANIFEST)
    with readable(folder, MANIFEST):
        values = json.loads(content)
        files, sizes, about = values["files"], values["bytes"], values["description"]
        good = all(_NAME.fullmatch(name) and _CHECKSUM.fullmatch(wanted) for name, wanted in files.items())
        good = good and SETTINGS in files and sizes.keys() == files.keys()
        good = good and all(map(_is_count, sizes.values())) and _is_as_composed(content)
        good = good and about["kind"].isprintable() and isinstance(about["settings"], dict)
        good = good and isinstance(values["settings"], dict) and _is_count(values["members"])
        json.dumps(values["settings"], ensure_ascii=False, allow_nan=False).encode()
        good = good and all(SETTING.fullmatch(name) for name in (*values["settings"], *values["per_member"]))
        if not good:
            raise ValueError("an entry is missing or is not what it should be")
    if digest(text := canonical(about)) != (name or folder.name):
        raise Damage(folder, MANIFEST, "belongs to another experiment")
    origin = {name: values.get(name) for name in _ABOUT if name in values}
    return Manifest(about, values["settings"], text, files, values["members"], values["per_member"], origin, sizes)


def damage(folder: Path, manifest: Manifest, checksums: bool = True) -> Iterator[Damage]:
    """Every file that is missing or not what the manifest says; without checksums only its kind and size count."""
    for name, wanted in manifest.files.items():
        try:
            size = regular(folder, name)
            if checksums and checksum(folder / name) != wanted:
                yield Damage(folder, name, "does not match its checksum")
            elif checksums and (bad := bad_table(folder / name)):
                yield Damage(folder, name, bad)
            elif size != manifest.bytes.get(name, size):
                yield Damage(folder, name, f"has {size} bytes instead of {manifest.bytes[name]}")
        except Damage as found:
            yield found
        except OSError as error:
            yield Damage(folder, name, f"cannot be read: {error.strerror}")


def verify(folder: Path, name: str | None = None) -> Manifest:
    """The manifest of an experiment whose files are all as they were written; the first that is not raises an error by
    name.
    """
    manifest = read(folder, name)
    for problem in damage(folder, manifest):
        raise problem
    return manifest


def check_settings(folder: Path, manifest: Manifest) -> None:
    """Raise an error unless the settings, read as YAML, are those of the manifest, of which the hash is taken."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    with readable(folder, SETTINGS):
        text = _content(folder, SETTINGS).decode()
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=loader)):
            raise ValueError("it holds references")  # which can be made to grow without end, and are never written
        stored = canonical(yaml.load(text, Loader=loader))
    if stored != canonical({"kind": manifest.settings["kind"], **manifest.settings["settings"]}):
        raise Damage(folder, SETTINGS, "belongs to another experiment")


def checksum(file: Path) -> str:
    """SHA-256 of a file, as 64 hexadecimal digits."""
    with open_own(file) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def bad_table(file: Path) -> str:
    """What is wrong with a table although its bytes are those that were written; empty for other files."""
    if file.suffix != ".parquet":
        return ""
    try:
        with readable(file.parent, file.name, "is not a Parquet table"), open_own(file) as stream:
            names = pq.read_schema(stream).names
    except Damage as damage:
        return damage.what
    bad = next((name for name in names if not COLUMN.fullmatch(name)), None)
    return "" if bad is None else one_line(f"has a column with the name {bad[:60]!r}, which is not letters and digits")


@contextmanager
def readable(folder: Path, file: str, what: str = "is not readable") -> Iterator[None]:
    """Whatever is raised while a file of an experiment is parsed means that the file is damaged.

    Files may come from anybody, and parsers raise what they like: an error of ours is the only one that leaves here.
    """
    try:
        yield
    except (TutelageError, MemoryError):
        raise
    except Exception:
        raise Damage(folder, file, what) from None


def _is_count(value: Any) -> bool:
    """Whether a value is a count that a table can hold."""
    return type(value) is int and 0 <= value < 2**63


_OPENING = os.O_RDONLY
for _name in ("O_BINARY", "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC"):  # the first on Windows, the others elsewhere
    _OPENING |= getattr(os, _name, 0)


def open_own(file: Path) -> BufferedReader:
    """A file opened for reading, unless it is a link; opening never waits for whoever is at the other end of a pipe."""
    return open(os.open(file, _OPENING), "rb")


def is_result(folder: Path) -> bool:
    """Whether something lies under the name of an experiment and is a folder of its own, not a link to one."""
    return folder.is_dir() and not folder.is_symlink()


def regular(folder: Path, name: str) -> int:
    """Size of a file of an experiment; anything but a plain file is damage."""
    try:
        about = os.lstat(f"{folder}/{name}")
    except OSError as error:
        raise Damage(folder, name, f"cannot be read: {error.strerror}") from None
    if not stat.S_ISREG(about.st_mode):
        kind = "a link" if stat.S_ISLNK(about.st_mode) else "a folder" if stat.S_ISDIR(about.st_mode) else "a device"
        raise Damage(folder, name, f"is {kind}, not a file")
    return about.st_size


def _content(folder: Path, name: str) -> bytes:
    if not is_result(folder):
        raise Damage(folder, MANIFEST, "cannot be read: the experiment is a link or not a folder")
    regular(folder, name)
    try:
        with open_own(folder / name) as stream:
            return stream.read()
    except OSError as error:
        raise Damage(folder, name, f"cannot be read: {error.strerror}") from None


def _is_as_composed(content: bytes) -> bool:
    """Whether the checksum at the end of a manifest is that of all before it."""
    end = _END.search(content)
    return end is not None and hashlib.sha256(content[: end.start()] + b"\n}").hexdigest().encode() == end[1]
