"""From experiments to stored results: what is stored already is not computed again."""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

import torch

import tutelage
from tutelage.devices import pick_device
from tutelage.lab.context import Context
from tutelage.lab.experiment import Experiment
from tutelage.lab.manifest import Damage
from tutelage.lab.store import Store, set_aside
from tutelage.machine import machine
from tutelage.plugins import blamed

log = logging.getLogger(__name__)

OnProgress = Callable[[float], None]
OnLanded = Callable[[Any], None]


def execute(
    experiments: Sequence[Experiment],
    store: Store,
    *,
    device: str = "auto",
    engine: str = "auto",
    on_progress: OnProgress | None = None,
    on_landed: OnLanded | None = None,
) -> list[Any]:
    """Compute experiments in this process, or load them where the store has them.

    Experiments that others need are computed first. Results are written by separate threads while the next experiment
    is computed.

    Parameters
    ----------
    experiments
        What to compute.
    store
        Where results are stored.
    device, engine
        Where and with which training engine.
    on_progress
        Called with the work done, in units of ``Experiment.cost``.
    on_landed
        Called with every result as it is stored or found.

    Returns
    -------
    list
        Results in the order of the experiments.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import tutelage as tt
    >>> from tutelage.lab import Store
    >>> experiment = tt.TeacherStudent(
    ...     teacher={"kind": "levels", "inputs": 5, "hidden": 3, "outputs": 2},
    ...     student={"kind": "small-normal"}, inputs={"kind": "gaussian", "train": 50, "evaluate": 20},
    ...     training={"steps": 100}, seeds=2,
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [result] = execute([experiment], Store(Path(folder)))
    >>> result.report["evaluate_loss"].shape
    (2, 2)
    """
    tell = on_progress or (lambda done: None)
    show = on_landed or (lambda result: None)
    results, pending = sort_out(experiments, store, tell, show)
    if pending:
        store.check_writable()
    for level in levels(pending):
        _compute(level, store, results, pick_device(device), engine, tell, show)
    return [results[experiment.hash] for experiment in experiments]


def sort_out(
    experiments: Sequence[Experiment], store: Store, tell: OnProgress, show: OnLanded
) -> tuple[dict[str, Any], list[Experiment]]:
    """Results that are stored already, by hash, and the experiments to compute: each once, needed ones among them."""
    results: dict[str, Any] = {}
    pending: dict[str, Experiment] = {}
    for experiment in with_needs(experiments):
        if experiment.hash in results or experiment.hash in pending:
            continue
        known = find(experiment, store)
        if known is None:
            pending[experiment.hash] = experiment
        else:
            results[experiment.hash] = known
            tell(experiment.cost)
            show(known)
    return results, list(pending.values())


def with_needs(experiments: Iterable[Experiment]) -> Iterator[Experiment]:
    """Experiments, each after those it needs."""
    for experiment in experiments:
        yield from with_needs(experiment.needs())
        yield experiment


def levels(pending: Sequence[Experiment]) -> list[list[Experiment]]:
    """Experiments in groups: each needs only what is stored or in an earlier group."""
    place: dict[str, int] = {}
    out: list[list[Experiment]] = []
    # Invariant: what a pending experiment needs has its place already, since `with_needs` yields it first. One level
    # is computed and stored before the next begins, so that a result that is asked for is always in the store.
    for experiment in pending:
        level = max((place[need.hash] + 1 for need in experiment.needs() if need.hash in place), default=0)
        place[experiment.hash] = level
        out += [[]] * (level + 1 - len(out))
        out[level] = [*out[level], experiment]
    return out


def _compute(
    level: Sequence[Experiment],
    store: Store,
    results: dict[str, Any],
    device: torch.device,
    engine: str,
    tell: OnProgress,
    show: OnLanded,
) -> None:
    """Compute and store the experiments of one level, kind by kind."""
    shares: dict[str, float] = {}

    def done(experiment: Experiment, share: float) -> None:
        before = shares.get(experiment.hash, 0.0)
        shares[experiment.hash] = max(before, min(share, 1.0))  # progress never goes back, whatever a kind reports
        tell(experiment.cost * (shares[experiment.hash] - before))

    context = Context(
        device=device,
        threads=torch.get_num_threads(),
        engine=engine,
        result=lambda needed: results[needed.hash] if needed.hash in results else store.load(needed),
        scratch=store.scratch(),
        on_done=done,
        advance=tell,
    )
    written: list[Future[Any]] = []
    # Kind by kind, since a kind may compute several experiments in one stack. Results are compressed and synced by
    # other threads, so that the next experiment does not wait for the disk.
    with blamed(), ThreadPoolExecutor(max_workers=4) as writers:
        for _, group in groupby(sorted(level, key=lambda e: e.kind), key=lambda e: e.kind):
            alike = list(group)
            kind = type(alike[0])
            began = time.perf_counter()
            for experiment, values in kind.run_all(alike, context):
                _raise_failures(written)
                seconds, began = time.perf_counter() - began, time.perf_counter()
                written.append(writers.submit(_save, experiment, values, store, context, seconds, show))
                if kind.reports_shares:
                    done(experiment, 1.0)
    for future in written:
        result = future.result()
        results[result.experiment.hash] = result


def _raise_failures(written: Iterable[Future[Any]]) -> None:
    """Stop at once when a result could not be written, instead of computing more that cannot be stored either."""
    for future in written:
        if future.done():
            future.result()


def find(experiment: Experiment, store: Store) -> Any | None:
    """The stored results of an experiment if they are whole; damaged ones are set aside, to be computed again."""
    if experiment not in store:
        return None
    try:
        return store.load(experiment)
    except Damage as damage:
        aside = set_aside(store.folder(experiment), lambda folder: store.load_from(folder, experiment))
        if aside is not None:
            log.warning("%s; it is set aside as %s and computed again", str(damage).partition(":")[0], aside.name)
            return None
    return find(experiment, store)  # another run has set it aside, and has perhaps computed it again


def _save(experiment: Experiment, values: Any, store: Store, context: Context, seconds: float, show: OnLanded) -> Any:
    """Store the results of one experiment, and remove its checkpoints."""
    device = context.device
    about = {
        "experiment": experiment.hash,
        "kind": experiment.kind,
        "version": tutelage.__version__,
        **machine(),
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        "threads": context.threads,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 3),
    }
    details = values.about(experiment) if hasattr(values, "about") else {}
    result = store.save(experiment, experiment.encode(values), about | details)
    with context.of(experiment) as at_work:
        at_work.forget()
    show(result)
    return result
