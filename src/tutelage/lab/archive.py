"""Experiments as one tar file, to be carried elsewhere: written whole or not at all, and taken in only if all is well.

An archive holds plain files ``HASH/NAME`` and nothing else, so that taking it in cannot write outside the results
folder, and every experiment is checked against its manifest before it gets its name.
"""

import hashlib
import logging
import os
import re
import secrets
import shutil
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from tutelage.errors import TutelageError
from tutelage.files import at_work, sync_folder
from tutelage.lab.manifest import MANIFEST, Damage, Manifest, check_settings, is_result, open_own, read, regular, verify
from tutelage.lab.store import Store, land, set_aside
from tutelage.lab.store_tools import select
from tutelage.settings import one_line

log = logging.getLogger(__name__)

_MEMBER = re.compile(r"([0-9a-f]{16})/([A-Za-z0-9_][A-Za-z0-9_.-]*)")
_CHUNK = 1 << 20
_SHOWN = 200  # letters of what the reader of tar files says


def export(root: Path, file: Path, chosen: Sequence[str] = ()) -> list[str]:
    """Write all experiments, or the chosen ones, as one tar file; their names. A damaged experiment raises an error by
    name.
    """
    names = select(root, chosen)
    if not names:
        raise TutelageError(f"there are no experiments in {root} to export")
    part = file.with_name(f".{file.name}.{secrets.token_hex(4)}.part")
    try:
        with open(part, "wb") as stream:
            with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar:
                for name in names:
                    _add(tar, root / name)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(part, file)
        sync_folder(file.parent)
    except OSError as error:
        raise TutelageError(f"{file} cannot be written ({error.strerror}): choose another file") from None
    finally:
        part.unlink(missing_ok=True)
    return names


@dataclass(frozen=True)
class Imported:
    """What came of an archive: experiments that are new here, and experiments that were here already, whole, and were
    left alone.

    An experiment that was here but damaged is set aside, and counts as new.
    """

    new: list[str]
    known: list[str]


def import_results(root: Path, file: Path) -> Imported:
    """Take in the experiments of a tar file: all of them, or none if anything in it is not as it should be."""
    store = Store(root)
    staging = store.root / f".import.{secrets.token_hex(4)}.part"
    store.check_writable()
    try:
        with at_work(staging):
            names = _extract(file, staging)
            for name in names:
                _check(file, staging / name)
            new = {name for name in names if _landed(staging / name, store.root / name)}
    except (OSError, TutelageError) as error:
        if not staging.exists():  # and not the archive is to blame
            raise TutelageError(f"{staging} was removed while {file} was imported into it: import it again") from None
        if isinstance(error, TutelageError):
            raise
        raise TutelageError(
            f"{file} cannot be imported ({error.strerror}): check that both paths exist and are writable"
        ) from None
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return Imported([name for name in names if name in new], [name for name in names if name not in new])


def _landed(part: Path, final: Path) -> bool:
    """Give a checked experiment its name, in place of a damaged one; False where there is a whole one of this name."""
    if is_result(final):
        try:
            _whole(final)
            return False
        except Damage as found:
            if aside := set_aside(final, lambda folder: _whole(folder, final.name)):
                log.warning("%s; it is set aside as %s and replaced", str(found).partition(":")[0], aside.name)
    return land(part, final)


def _whole(folder: Path, name: str | None = None) -> Manifest:
    """The manifest of an experiment that is as it was written; raises `Damage`."""
    manifest = verify(folder, name)
    check_settings(folder, manifest)
    return manifest


class _Hashing:
    """A file that is read once, for the archive and for its checksum."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream, self.sum = stream, hashlib.sha256()

    def read(self, size: int) -> bytes:
        data = self.stream.read(size)
        self.sum.update(data)
        return data


def _add(tar: tarfile.TarFile, folder: Path) -> None:
    """Add an experiment, the manifest first; a file that is not as it was written raises an error."""
    manifest = read(folder)
    for name in (MANIFEST, *manifest.files):
        entry = tarfile.TarInfo(f"{folder.name}/{name}")
        entry.size = regular(folder, name)
        try:
            with open_own(folder / name) as stream:
                hashing: Any = _Hashing(stream)
                tar.addfile(entry, hashing)
        except OSError as error:
            if error.filename is None and error.errno is not None:
                raise  # the archive could not be written
            raise Damage(folder, name, "cannot be read to its end") from None
        if name != MANIFEST and hashing.sum.hexdigest() != manifest.files[name]:
            raise Damage(folder, name, "does not match its checksum")


def _extract(file: Path, staging: Path) -> list[str]:
    """Write the experiments of a tar file below ``staging``; their names in the order of the file."""
    names: dict[str, None] = {}
    try:
        with tarfile.open(file, "r:") as tar:
            for entry in tar:
                place = _MEMBER.fullmatch(entry.name)
                if place is None or entry.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or entry.issparse():
                    name = one_line(entry.name, 80)
                    raise TutelageError(
                        f"{file} holds '{name}', which is not a file of an experiment: nothing was imported"
                    )
                folder = staging / place[1]
                folder.mkdir(exist_ok=True)
                names[place[1]] = None
                _write(tar, entry, folder / place[2], file)
    except (TutelageError, OSError, MemoryError):
        raise
    except Exception as error:  # what a tar file may hold is various, and so is what its reader raises
        why = one_line(f"{error or type(error).__name__}", _SHOWN)
        raise TutelageError(f"{file} is not a complete tar file ({why}): export it again") from None
    if not names:
        raise TutelageError(f"{file} holds no experiments")
    return list(names)


def _write(tar: tarfile.TarFile, entry: tarfile.TarInfo, target: Path, file: Path) -> None:
    source = tar.extractfile(entry)
    assert source is not None
    try:
        with open(target, "xb") as out:
            shutil.copyfileobj(source, out, _CHUNK)
            out.flush()
            os.fsync(out.fileno())
    except FileExistsError:
        raise TutelageError(f"{file} holds '{entry.name}' twice: nothing was imported") from None


def _check(file: Path, folder: Path) -> None:
    """Reject an experiment that is not whole or has files that its manifest does not know."""
    try:
        expected = {MANIFEST, *_whole(folder).files}
        for name in sorted(path.name for path in folder.iterdir() if path.name not in expected):
            raise Damage(folder, name, "is not in the manifest")
    except Damage as found:
        raise TutelageError(
            f"{file} holds the damaged experiment {folder.name} ({found.file} {found.what}): nothing was imported"
        ) from None
