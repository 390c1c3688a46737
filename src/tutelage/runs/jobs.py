"""The unit of work that leaves this process: one pack, told in plain text, landing in a shared folder."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
import yaml

from tutelage.errors import Refusal, unknown
from tutelage.plugins import PLUGINS, load_source
from tutelage.runs.execute import OnLanded, execute, find
from tutelage.runs.loads import work
from tutelage.runs.spec import Spec, to_yaml
from tutelage.runs.store import Pack, Store

log = logging.getLogger(__name__)

ATTEMPTS = 3
"""Times a pack is tried before the worker that keeps dying over it is blamed on the pack."""


@dataclass(frozen=True)
class Job:
    """One pack to compute: the spec as YAML, where its result belongs, and how.

    plugins: name and source of the files the user named with --with; the worker loads them before it reads the spec.
    """

    spec: str
    store: str
    device: str
    engine: str
    threads: int
    plugins: tuple[tuple[str, bytes], ...] = ()

    def read(self) -> Spec:
        """The spec, with the plugins it may need in place."""
        for path, source in self.plugins:
            load_source(source, Path(path))
        return Spec(**yaml.safe_load(self.spec))

    @property
    def name(self) -> str:
        """The hash of the spec."""
        return self.read().hash


def carry_out(job: Job) -> str:
    """Compute one pack in this process; its hash when it has landed. A pack that is there already is left alone."""
    torch.set_num_threads(job.threads)
    (pack,) = execute([job.read()], Store(job.store), device=job.device, engine=job.engine)
    return pack.spec.hash


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
    specs: Sequence[Spec],
    store: Store,
    on: str = "local",
    *,
    device: str = "auto",
    engine: str = "auto",
    threads: int = 1,
    on_progress: Callable[[float], None] | None = None,
    on_landed: OnLanded | None = None,
) -> list[Pack]:
    """Finished packs of all specs, computed here ("local") or by workers that share the folder of the store.

    A pack is the smallest thing a worker does, and packs are those of the specs: a run that was interrupted, or that
    is moved to another machine, meets the same ones.
    """
    word, _, rest = on.partition(":")
    if word == "local":
        return execute(specs, store, device=device, engine=engine, on_progress=on_progress, on_landed=on_landed)
    if word not in BACKENDS:
        raise unknown("place to run", word, ["local", *BACKENDS])
    distinct = {spec.hash: spec for spec in specs}
    tell = on_progress or (lambda done: None)
    show = on_landed or (lambda pack: None)
    waiting: dict[str, Spec] = {}
    for name, spec in distinct.items():
        known = find(spec, store)
        if known:
            tell(work(spec))
            show(known)
        else:
            waiting[name] = spec
    folder = str(Path(store.root).resolve())
    plugins = tuple((str(plugin.path), plugin.source) for plugin in PLUGINS.values())
    jobs = [Job(to_yaml(spec), folder, device, engine, threads, plugins) for spec in waiting.values()]

    def landed(name: str) -> None:
        tell(work(waiting[name]))
        show(store.load(waiting[name]))

    if jobs:
        log.info("%d packs for %s", len(jobs), on)
        BACKENDS[word](rest)(jobs, landed)
    missing = [name for name, spec in waiting.items() if spec not in store]
    if missing:
        raise Refusal(f"{len(missing)} packs did not land ({', '.join(missing[:3])}...): run the same command again")
    return [store.load(spec) for spec in specs]
