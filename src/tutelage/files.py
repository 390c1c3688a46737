"""Files are complete or absent: written under a temporary name, synced, then renamed."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

from tutelage.errors import Refusal


def write_atomically(path: Path, content: bytes | str) -> None:
    """Write a file so that a reader, or a crash at any moment, finds the old content or the new, never a part."""
    data = content.encode() if isinstance(content, str) else content
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        _discard(temporary)
        raise Refusal(
            f"{path} cannot be written ({error.strerror or error}): choose another folder or free some space"
        ) from None
    except BaseException:
        _discard(temporary)
        raise


def _discard(file: Path) -> None:
    """Remove a file if it is there and can be removed."""
    with suppress(OSError):
        file.unlink(missing_ok=True)
