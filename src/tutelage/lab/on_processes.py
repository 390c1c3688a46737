"""Jobs in processes of this machine: `--on processes` or `--on processes:4`.

Workers end with their driver, however it ends: told by it when it is interrupted, by a thread that waits for the end of
the driver, and on Linux by the kernel. Ctrl-C reaches the driver alone, so that it can end them in order and silently.
"""

import multiprocessing
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing.connection import wait as wait_for
from multiprocessing.process import BaseProcess
from types import FrameType

from tutelage.errors import TutelageError
from tutelage.lab.jobs import ATTEMPTS, Backend, Job, backend, carry_out, log
from tutelage.threads import usable_cores

_GRACE = 3.0  # seconds in which an interrupted worker may clear up


@backend("processes")
def processes(rest: str) -> Backend:
    """Back end ``--on processes:N``: worker processes on this machine.

    Parameters
    ----------
    rest
        N as text; empty for one process per core. Every worker computes with its share of the cores that this process
        may use, or with OMP_NUM_THREADS threads where that is fewer.

    Returns
    -------
    callable
        What :func:`schedule` calls with the jobs.
    """
    if rest and (not rest.isdecimal() or int(rest) < 1):
        raise TutelageError(f"'processes:{rest}' does not say how many: give a whole number, as in processes:2")
    workers = int(rest) if rest else usable_cores()

    def run(jobs: Sequence[Job], landed: Callable[[str], None]) -> None:
        each = [replace(job, threads=threads_each(workers)) for job in jobs]
        _run({job.name: job for job in each}, workers, landed)

    return run


def threads_each(workers: int) -> int:
    """Threads of one of so many workers."""
    share, wanted = max(1, usable_cores() // workers), os.environ.get("OMP_NUM_THREADS", "")
    return min(share, int(wanted)) if wanted.isdecimal() and int(wanted) else share


def _run(jobs: dict[str, Job], workers: int, landed: Callable[[str], None]) -> None:
    """Run jobs in a pool; when a worker dies the pool is made anew and what had not landed is tried again."""
    tries: Counter[str] = Counter()
    waiting = dict(jobs)
    while waiting:
        context = multiprocessing.get_context("spawn")  # a forked child would inherit threads in an unknown state
        pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_end_with_driver)
        others = multiprocessing.active_children()
        try:
            with _signals_held_back():
                futures = {pool.submit(_work, job): name for name, job in waiting.items()}
            _collect(futures, waiting, landed)
        except BrokenProcessPool:
            tries.update(list(waiting)[:workers])  # those at work were the first of the queue
            log.warning("a worker died; %d experiments are tried again", len(waiting))
        except BaseException:
            _end([process for process in multiprocessing.active_children() if process not in others])
            raise
        finally:
            pool.shutdown(cancel_futures=True)
        stubborn = [name for name, count in tries.items() if name in waiting and count >= ATTEMPTS * workers]
        if stubborn:
            raise TutelageError(
                f"the experiment {stubborn[0]} ended its worker again and again: run it with --on local to see why"
            )


def _collect(futures: dict[Future[str], str], waiting: dict[str, Job], landed: Callable[[str], None]) -> None:
    pending = set(futures)
    while pending:
        done, pending = wait(pending, return_when=FIRST_COMPLETED)
        for future in done:
            name = future.result()
            waiting.pop(name, None)
            landed(name)


@contextmanager
def _signals_held_back() -> Iterator[None]:
    """Hold back Ctrl-C; processes that are started meanwhile inherit this and are never interrupted by it.

    A worker that is still importing would otherwise print where it was. The mask alone does not do: the kernel may
    give a signal to a thread of a library that has none, and Python interrupts the main thread all the same, maybe
    while it writes to a worker what that is to do.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    came: list[int] = []
    own = threading.current_thread() is threading.main_thread()
    handler = signal.signal(signal.SIGINT, lambda number, _: came.append(number)) if own else None
    try:
        yield
    finally:
        if own:
            signal.signal(signal.SIGINT, handler if handler is not None else signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if came:
            signal.raise_signal(signal.SIGINT)


def _end(workers: Sequence[BaseProcess]) -> None:
    """Ask workers to end, so that they remove what they have half written; kill those that have not after a while."""
    try:
        for process in workers:
            process.terminate()
        last = time.monotonic() + _GRACE
        for process in workers:
            process.join(max(0.0, last - time.monotonic()))
    finally:
        for process in workers:
            process.kill()


def _work(job: Job) -> str:
    """What a worker does with a job; asked to end, it does so and does not turn to the next job."""
    try:
        return carry_out(job)
    except SystemExit:
        os._exit(0)


def _end_with_driver() -> None:
    """Set up a worker: it ends when it is asked to, and when its driver is gone."""
    signal.signal(signal.SIGTERM, _leave)
    _ask_the_kernel()
    threading.Thread(target=_outlive_nobody, name="end with driver", daemon=True).start()


def _leave(number: int, frame: FrameType | None) -> None:
    raise SystemExit


def _outlive_nobody() -> None:
    driver = multiprocessing.parent_process()
    assert driver is not None
    wait_for([driver.sentinel])
    os._exit(1)


def _ask_the_kernel() -> None:
    """On Linux, be killed when the driver ends: a thread has to wait its turn, the kernel has not."""
    try:
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # 1 is PR_SET_PDEATHSIG
    except (AttributeError, OSError, TypeError):
        pass
