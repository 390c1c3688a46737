"""Memory of this process: kept between the steps of a long run, and limited while a query is answered."""

import ctypes
import resource
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # parameters of mallopt
_LARGE = 1 << 30
_LIMITED = Lock()


def keep_freed_memory() -> bool:
    """Ask the C library to keep freed blocks of up to a gigabyte instead of returning each to the system.

    Measures allocate the same few megabytes over and over; without this every one of them is mapped and cleared page
    by page anew, which costs a third of the time of recording. Whether it could be asked for: glibc alone knows it.
    """
    with suppress(OSError, AttributeError):
        library = ctypes.CDLL("libc.so.6")
        return all(library.mallopt(name, _LARGE) == 1 for name in (_MMAP_THRESHOLD, _TRIM_THRESHOLD))
    return False


@contextmanager
def limited(more: int) -> Iterator[None]:
    """Let this process take at most so many bytes more than it has; what needs more than that is not allocated.

    Libraries in C limit what they count themselves, and much of what they allocate they do not count. So the limit is
    that of the system, for the whole process, and one at a time. Linux alone counts all memory towards it.
    """
    with _LIMITED:
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        try:
            pages = int(Path("/proc/self/statm").read_text().split()[5])
        except (OSError, ValueError, IndexError):
            yield
            return
        most = pages * resource.getpagesize() + more
        resource.setrlimit(resource.RLIMIT_DATA, (most if soft == resource.RLIM_INFINITY else min(most, soft), hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
