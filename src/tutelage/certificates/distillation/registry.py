"""Which statements of seed 004, chapter 5 there are, and how to hold transfer sets and flows against them.

They speak of transfer sets, of a way through time and of a law of inputs rather than of a teacher network and samples.
A statement needs a ``course`` of w, a course with every one of its ``layers``, the sets' ``task``, or, with nothing
said, the sets alone. It has one finding a set, or a single one where it is of all sets together, as an expected risk
is.
"""

from typing import Any

from tutelage.certificates.distillation.scene import DistillationScene
from tutelage.certificates.records import Certificate
from tutelage.certificates.statements import Statement, Statements
from tutelage.errors import Refusal
from tutelage.theory.distillation.flows import Course
from tutelage.theory.distillation.tasks import Task
from tutelage.theory.distillation.transfer import TransferSet

STATEMENTS = Statements("distillation")
distillation_certificate = STATEMENTS.add


def certify_distillation(
    name: str, about: TransferSet | Course | DistillationScene, task: Task | None = None, **options: Any
) -> list[Certificate]:
    """Hold transfer sets, a course of their students, or a scene with both against a statement.

    task: the law the sets were drawn from, for statements about the expected risk.

    >>> import torch
    >>> few = TransferSet(torch.eye(3)[:2], torch.tensor([1.0, 2.0, 3.0]))
    >>> [certificate] = certify_distillation("global-minima", few)
    >>> certificate.verdict
    'holds'
    """
    scene = _scene(about, task)
    _check(STATEMENTS.find(name, options), scene)
    return STATEMENTS.certify(name, scene, options)


def _scene(about: TransferSet | Course | DistillationScene, task: Task | None) -> DistillationScene:
    if isinstance(about, DistillationScene):
        return about
    if isinstance(about, Course):
        return DistillationScene(about.transfer, about, task)
    return DistillationScene(about, None, task)


def _check(statement: Statement, scene: DistillationScene) -> None:
    name, needs = statement.name, statement.needs
    if needs in ("course", "layers") and scene.course is None:
        raise Refusal(f"'{name}' speaks of a flow: give the Course that flow, induced_flow or descent returns")
    if needs == "layers" and (scene.course is None or scene.course.weights is None):
        raise Refusal(f"'{name}' looks at every layer: follow the students with flow or descent")
    if needs == "task" and scene.task is None:
        raise Refusal(f"'{name}' speaks of a law of inputs: say task=... of which the sets were drawn")
