"""From specs to finished packs: build, train, measure, store; what is stored already is not computed again."""

import logging
import platform
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

import tutelage
from tutelage.errors import Refusal
from tutelage.measures import Recorder, Report
from tutelage.networks import Network, concatenate
from tutelage.runs.build import build
from tutelage.runs.loads import Piece, loads
from tutelage.runs.memory import keep_freed_memory
from tutelage.runs.spec import Spec
from tutelage.runs.store import Pack, Store
from tutelage.training import Task, follow, make_task

log = logging.getLogger(__name__)

OnProgress = Callable[[float], None]


def pick_device(name: str = "auto") -> torch.device:
    """The device to work on: "auto" takes a GPU where there is one."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name not in ("cpu", "cuda"):
        raise Refusal(f"there is no device '{name}': choose auto, cpu or cuda")
    if name == "cuda" and not torch.cuda.is_available():
        raise Refusal("no CUDA device is available here: use --device cpu")
    return torch.device(name)


def work(spec: Spec) -> float:
    """Multiplications of a pack, to weigh packs against each other in a progress bar."""
    widths = spec.student.widths(spec.teacher.widths())
    samples = spec.inputs.train if spec.training.batch == "all" else spec.training.batch
    per_sample = 3.0 * sum(a * b for a, b in pairwise(widths))
    return len(spec.seeds) * spec.training.steps * samples * per_sample


def execute(
    specs: Sequence[Spec],
    store: Store,
    *,
    device: str = "auto",
    engine: str = "auto",
    on_progress: OnProgress | None = None,
) -> list[Pack]:
    """Finished packs of all specs, in their order; ``on_progress`` is told of work done, in units of :func:`work`.

    Packs are written by threads of their own while the next load trains; each lands as soon as it is whole.
    """
    where = pick_device(device)
    if where.type == "cpu":
        keep_freed_memory()
    tell = on_progress or (lambda done: None)
    packs: dict[str, Pack | Future[Pack]] = {}
    pending: dict[str, Spec] = {}
    for spec in specs:
        if spec in store:
            packs[spec.hash] = store.load(spec)
            tell(work(spec))
        else:
            pending[spec.hash] = spec
    finished: dict[str, list[_Part]] = {name: [] for name in pending}
    with ThreadPoolExecutor(max_workers=4) as writers:
        for load in loads(list(pending.values()), where):
            for part in _train(load, where, engine, tell):
                whole = part.piece.whole
                finished[whole.hash].append(part)
                if sum(len(p.piece.spec.seeds) for p in finished[whole.hash]) == len(whole.seeds):
                    packs[whole.hash] = writers.submit(_save, whole, finished.pop(whole.hash), store, where)
    return [pack.result() if isinstance(pack := packs[spec.hash], Future) else pack for spec in specs]


@dataclass
class _Part:
    """A piece on its way: what it was built of, its recorder, the weights it keeps, and where in the load it stands."""

    piece: Piece
    teacher: Network
    students: Network
    task: Task
    recorder: Recorder
    place: slice
    kept: dict[int, Network]
    engine: str = ""
    diverged_at: Tensor | None = None
    seconds: float = 0.0
    training_seconds: float = 0.0

    def record(self, step: int, students: Network, diverged_at: Tensor) -> None:
        spec = self.piece.spec
        mine = students[self.place]
        self.recorder.record(step, mine, diverged_at[self.place])
        if spec.record.weights == "all" or (spec.record.weights == "last" and step == spec.training.steps):
            self.kept[step] = mine.to("cpu")


def _train(load: Sequence[Piece], device: torch.device, engine: str, tell: OnProgress) -> list[_Part]:
    """Train and measure the pieces of a load, side by side in one stack."""
    start = time.perf_counter()
    parts: list[_Part] = []
    for piece in load:
        teacher, students, inputs = build(piece.spec, device)
        begin = parts[-1].place.stop if parts else 0
        task = make_task(students, teacher, inputs, piece.spec.training)
        recorder = Recorder(teacher, inputs, piece.spec.record.measures)
        parts.append(_Part(piece, teacher, students, task, recorder, slice(begin, begin + students.members), {}))
    steps = load[0].spec.record.steps(load[0].spec.training.steps)
    share = sum(work(piece.spec) for piece in load) / load[0].spec.training.steps

    recording = 0.0

    def record(step: int, students: Network, diverged_at: Tensor) -> None:
        nonlocal recording
        begin = time.perf_counter()
        for part in parts:
            part.record(step, students, diverged_at)
        recording += time.perf_counter() - begin

    students, task = concatenate([p.students for p in parts]), Task.join([p.task for p in parts])
    begin = time.perf_counter()
    diverged_at, used = follow(students, task, steps, record, engine, lambda done: tell(done * share))
    now = time.perf_counter()
    for part in parts:
        own = work(part.piece.spec) / (share * part.piece.spec.training.steps)
        part.engine, part.diverged_at = used, diverged_at[part.place]
        part.seconds, part.training_seconds = own * (now - start), own * (now - begin - recording)
    log.info(
        "%d packs or pieces, %d students, on %s in %.1f s: building %.1f, training %.1f, recording %.1f",
        *(len(parts), students.members, used, now - start, begin - start, now - begin - recording, recording),
    )
    return parts


def _save(spec: Spec, parts: Sequence[_Part], store: Store, device: torch.device) -> Pack:
    """Write a finished pack, its pieces put together again."""
    reports = [part.recorder.report() for part in parts]
    names = reports[0].values
    report = Report(reports[0].steps, {name: np.concatenate([r[name] for r in reports], axis=1) for name in names})
    kept = {"teacher": concatenate([part.teacher.to("cpu") for part in parts])}
    kept |= {f"students-{step}": concatenate([part.kept[step] for part in parts]) for step in parts[0].kept}
    diverged = [step for part in parts if part.diverged_at is not None for step in part.diverged_at.tolist()]
    about = {
        "spec": spec.hash,
        "version": tutelage.__version__,
        "torch": torch.__version__,
        "machine": platform.machine(),
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        "engine": parts[0].engine,
        "seeds": list(spec.seeds),
        "diverged": {str(seed): step for seed, step in zip(spec.seeds, diverged, strict=True) if step >= 0},
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(sum(part.seconds for part in parts), 3),
        "training_seconds": round(sum(part.training_seconds for part in parts), 3),
    }
    return store.save(spec, report, kept, [about])
