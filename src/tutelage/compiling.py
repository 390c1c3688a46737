"""How loops are compiled with numba, and kept on disk from one start to the next."""

import hashlib
import logging
from pathlib import Path

from numba import njit

_LOG = logging.getLogger(__name__)

OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": {"contract"}, "no_cfunc_wrapper": True}
"""How routines are compiled; products and sums may be fused, nothing is assumed about their values."""

PART = {**OPTIONS, "inline": "always"}
"""How parts of a loop are compiled: into their caller, since LLVM works through all of them once per level of calls."""

INLINED = {**OPTIONS, "forceinline": True}
"""How parts that are called are compiled: LLVM inlines every call.

A part that stays a function is optimised once alone and once more inside its entry point, with other roundings. The
process that compiles calls the first, and one that reads the entry point from disk has only the second.
"""

_told: list[str] = []


def not_kept(error: Exception) -> None:
    """Say, once, that the next start will have to compile again, and why."""
    if not _told:
        _told.append(str(error))
        _LOG.warning("compiled code could not be kept on disk and is compiled at every start: %s", error)


def compiled(function, exact: bool = False):
    """An entry point, compiled when it is first called and kept on disk where there is a folder for it.

    exact: products and sums are rounded one by one, as NumPy and torch round them.
    """
    options = OPTIONS | ({"fastmath": False} if exact else {})
    try:
        entry = njit(cache=True, **options)(function)
    except RuntimeError as error:  # numba found no folder it may write to
        not_kept(error)
        return njit(**options)(function)
    _forgive_old_files(entry)
    return entry


def _forgive_old_files(entry) -> None:
    """Compile anew where the files on disk cannot be read, as those of a version with other classes cannot."""
    cache = entry._cache
    load = cache.load_overload

    def load_or_none(signature, context):
        try:
            return load(signature, context)
        except Exception as error:
            _LOG.info("compiled code on disk cannot be read and is compiled again: %s", error)
            cache.flush()
            return None

    cache.load_overload = load_or_none


def stamp_of(*files: str, setting: str = "") -> int:
    """A number made from a setting and the text of the modules that an entry point is compiled from.

    numba's disk cache looks only at the file of the function it keeps and at the variables of its closure. An entry
    point made by a function of this number has it in its closure, so a change of any of them compiles anew.
    """
    digest = hashlib.blake2b(setting.encode(), digest_size=7)
    for path in files:
        digest.update(Path(path).read_bytes())
    return int.from_bytes(digest.digest(), "little")
