"""Threads of compiled loops and of torch."""

import threading

import numpy as np
import pytest
import torch

from tutelage import threads
from tutelage.threads import loop_threads, over_members, single_threaded


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


@pytest.mark.parametrize(
    ("members", "cores", "worth", "parts"),
    [(0, 2, None, 1), (1, 4, None, 8), (7, 3, None, 1), (7, 3, None, 8), (7, 3, 1, 1), (7, 3, 0, 1)],
)
def test_a_loop_sees_every_member_once(monkeypatch, members, cores, worth, parts):
    monkeypatch.setattr(threads, "loop_threads", lambda: cores)
    seen, calls = np.zeros(members, int), []

    def loop(first, last, out):
        calls.append((first, last))
        out[first:last] += 1

    over_members(loop, members, (seen,), worth, parts)
    assert (seen == 1).all()
    assert calls[0] == (0, 0)  # compiled before threads share it
    wanted = min(members, parts * max(1, min(cores, members, members if worth is None else worth)))
    assert len(calls) - 1 == max(1, wanted)


def test_an_error_in_a_part_is_raised(monkeypatch):
    monkeypatch.setattr(threads, "loop_threads", lambda: 2)

    def loop(first, last):
        if last == 4:
            raise ValueError("the last part")

    with pytest.raises(ValueError, match="the last part"):
        over_members(loop, 4, ())
