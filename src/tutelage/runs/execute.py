"""From specs to finished packs: build, train, measure, store; what is stored already is not computed again."""

import logging
import platform
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from itertools import pairwise

import torch

import tutelage
from tutelage.errors import Refusal
from tutelage.inputs import Inputs, Law
from tutelage.measures import Recorder
from tutelage.networks import Network
from tutelage.runs.spec import Spec
from tutelage.runs.store import Pack, Store
from tutelage.training import train

log = logging.getLogger(__name__)


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
    on_progress: Callable[[float], None] | None = None,
) -> list[Pack]:
    """Finished packs of all specs, in their order; ``on_progress`` is told of work done, in units of :func:`work`."""
    where = pick_device(device)
    packs = []
    for spec in specs:
        if spec in store:
            packs.append(store.load(spec))
            if on_progress:
                on_progress(work(spec))
        else:
            packs.append(_compute(spec, store, where, engine, on_progress))
    return packs


def work(spec: Spec) -> float:
    """Multiplications of a pack, to weigh packs against each other in a progress bar."""
    widths = spec.student.widths(spec.teacher.widths())
    samples = spec.inputs.train if spec.training.batch == "all" else spec.training.batch
    per_sample = 3.0 * sum(a * b for a, b in pairwise(widths))
    return len(spec.seeds) * spec.training.steps * samples * per_sample


def build(spec: Spec, device: torch.device | str = "cpu") -> tuple[Network, Network, Inputs]:
    """Teachers, students and inputs of a spec: three pure functions of it."""
    dtype = getattr(torch, spec.precision)
    teacher = spec.teacher.build(spec.seeds, spec.inputs, dtype, device)
    students = spec.student.build(teacher, spec.seeds)
    return teacher, students, _inputs(spec, teacher)


def _inputs(spec: Spec, teacher: Network) -> Inputs:
    if type(spec.inputs).training_points is Law.training_points:
        return _same_inputs(spec.inputs, spec.seeds, teacher.inputs, teacher.dtype, str(teacher.device))
    return spec.inputs.draw(teacher, spec.seeds)


@lru_cache(maxsize=1)
def _same_inputs(law: Law, seeds: tuple[int, ...], dimension: int, dtype: torch.dtype, device: str) -> Inputs:
    """Inputs that do not depend on the teacher, kept for the next pack of the same seeds."""
    shape_only = Network((torch.zeros(len(seeds), dimension, 1, dtype=dtype, device=device),))
    return law.draw(shape_only, seeds)


def _compute(
    spec: Spec, store: Store, device: torch.device, engine: str, on_progress: Callable[[float], None] | None
) -> Pack:
    start = time.perf_counter()
    teacher, students, inputs = build(spec, device)
    recorder = Recorder(teacher, inputs, spec.record.measures)
    share = work(spec) / spec.training.steps
    run = train(
        students,
        teacher,
        inputs,
        spec.training,
        record=spec.record.steps(spec.training.steps),
        keep="all" if spec.record.weights == "all" else "last",
        engine=engine,
        on_record=recorder.record,
        on_progress=(lambda steps: on_progress(steps * share)) if on_progress else None,
    )
    kept = {"teacher": teacher.to("cpu")}
    if spec.record.weights != "none":
        kept |= {f"students-{step}": network.to("cpu") for step, network in run.recorded.items()}
    about: dict[str, object] = {
        "spec": spec.hash,
        "version": tutelage.__version__,
        "torch": torch.__version__,
        "machine": platform.machine(),
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        "engine": run.engine,
        "seeds": list(spec.seeds),
        "diverged": {str(spec.seeds[i]): step for i, step in enumerate(run.diverged_at.tolist()) if step >= 0},
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(time.perf_counter() - start, 3),
        "training_seconds": round(run.seconds, 3),
    }
    log.info("pack %s: %d members on %s in %.1f s", spec.hash, len(spec.seeds), run.engine, about["seconds"])
    return store.save(spec, recorder.report(), kept, [about])
