"""The manifest of a pack: what it came from, which files it has, and whether they are still what they were.

Every file of a pack is opened as what it is: a link, a folder or a device in its place counts as damage and is never
followed, so that a results folder from elsewhere reads nothing but itself.
"""

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import BufferedReader
from pathlib import Path
from typing import Any

import yaml

import tutelage
from tutelage.errors import Refusal
from tutelage.plugins import digests
from tutelage.runs.spec import Spec, plain
from tutelage.version import commit

MANIFEST, SPEC = "manifest.json", "spec.yaml"
HASH = re.compile(r"[0-9a-f]{16}")
"""Names of the folders that are packs."""

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")  # of a file of a pack: no folder, nothing hidden
_CHECKSUM = re.compile(r"[0-9a-f]{64}")
_END = re.compile(rb',\n "checksum": "([0-9a-f]{64})"\n}$')
_ABOUT = ("version", "commit", "device", "engine", "threads", "stack", "seconds", "finished")


class Damage(Refusal):
    """A pack is not what was written; ``file`` says which of its files, ``what`` what is wrong with it."""

    def __init__(self, folder: Path, file: str, what: str) -> None:
        self.folder, self.file, self.what = folder, file, what
        advice = f"delete the folder {folder} and run the same command again"
        super().__init__(f"the result {folder.name} is damaged ({file} {what}): {advice}")


@dataclass(frozen=True)
class Manifest:
    """What a manifest says: settings of the spec (as data and as text), origin, checksum and size of every file.

    Packs written before manifests told of their origin have checksums alone: ``about`` and ``bytes`` are then empty.
    """

    settings: dict[str, Any]
    text: str
    files: dict[str, str]
    about: dict[str, Any] = field(default_factory=dict)
    bytes: dict[str, int] = field(default_factory=dict)


def compose(spec: Spec, folder: Path, log: Sequence[Mapping[str, Any]]) -> str:
    """The manifest of a folder whose other files are written; the last line of the log says how they came about."""
    line = log[-1] if log else {}
    here = {
        "version": tutelage.__version__,
        "commit": commit(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    settings = plain(spec)
    if used := digests(spec.recipes(), spec.record.measures):
        settings["plugins"] = used
    assert digest(canonical(settings)) == spec.hash, "a manifest must hold what its hash is taken of"
    names = sorted(file.name for file in folder.iterdir())
    values = {
        "spec": spec.hash,
        **{name: line.get(name, here.get(name)) for name in _ABOUT},
        "settings": settings,
        "files": {name: checksum(folder / name) for name in names},
        "bytes": {name: (folder / name).stat().st_size for name in names},
    }
    text = json.dumps(values, indent=1)
    return f'{text[:-2]},\n "checksum": "{hashlib.sha256(text.encode()).hexdigest()}"\n}}'


def read(folder: Path, name: str | None = None) -> Manifest:
    """The manifest of a pack; raises an error where it is missing, not whole or of another spec than its name.

    name: the hash that the pack should have, that of its folder unless told.
    """
    content = _content(folder, MANIFEST)
    try:
        values = json.loads(content)
        files, sizes = values["files"], values.get("bytes", {})
        good = all(_NAME.fullmatch(name) and _CHECKSUM.fullmatch(wanted) for name, wanted in files.items())
        good = good and SPEC in files and (not sizes or sizes.keys() == files.keys())
        good = good and all(type(size) is int for size in sizes.values())
        good = good and ("checksum" not in values or _is_as_composed(content))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        good = False
    if not good:
        raise Damage(folder, MANIFEST, "is not readable")
    settings, source = (values["settings"], MANIFEST) if "settings" in values else (_settings_of_yaml(folder), SPEC)
    text = canonical(settings) if isinstance(settings, dict) else ""
    if not text or digest(text) != (name or folder.name):
        raise Damage(folder, source, "belongs to another spec")
    return Manifest(settings, text, files, {name: values.get(name) for name in _ABOUT if name in values}, sizes)


def damage(folder: Path, manifest: Manifest, checksums: bool = True) -> Iterator[Damage]:
    """Every file that is missing or not what the manifest says; without checksums only its kind and size count."""
    for name, wanted in manifest.files.items():
        try:
            size = regular(folder, name)
            if checksums and checksum(folder / name) != wanted:
                yield Damage(folder, name, "does not match its checksum")
            elif size != manifest.bytes.get(name, size):
                yield Damage(folder, name, f"has {size} bytes instead of {manifest.bytes[name]}")
        except Damage as found:
            yield found
        except OSError as error:
            yield Damage(folder, name, f"cannot be read: {error.strerror}")


def verify(folder: Path, name: str | None = None) -> Manifest:
    """The manifest of a pack whose files are all as they were written; an error names the first that is not.

    name: as for :func:`read`.
    """
    manifest = read(folder, name)
    for found in damage(folder, manifest):
        raise found
    return manifest


def check_spec(folder: Path, manifest: Manifest) -> None:
    """Raise an error unless the spec, read as YAML, has the settings of the manifest, of which its hash is taken."""
    wanted = {name: value for name, value in manifest.settings.items() if name != "plugins"}
    if canonical(_settings_of_yaml(folder)) != canonical(wanted):
        raise Damage(folder, SPEC, "belongs to another spec")


def canonical(settings: Any) -> str:
    """Plain settings as the text that their hash is taken of, empty where no spec can have them."""
    try:
        return json.dumps(settings, sort_keys=True, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        return ""


def digest(text: str) -> str:
    """The hash of the spec whose plain settings are the given text, that which names its folder."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def checksum(file: Path) -> str:
    """SHA-256 of a file, as 64 hexadecimal digits."""
    with open_own(file) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def open_own(file: Path) -> BufferedReader:
    """A file opened for reading, unless it is a link; opening never waits for whoever is at the other end of a pipe."""
    return open(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb")


def is_pack(folder: Path) -> bool:
    """Whether something lies under the name of a pack and is a folder of its own, not a link to one."""
    return folder.is_dir() and not folder.is_symlink()


def regular(folder: Path, name: str) -> int:
    """Size of a file of a pack; anything but a plain file is damage."""
    try:
        about = os.lstat(f"{folder}/{name}")
    except OSError as error:
        raise Damage(folder, name, f"cannot be read: {error.strerror}") from None
    if not stat.S_ISREG(about.st_mode):
        kind = "a link" if stat.S_ISLNK(about.st_mode) else "a folder" if stat.S_ISDIR(about.st_mode) else "a device"
        raise Damage(folder, name, f"is {kind}, not a file")
    return about.st_size


def _content(folder: Path, name: str) -> bytes:
    if not is_pack(folder):
        raise Damage(folder, MANIFEST, "cannot be read: the pack is a link or not a folder")
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


def _settings_of_yaml(folder: Path) -> dict[str, Any]:
    """Settings of a pack whose manifest does not hold them, from the spec itself."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        text = _content(folder, SPEC).decode()
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=loader)):
            raise ValueError  # specs are written without references, which can be made to grow without end
        settings = yaml.load(text, Loader=loader)
    except (yaml.YAMLError, ValueError, RecursionError):
        settings = None
    if not isinstance(settings, dict):
        raise Damage(folder, SPEC, "is not readable")
    return settings
