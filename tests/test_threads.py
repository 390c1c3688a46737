"""Threads of compiled loops and of torch."""

import threading

import pytest
import torch

from tutelage.threads import loop_threads, single_threaded, spread


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


@pytest.mark.parametrize(("items", "threads"), [(0, 2), (1, 4), (3, 1), (7, 2), (41, 3)])
def test_every_item_is_worked_on_once(items, threads):
    counts, workers = [0] * items, set()

    def loop(first, last, step):
        if last > first:
            workers.add(threading.current_thread())
        for i in range(first, last):
            counts[i] += step

    spread(loop, items, 2, threads=threads)
    assert counts == [2] * items
    assert len(workers) <= min(threads, items)
    assert (threading.current_thread() in workers) == (min(threads, items) == 1)


def test_a_loop_is_compiled_by_one_thread_before_others_start():
    calls = []
    spread(lambda first, last: calls.append((first, last)), 8, threads=2)
    assert calls[0] == (0, 0)
    assert sorted(calls[1:]) == [(i, i + 1) for i in range(8)]


def test_compiled_code_that_cannot_be_kept_is_no_reason_to_fail(caplog, monkeypatch):
    monkeypatch.setattr("tutelage.compiling._told", [])
    calls = []

    def loop(first, last):
        calls.append((first, last))
        if len(calls) == 1:
            raise OSError("no space left on the device")

    spread(loop, 2, threads=1)
    assert calls == [(0, 0), (0, 0), (0, 2)]
    assert "no space left on the device" in caplog.text


def test_an_error_in_a_piece_reaches_the_caller():
    def loop(first, last):
        if last > 2:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        spread(loop, 4, threads=2)
