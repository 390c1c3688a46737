"""Threads: how many the compiled loops share, and how many torch takes for one operation.

Both are torch's number unless :func:`single_threaded` was called. A torch operation on a small array that starts a team
of threads waits for its slowest member: on a busy machine up to a hundred times longer than the operation takes. The
compiled loops hand each thread whole members, and wait once.
"""

import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import pairwise
from typing import Any

import torch

_here = threading.local()
_PRIORITY = 2  # of threads that give way; 0 is that of the others


@lru_cache(maxsize=1)
def _cores() -> int:
    """Threads that torch was given for this process."""
    return torch.get_num_threads()


def single_threaded() -> None:
    """From now on torch's operations of this thread take one thread; compiled loops share as many as before."""
    _here.loops = _cores()
    torch.set_num_threads(1)


def one_thread() -> None:
    """From now on both torch's operations and compiled loops of this thread take one thread."""
    _here.loops = 1
    torch.set_num_threads(1)


def give_way() -> None:
    """From now on this thread, and those that it starts, give way to other threads that want a core; on Linux alone."""
    if sys.platform == "linux":  # elsewhere only whole processes have a priority
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _PRIORITY)


def loop_threads() -> int:
    """Threads that a compiled loop called from this thread may use.

    >>> import torch
    >>> loop_threads() == torch.get_num_threads()
    True
    """
    return getattr(_here, "loops", None) or torch.get_num_threads()


def over_members(
    loop: Callable[..., Any], members: int, arguments: tuple[Any, ...], worth: int | None = None, parts: int = 1
) -> None:
    """Run a compiled loop(first, last, *arguments) over all members, which writes its results in place.

    worth: how many threads the work is worth, by default as many as there are; parts: of each thread's members. More of
    them level out members that take longer than others.
    """
    # Compiled, or loaded, by one thread alone: no member is computed here. Parts are contiguous, so every thread writes
    # rows of its own, and the numbers of a member do not depend on how many threads there are.
    loop(0, 0, *arguments)
    threads = max(1, min(loop_threads(), members, members if worth is None else worth))
    count = min(members, parts * threads)
    if count <= 1:
        loop(0, members, *arguments)
        return
    ends = [members * i // count for i in range(count + 1)]
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(loop, *part, *arguments) for part in pairwise(ends)]:
            done.result()
