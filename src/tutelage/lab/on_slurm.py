"""Jobs as an array of Slurm: `--on slurm` or `--on slurm:PARTITION`, through submitit.

The folder of results must be one that all nodes see; submitit's own files go into its subfolder `.slurm`.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tutelage.errors import TutelageError, how_to_install
from tutelage.lab.jobs import ATTEMPTS, Backend, Job, backend, carry_out, log

_EVERY = 2.0  # seconds between two looks at the queue
_CORES, _MINUTES = 4, 240


@backend("slurm")
def on_slurm(rest: str) -> Backend:
    """One array job, a task per experiment, in the partition named after the colon or in the cluster's own choice."""
    return lambda jobs, landed: submit(jobs, landed, partition=rest or None)


def submit(
    jobs: Sequence[Job], landed: Callable[[str], None], partition: str | None = None, cluster: str | None = None
) -> None:
    """Submit jobs and wait for them; ``cluster`` is submitit's word for where, Slurm by default."""
    executor = _executor(Path(jobs[0].store) / ".slurm", cluster)
    gpus = {"gpus_per_node": 1} if jobs[0].device == "cuda" else {}
    wanted = {"slurm_partition": partition} if partition else {}
    executor.update_parameters(timeout_min=_MINUTES, cpus_per_task=_CORES, **gpus, **wanted)
    waiting = dict(zip((job.name for job in jobs), jobs, strict=True))
    for _ in range(ATTEMPTS):
        submitted = executor.map_array(carry_out, list(waiting.values()))
        log.info("%d experiments submitted to %s", len(submitted), executor.cluster)
        _wait(submitted, waiting, landed, _EVERY if executor.cluster == "slurm" else 0.05)
        if not waiting:
            return
        log.warning("%d experiments did not land and are submitted again", len(waiting))
    raise TutelageError(
        f"{len(waiting)} experiment{'s' if len(waiting) > 1 else ''} did not land in {ATTEMPTS} attempts: "
        f"see the logs in {executor.folder}"
    )


def _wait(submitted: Sequence[Any], waiting: dict[str, Job], landed: Callable[[str], None], every: float) -> None:
    """Tell of experiments as their tasks end well; those that ended badly stay among the waiting."""
    pending = list(submitted)
    while pending:
        for task in [task for task in pending if task.done()]:
            pending.remove(task)
            if task.exception() is None:
                name = task.result()
                waiting.pop(name)
                landed(name)
        if pending:
            time.sleep(every)


def _executor(folder: Path, cluster: str | None) -> Any:
    try:
        import submitit
    except ImportError:
        raise TutelageError(f"submitit is not installed: {how_to_install('cluster')}") from None
    try:
        return submitit.AutoExecutor(folder=folder, cluster=cluster or "slurm")
    except RuntimeError:
        raise TutelageError("there is no Slurm on this machine (no srun): run this where jobs are submitted") from None
