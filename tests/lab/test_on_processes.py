"""Worker processes: they may die, and the experiments land all the same."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress

import pytest
import torch

from tutelage import TutelageError
from tutelage.lab import Store, TeacherStudent, execute, on_processes, schedule
from tutelage.lab.on_processes import processes, threads_each


def several(values, steps=30):
    settings = {"training": {"steps": steps}, "record": {"every": max(1, steps // 3)}}
    return [TeacherStudent(**values(teacher={"polarity": p}, **settings)) for p in (0, 1, 2)]


@contextmanager
def threads(number):
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    yield
    torch.set_num_threads(before)


def numbers(results):
    return [{name: value.tobytes() for name, value in result.report.values.items()} for result in results]


def test_results_computed_by_processes_that_are_killed_are_those_computed_here(values, tmp_path):
    """kill -9 of workers while they compute: whatever had not landed is tried again, with the same numbers."""
    experiments = several(values, steps=20_000)
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
        away = schedule(experiments, Store(tmp_path / "away"), "processes:2", engine="stacked")
    finally:
        stop.set()
        killer.join()
    assert killed
    with threads(threads_each(2)):
        local = execute(experiments, Store(tmp_path / "local"), engine="stacked")
    assert [p.report.steps for p in away] == [p.report.steps for p in local]
    assert numbers(away) == numbers(local)
    assert not list((tmp_path / "away").glob("[!.]*.part"))


@pytest.mark.parametrize(("said", "each"), [("", 4), ("2", 2), ("16", 4), ("0", 4), ("many", 4)])
def test_workers_share_the_cores_and_heed_the_number_of_threads(monkeypatch, said, each):
    monkeypatch.setattr("tutelage.lab.on_processes.usable_cores", lambda: 12)
    monkeypatch.setenv("OMP_NUM_THREADS", said)
    assert threads_each(3) == each
    assert threads_each(20) == 1


def _is_worker(number, parent):
    try:
        with open(f"/proc/{number}/status") as file:
            ours = f"PPid:\t{parent}\n" in file.read()
        with open(f"/proc/{number}/cmdline") as file:
            return ours and "spawn_main" in file.read()
    except OSError:
        return False


def test_a_refusal_in_a_worker_reaches_the_user(values, tmp_path):
    with pytest.raises(TutelageError, match="unknown engine 'warp'"):
        schedule(several(values), Store(tmp_path), "processes:1", engine="warp")


@pytest.mark.parametrize("rest", ["0", "two", "-1"])
def test_how_many_must_be_a_whole_number(rest):
    with pytest.raises(TutelageError, match="does not say how many"):
        processes(rest)


DRIVER = """
import json, os, signal, sys
from pathlib import Path
from tutelage.lab import Store, TeacherStudent, jobs, schedule
signal.signal(signal.SIGTERM, signal.default_int_handler)
execute = jobs.execute

def execute_and_tell(*experiments, **options):
    Path(f"{sys.argv[1]}-{os.getpid()}.computing").touch()
    return execute(*experiments, **options)

jobs.execute = execute_and_tell  # here and in the workers, which import this file
if __name__ == "__main__":
    experiments = [TeacherStudent(**values) for values in json.loads(sys.argv[2])]
    schedule(experiments, Store(sys.argv[1]), "processes:2", engine="stacked")
"""


@pytest.fixture
def driver(values, tmp_path):
    """Starts a process that computes two experiments of many minutes in two workers, in a session of its own."""
    started = []

    def start():
        script = tmp_path / "driver.py"
        script.write_text(DRIVER)
        settings = json.dumps([values(training={"steps": 10**8}, record={"every": 10**8}, seeds=[n]) for n in (1, 2)])
        words = [sys.executable, str(script), str(tmp_path / "results"), settings]
        process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, start_new_session=True)
        started.append(process)
        return process

    yield start
    for process in started:
        for number in in_session(process.pid):
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        process.wait()
        process.stderr.close()


def in_session(session):
    """Living processes of a session."""
    found = []
    for entry in filter(str.isdecimal, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat") as file:
                state, _, _, own = file.read().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if int(own) == session and state != "Z":
            found.append(int(entry))
    return found


def until(condition, seconds=60):
    """Wait until something is so; whether it was in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return False


def wait_until_both_compute(folder):
    """Until both workers have imported everything and are inside the training of their experiments."""
    assert until(lambda: len(list(folder.glob("*.computing"))) == 2)
    time.sleep(0.5)


@pytest.mark.parametrize("computing", [False, True])
def test_workers_end_when_their_driver_is_killed(driver, computing, tmp_path):
    process = driver()
    assert until(lambda: sum(_is_worker(n, process.pid) for n in in_session(process.pid)) == 2)
    if computing:
        wait_until_both_compute(tmp_path)
    process.kill()
    process.wait()
    assert until(lambda: in_session(process.pid) == [], 30)


@pytest.mark.parametrize("word", [signal.SIGINT, signal.SIGTERM])
def test_two_signals_end_the_driver_and_its_workers_without_a_traceback_of_theirs(driver, word, tmp_path):
    process = driver()
    wait_until_both_compute(tmp_path)
    os.kill(process.pid, word)
    time.sleep(0.3)
    with suppress(ProcessLookupError):
        os.kill(process.pid, word)
    _, said = process.communicate(timeout=30)
    assert process.returncode != 0
    assert "Process SpawnProcess" not in said
    assert until(lambda: in_session(process.pid) == [], 30)


def test_an_interrupt_while_workers_import_prints_nothing_of_theirs(driver):
    process = driver()
    assert until(lambda: any(_is_worker(n, process.pid) for n in in_session(process.pid)))
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert said.count("Traceback") <= 1  # that of this driver, which catches nothing
    assert "spawn_main" not in said
    assert until(lambda: in_session(process.pid) == [], 30)


def test_an_interrupted_worker_removes_what_it_has_half_written(driver, tmp_path):
    process = driver()
    wait_until_both_compute(tmp_path)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert [name for name in os.listdir(tmp_path / "results") if name.endswith(".part")] == []


def test_every_place_to_run_is_known_once_the_package_is_imported():
    """In an interpreter of its own: the tests above import the module themselves."""
    ask = "import tutelage.lab; from tutelage.lab.jobs import BACKENDS; print(sorted(BACKENDS))"
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "['processes', 'ray', 'slurm']", done.stderr


def test_an_interrupt_that_comes_while_workers_start_is_raised_after_it():
    """Python raises it in the main thread, whichever thread the kernel gave it to; the mask does not prevent that."""
    steps = []

    def interrupted():
        with on_processes._signals_held_back():
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # as in a thread without the mask
            signal.raise_signal(signal.SIGINT)
            steps.append("started")

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert steps == ["started"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
