"""Threads: how many the compiled loops share, and how many torch takes for one operation.

Both are torch's number unless :func:`single_threaded` was called. A torch operation on a small array that starts a team
of threads waits for its slowest member: on a busy machine up to a hundred times longer than the operation takes. The
compiled loops hand each thread whole members, and wait once.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from itertools import pairwise
from typing import Any

import torch

_here = threading.local()
_PRIORITY = 2  # of threads that give way; 0 is that of the others
_TURNS = 4  # pieces of work a thread takes on average, so that a thread that is held up leaves its share to others


@lru_cache(maxsize=1)
def _cores() -> int:
    """Threads that torch was given for this process."""
    return torch.get_num_threads()


def single_threaded() -> None:
    """From now on torch's operations of this thread take one thread; compiled loops share as many as before."""
    _here.loops = _cores()
    torch.set_num_threads(1)


@contextmanager
def small_operations() -> Iterator[None]:
    """Meanwhile torch's operations of this thread take one thread; compiled loops share as many as before.

    >>> with small_operations():
    ...     torch.get_num_threads()
    1
    """
    loops, before = getattr(_here, "loops", None), torch.get_num_threads()
    _here.loops = loops or before
    torch.set_num_threads(1)
    try:
        yield
    finally:
        _here.loops = loops
        torch.set_num_threads(before)


def one_thread() -> None:
    """From now on both torch's operations and compiled loops of this thread take one thread."""
    _here.loops = 1
    torch.set_num_threads(1)


def give_way() -> None:
    """From now on this thread, and those that it starts, give way to other threads that want a core; on Linux alone."""
    if sys.platform == "linux":  # elsewhere only whole processes have a priority
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _PRIORITY)


def usable_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def loop_threads() -> int:
    """Threads that a compiled loop called from this thread may use.

    >>> import torch
    >>> loop_threads() == torch.get_num_threads()
    True
    """
    return getattr(_here, "loops", None) or torch.get_num_threads()


def spread(loop: Callable[..., object], items: int, *arguments: Any, threads: int = 0) -> None:
    """Run a compiled loop, ``loop(first, last, *arguments)``, on all items, in place, in several threads.

    threads: how many at most (default: those of :func:`loop_threads`). The loop holds no lock meanwhile.
    """
    try:
        loop(0, 0, *arguments)  # compiled, or loaded, by one thread alone: others would compile the same again
    except OSError as error:  # a full disk is no reason to fail
        from tutelage.compiling import not_kept  # loading the compiler takes a third of a second

        not_kept(error)
        loop(0, 0, *arguments)
    threads = min(threads or loop_threads(), items)
    if threads <= 1:
        loop(0, items, *arguments)
        return
    pieces = min(items, threads * _TURNS)
    cuts = [items * i // pieces for i in range(pieces + 1)]
    pool = ThreadPoolExecutor(threads, thread_name_prefix="loop")
    try:
        for done in [pool.submit(loop, first, last, *arguments) for first, last in pairwise(cuts)]:
            done.result()
    finally:
        pool.shutdown(cancel_futures=True)  # after an error or Ctrl-C, end with the pieces that are at work
