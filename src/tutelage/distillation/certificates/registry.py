"""Statements of Phuong 2021, chapter 5: they are checked on transfer sets, flows of their students, and tasks.

A statement needs a ``course`` of w, a course with every one of its ``layers``, the sets' ``task``, or, with nothing
said, the sets alone. It has one finding per set, or a single one where it is about all sets together, as an expected
risk is.
"""

from collections.abc import Iterator
from typing import Any

from tutelage.certificates.registry import Subject, Theorem
from tutelage.distillation.certificates.scene import DistillationScene
from tutelage.distillation.deep import balanced_start
from tutelage.distillation.flows import StudentFlow, flow
from tutelage.distillation.tasks import DistillationTask, Polynomial
from tutelage.distillation.transfer import TransferSet


def _accepts(*about: Any) -> bool:
    first = len(about) in (1, 2) and isinstance(about[0], TransferSet | StudentFlow | DistillationScene)
    return first and all(hasattr(task, "risk") and hasattr(task, "p") for task in about[1:])


def _scenes(
    about: TransferSet | StudentFlow | DistillationScene, task: DistillationTask | None = None
) -> Iterator[tuple[int, Any]]:
    if isinstance(about, DistillationScene):
        yield 0, about
    elif isinstance(about, StudentFlow):
        yield 0, DistillationScene(about.transfer, about, task)
    else:
        yield 0, DistillationScene(about, None, task)


def _unfit(theorem: Theorem, scene: DistillationScene) -> str:
    if theorem.needs in ("course", "layers") and scene.course is None:
        return "needs a flow: pass the StudentFlow that flow, induced_flow or descent returns"
    if theorem.needs == "layers" and (scene.course is None or scene.course.weights is None):
        return "needs every layer: follow the students with flow or descent"
    if theorem.needs == "task" and scene.task is None:
        return "needs the distribution of inputs: pass the task from which the sets were drawn as a second argument"
    return ""


def _example(
    *, dimension: int = 20, kappa: float = 1.0, inputs: int = 8, layers: int = 2, time: float = 1e4, seed: int = 0
) -> tuple[StudentFlow, DistillationTask]:
    """Deep linear students of a polynomial task, followed from a small balanced start."""
    task = Polynomial(dimension, kappa=kappa)
    sets = task.transfer([seed], inputs)
    times = [0.0, *(t for t in (0.1, 1.0, 10.0, 100.0, 1e3) if t < time), time]
    return flow(sets, balanced_start(sets, [seed], layers).network, times), task


DISTILLATION = Subject(
    "distillation",
    about="transfer sets or a flow of their students (TransferSet, StudentFlow or DistillationScene), "
    "and a DistillationTask if needed",
    accepts=_accepts,
    scenes=_scenes,
    unfit=_unfit,
    example=_example,
)


def distillation_certificate(name: str, *, source: str, needs: str = "") -> Any:
    """Register a function (scene, *, options) -> findings."""
    return DISTILLATION.certificate(name, source=f"Phuong 2021, {source}", needs=needs)
