"""Files and folders are complete or absent: written under a temporary name, synced, then renamed."""

import ctypes
import os
import secrets
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tutelage.errors import TutelageError

try:
    import fcntl
except ImportError:  # Windows: there the age of a file alone says whether it is left over
    fcntl = None  # type: ignore[assignment]


def write_atomically(path: Path, content: bytes | str) -> None:
    """Write a file so that a reader, or a crash at any moment, finds the old content or the new, never a part."""
    data = content.encode() if isinstance(content, str) else content
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(temporary, "wb") as file:
            _lock(file.fileno())
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            os.replace(temporary, path)
    except OSError as error:
        _discard(temporary)
        raise TutelageError(
            f"{path} cannot be written ({error.strerror or error}): choose another folder or free some space"
        ) from None
    except BaseException:
        _discard(temporary)
        raise


@contextmanager
def at_work(folder: Path) -> Iterator[None]:
    """Make a folder, and hold a lock on it as long as it is written, so that nobody takes it for a leftover."""
    folder.mkdir()
    if fcntl is None:  # and folders cannot be opened
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        _lock(handle)
        yield
    finally:
        os.close(handle)


def _lock(handle: int) -> None:
    """Lock a file or a folder; where the system or the disk knows no locks, its age has to do."""
    if fcntl is not None:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)


def is_at_work(path: Path) -> bool:
    """Whether somebody holds a lock on a file or folder (:func:`at_work`)."""
    if fcntl is None:
        return False
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(handle)
    return False


def sync_folder(folder: Path) -> None:
    """Make sure that the names in a folder are on the disk, not only in memory; Windows does so by itself."""
    if fcntl is None:
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def replace_folder(part: Path, final: Path, outdated: Collection[str] = ()) -> None:
    """Put a finished folder in the place of another, or of none, at one stroke; both lie in the same folder.

    A reader, or a crash at any moment, finds the files of the old folder or those of the new one, never some of each.
    Files of the old folder that the new one lacks, such as a user's notes, are moved over afterwards, but for those
    named as ``outdated``. Where the system cannot exchange two names at one stroke, the old folder is moved away first,
    and a crash may leave none.
    """
    if final.exists() and not final.is_dir():
        shutil.rmtree(part, ignore_errors=True)
        raise TutelageError(f"{final} cannot be written because it is not a folder: move it away")
    try:
        sync_folder(part)
        if not final.exists():
            os.rename(part, final)
        else:
            if not _exchanged(part, final):
                old = part.with_name(f"{part.name}.old")
                os.rename(final, old)
                os.rename(part, final)
                os.rename(old, part)
            for entry in part.iterdir():
                if entry.name not in outdated and not (final / entry.name).exists():
                    os.rename(entry, final / entry.name)
            shutil.rmtree(part)
        sync_folder(final.parent)
    except OSError as error:
        raise TutelageError(f"{final} cannot be written ({error.strerror or error}): choose another folder") from None


def _exchanged(first: Path, second: Path) -> bool:
    """Exchange the names of two folders; False where the system or the disk cannot."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return rename(here, os.fsencode(first), here, os.fsencode(second), exchange) == 0


def _discard(file: Path) -> None:
    """Remove a file if it is there and can be removed."""
    with suppress(OSError):
        file.unlink(missing_ok=True)
