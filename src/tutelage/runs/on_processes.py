"""Jobs in processes of this machine: `--on processes` or `--on processes:4`."""

import multiprocessing
import os
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace

from tutelage.errors import Refusal
from tutelage.runs.jobs import ATTEMPTS, Backend, Job, backend, carry_out, log


@backend("processes")
def processes(rest: str) -> Backend:
    """As many worker processes as asked for, or one a core; each computes with its share of the cores."""
    cores = os.cpu_count() or 1
    if rest and (not rest.isdecimal() or int(rest) < 1):
        raise Refusal(f"'processes:{rest}' does not say how many: give a whole number, as in processes:2")
    workers = int(rest) if rest else cores

    def run(jobs: Sequence[Job], landed: Callable[[str], None]) -> None:
        each = [replace(job, threads=max(1, cores // workers)) for job in jobs]
        _run({job.name: job for job in each}, workers, landed)

    return run


def _run(jobs: dict[str, Job], workers: int, landed: Callable[[str], None]) -> None:
    """Run jobs in a pool; when a worker dies the pool is made anew and what had not landed is tried again."""
    tries: Counter[str] = Counter()
    waiting = dict(jobs)
    while waiting:
        context = multiprocessing.get_context("spawn")  # a forked child would inherit threads in an unknown state
        pool = ProcessPoolExecutor(workers, mp_context=context)
        try:
            futures = {pool.submit(carry_out, job): name for name, job in waiting.items()}
            _collect(futures, waiting, landed)
        except BrokenProcessPool:
            tries.update(list(waiting)[:workers])  # those at work were the first of the queue
            log.warning("a worker died; %d packs are tried again", len(waiting))
        finally:
            pool.shutdown(cancel_futures=True)
        stubborn = [name for name, count in tries.items() if name in waiting and count >= ATTEMPTS * workers]
        if stubborn:
            raise Refusal(f"the pack {stubborn[0]} ended its worker again and again: run it with --on local to see why")


def _collect(futures: dict[Future[str], str], waiting: dict[str, Job], landed: Callable[[str], None]) -> None:
    pending = set(futures)
    while pending:
        done, pending = wait(pending, return_when=FIRST_COMPLETED)
        for future in done:
            name = future.result()
            waiting.pop(name, None)
            landed(name)
