"""Worker processes: they may die, and the packs land all the same."""

import os
import signal
import threading
import time

import pytest

from tutelage import Refusal
from tutelage.runs import Spec, Store, execute, schedule
from tutelage.runs.on_processes import processes


def several(values, steps=30):
    settings = {"training": {"steps": steps}, "record": {"every": max(1, steps // 3)}}
    return [Spec(**values(teacher={"polarity": p}, **settings)) for p in (0, 1, 2)]


def numbers(packs):
    return [{name: value.tobytes() for name, value in pack.report.values.items()} for pack in packs]


def test_packs_computed_by_processes_that_are_killed_are_those_computed_here(values, tmp_path):
    """kill -9 of workers while they compute: whatever had not landed is tried again, with the same numbers."""
    specs = several(values, steps=20_000)
    killed = []
    stop = threading.Event()
    parent = os.getpid()

    def kill_some():
        while not stop.is_set() and len(killed) < 2:
            time.sleep(1.0)
            for path in os.listdir("/proc"):
                if path.isdecimal() and _is_worker(int(path), parent) and len(killed) < 2:
                    os.kill(int(path), signal.SIGKILL)
                    killed.append(int(path))

    killer = threading.Thread(target=kill_some)
    killer.start()
    try:
        away = schedule(specs, Store(tmp_path / "away"), "processes:2", engine="stacked")
    finally:
        stop.set()
        killer.join()
    assert killed
    local = execute(specs, Store(tmp_path / "local"), engine="stacked")
    assert [p.report.steps for p in away] == [p.report.steps for p in local]
    assert numbers(away) == numbers(local)
    assert not list((tmp_path / "away").glob("[!.]*.part"))


def _is_worker(number, parent):
    try:
        with open(f"/proc/{number}/status") as file:
            ours = f"PPid:\t{parent}\n" in file.read()
        with open(f"/proc/{number}/cmdline") as file:
            return ours and "spawn_main" in file.read()
    except OSError:
        return False


def test_a_refusal_in_a_worker_reaches_the_user(values, tmp_path):
    with pytest.raises(Refusal, match="there is no engine 'warp'"):
        schedule(several(values), Store(tmp_path), "processes:1", engine="warp")


@pytest.mark.parametrize("rest", ["0", "two", "-1"])
def test_how_many_must_be_a_whole_number(rest):
    with pytest.raises(Refusal, match="does not say how many"):
        processes(rest)
