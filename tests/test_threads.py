"""Threads of compiled loops and of torch."""

import threading

import torch

from tutelage.threads import loop_threads, single_threaded


def test_loops_keep_their_threads_where_torch_is_told_to_use_one():
    """In a thread of its own: torch's number belongs to the thread that sets it."""
    before, seen = torch.get_num_threads(), []

    def work():
        single_threaded()
        seen.append((torch.get_num_threads(), loop_threads()))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    torch.set_num_threads(before)
    assert seen == [(1, before)]
    assert loop_threads() == before
