"""From specs to finished packs: build, train, measure, store; what is stored already is not computed again."""

import logging
import platform
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime

import numpy as np
import torch

import tutelage
from tutelage.errors import Refusal
from tutelage.measures import Report
from tutelage.networks import concatenate
from tutelage.plugins import blamed
from tutelage.runs.loads import loads, work
from tutelage.runs.manifest import Damage
from tutelage.runs.memory import keep_freed_memory
from tutelage.runs.spec import Spec
from tutelage.runs.store import Pack, Store, load_pack, set_aside
from tutelage.runs.work import OnProgress, Part, train_loads

log = logging.getLogger(__name__)

OnLanded = Callable[[Pack], None]


def pick_device(name: str = "auto") -> torch.device:
    """The device to work on: "auto" takes a GPU where there is one."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name not in ("cpu", "cuda"):
        raise Refusal(f"there is no device '{name}': choose auto, cpu or cuda")
    if name == "cuda" and not torch.cuda.is_available():
        raise Refusal("no CUDA device is available here: use --device cpu")
    return torch.device(name)


def execute(
    specs: Sequence[Spec],
    store: Store,
    *,
    device: str = "auto",
    engine: str = "auto",
    on_progress: OnProgress | None = None,
    on_landed: OnLanded | None = None,
) -> list[Pack]:
    """Finished packs of all specs, in their order.

    on_progress is told of work done, in units of :func:`work`; on_landed of every pack as it lands, or is found.
    Packs are written by threads of their own while the next load trains; each lands as soon as it is whole.
    """
    where = pick_device(device)
    if where.type == "cpu":
        keep_freed_memory()
    tell = on_progress or (lambda done: None)
    show = on_landed or (lambda pack: None)
    packs: dict[str, Pack | Future[Pack]] = {}
    pending: dict[str, Spec] = {}
    for spec in specs:
        if spec.hash in packs or spec.hash in pending:
            continue
        known = find(spec, store)
        if known:
            packs[spec.hash] = known
            tell(work(spec))
            show(known)
        else:
            pending[spec.hash] = spec
    finished: dict[str, list[Part]] = {name: [] for name in pending}
    with blamed(), ThreadPoolExecutor(max_workers=4) as writers:
        for part in train_loads(loads(list(pending.values()), where), where, engine, tell):
            _raise_failures(packs.values())
            whole = part.piece.whole
            finished[whole.hash].append(part)
            if sum(len(p.piece.spec.seeds) for p in finished[whole.hash]) == len(whole.seeds):
                packs[whole.hash] = writers.submit(_save, whole, finished.pop(whole.hash), store, where, show)
    return [pack.result() if isinstance(pack := packs[spec.hash], Future) else pack for spec in specs]


def _raise_failures(packs: Iterable[Pack | Future[Pack]]) -> None:
    """Stop at once when a pack could not be written, instead of computing more that cannot be kept either."""
    for pack in packs:
        if isinstance(pack, Future) and pack.done():
            pack.result()


def find(spec: Spec, store: Store) -> Pack | None:
    """The pack of a spec if it is there and whole; a damaged one is set aside, to be computed again."""
    if spec not in store:
        return None
    try:
        return store.load(spec)
    except Damage as damage:
        aside = set_aside(store.folder(spec), lambda folder: load_pack(folder, spec))
        if aside is not None:
            log.warning("%s; it is set aside as %s and computed again", str(damage).partition(":")[0], aside.name)
            return None
    return find(spec, store)  # another run has set it aside, and has perhaps computed it again


def _save(spec: Spec, parts: Sequence[Part], store: Store, device: torch.device, show: OnLanded) -> Pack:
    """Write a finished pack, its pieces put together again in the order of its seeds."""
    parts = sorted(parts, key=lambda part: spec.seeds.index(part.piece.spec.seeds[0]))
    first = parts[0].report
    values = {name: np.concatenate([part.report[name] for part in parts], axis=1) for name in first.values}
    kept = {name: concatenate([part.kept[name] for part in parts]) for name in parts[0].kept}
    diverged = [step for part in parts for step in part.diverged_at.tolist()]
    about = {
        "spec": spec.hash,
        "version": tutelage.__version__,
        "torch": torch.__version__,
        "machine": platform.machine(),
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        "engine": parts[0].engine,
        "threads": parts[0].threads,
        "stack": [part.stack for part in parts],
        "seeds": list(spec.seeds),
        "diverged": {str(seed): step for seed, step in zip(spec.seeds, diverged, strict=True) if step >= 0},
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(sum(part.seconds for part in parts), 3),
        "training_seconds": round(sum(part.training_seconds for part in parts), 3),
    }
    pack = store.save(spec, Report(first.steps, values), kept, [about])
    show(pack)
    return pack
