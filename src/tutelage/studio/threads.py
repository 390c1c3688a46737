"""Threads of torch: one for the small arrays of a scene, all of them for the engines that train students.

Every session computes in threads of its own. Operations on small arrays that each start a team of threads wait for one
another on a busy machine, up to a hundred times longer than they take.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

import torch


@lru_cache(maxsize=1)
def cores() -> int:
    """Threads that torch was given for this process."""
    return torch.get_num_threads()


def single_threaded() -> None:
    """Operations of this thread use one thread from now on."""
    cores()
    torch.set_num_threads(1)


@contextmanager
def all_threads() -> Iterator[None]:
    """The engines inside may use all threads of the process."""
    before, many = torch.get_num_threads(), cores()
    torch.set_num_threads(many)
    try:
        yield
    finally:
        torch.set_num_threads(before)
