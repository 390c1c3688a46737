"""Memory of a long run on a CPU."""

import ctypes
from contextlib import suppress

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # parameters of mallopt
_LARGE = 1 << 30


def keep_freed_memory() -> bool:
    """Ask the C library to keep freed blocks of up to a gigabyte instead of returning each to the system.

    Measures allocate the same few megabytes over and over; without this every one of them is mapped and cleared page
    by page anew, which costs a third of the time of recording. Whether it could be asked for: glibc alone knows it.
    """
    with suppress(OSError, AttributeError):
        library = ctypes.CDLL("libc.so.6")
        return all(library.mallopt(name, _LARGE) == 1 for name in (_MMAP_THRESHOLD, _TRIM_THRESHOLD))
    return False
