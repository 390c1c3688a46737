"""The unit of work that leaves this process: one experiment, described in plain text, stored in a shared folder."""

import importlib
import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from tutelage.errors import TutelageError, unknown
from tutelage.lab.execute import OnLanded, execute, levels, sort_out
from tutelage.lab.experiment import Experiment, plain
from tutelage.lab.experiment import find as find_kind
from tutelage.lab.store import Store
from tutelage.plugins import PLUGINS, load_source

log = logging.getLogger(__name__)

ATTEMPTS = 3
"""Times an experiment is tried before the worker that keeps dying over it is blamed on the experiment."""


@dataclass(frozen=True)
class Job:
    """One experiment to compute: its kind and settings as plain text, where its results belong, and how.

    module: where the kind is defined; plugins: name and source of the files the user named with --with; the worker
    loads them before it reads the settings.
    """

    kind: str
    module: str
    settings: str
    store: str
    device: str
    engine: str
    threads: int
    plugins: tuple[tuple[str, bytes], ...] = ()

    @classmethod
    def of(cls, experiment: Experiment, store: str, device: str, engine: str, threads: int) -> "Job":
        """The job of computing an experiment, with the plugins of this process."""
        sources = tuple((str(plugin.path), plugin.source) for plugin in PLUGINS.values())
        settings = json.dumps(plain(experiment))
        module = type(experiment).__module__
        return cls(experiment.kind, module, settings, store, device, engine, threads, sources)

    def read(self) -> Experiment:
        """The experiment, with the plugins it may need in place."""
        for path, source in self.plugins:
            load_source(source, Path(path))
        if not self.module.startswith("_tutelage_plugin_"):
            importlib.import_module(self.module)
        return find_kind(self.kind)(**json.loads(self.settings))

    @property
    def name(self) -> str:
        """The hash of the experiment."""
        return self.read().hash


def carry_out(job: Job) -> str:
    """Compute one experiment in this process; its hash when it is stored. One that is stored already is left alone."""
    torch.set_num_threads(job.threads)
    (result,) = execute([job.read()], Store(job.store), device=job.device, engine=job.engine)
    return result.experiment.hash


Backend = Callable[[Sequence[Job], Callable[[str], None]], None]
"""Carries out jobs, tells the hash of each as it lands, and returns when all have."""

BACKENDS: dict[str, Callable[[str], Backend]] = {}
"""From the word before the colon of ``--on`` to a function that takes what stands after it."""


def backend(name: str) -> Callable[[Callable[[str], Backend]], Callable[[str], Backend]]:
    """Register a way to run jobs under the name it has after ``--on``."""

    def register(make: Callable[[str], Backend]) -> Callable[[str], Backend]:
        BACKENDS[name] = make
        return make

    return register


def schedule(
    experiments: Sequence[Experiment],
    store: Store,
    on: str = "local",
    *,
    device: str = "auto",
    engine: str = "auto",
    threads: int = 1,
    on_progress: Callable[[float], None] | None = None,
    on_landed: OnLanded | None = None,
) -> list[Any]:
    """Compute experiments here or on workers that share the folder of the store.

    An experiment is the smallest thing a worker does: a run that was interrupted, or that is moved to another machine,
    finds the finished ones in the store.

    Parameters
    ----------
    experiments
        What to compute.
    store
        Where results are stored.
    on
        "local", "processes:N", "ray", "ray://HOST:PORT" or "slurm".
    device, engine, threads
        Device, training engine and cores per worker.
    on_progress, on_landed
        As in :func:`execute`.

    Returns
    -------
    list
        Results in the order of the experiments.

    Examples
    --------
    >>> import tempfile
    >>> import tutelage as tt
    >>> experiment = tt.TeacherStudent(
    ...     teacher={"kind": "levels", "inputs": 5, "hidden": 3, "outputs": 2},
    ...     student={"kind": "small-normal"}, inputs={"kind": "gaussian", "train": 50, "evaluate": 20},
    ...     training={"steps": 100}, seeds=2,
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results = schedule([experiment], Store(Path(folder)))
    >>> len(results)
    1
    """
    word, _, rest = on.partition(":")
    if word == "local":
        return execute(experiments, store, device=device, engine=engine, on_progress=on_progress, on_landed=on_landed)
    if word not in BACKENDS:
        raise unknown("place to run", word, ["local", *BACKENDS])
    tell = on_progress or (lambda done: None)
    show = on_landed or (lambda result: None)
    folder = str(Path(store.root).resolve())
    results, pending = sort_out(experiments, store, tell, show)
    if pending:
        store.check_writable()
    waiting = {experiment.hash: experiment for experiment in pending}

    def landed(name: str) -> None:
        tell(waiting[name].cost)
        results[name] = store.load(waiting[name])
        show(results[name])

    for level in levels(pending):
        log.info("%d experiments for %s", len(level), on)
        jobs = [Job.of(experiment, folder, device, engine, threads) for experiment in level]
        BACKENDS[word](rest)(jobs, landed)
    missing = [name for name, experiment in waiting.items() if experiment not in store]
    if missing:
        raise TutelageError(
            f"{len(missing)} experiments have no results ({', '.join(missing[:3])}...): run the same command again"
        )
    return [results[e.hash] if e.hash in results else store.load(e) for e in experiments]
