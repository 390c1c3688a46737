"""Which statements of seed 004, chapter 5 there are, and how to hold transfer sets and flows against them.

They speak of transfer sets, of a way through time and of a law of inputs rather than of a teacher network and samples,
so they stand beside the theorems of :func:`tutelage.certificates.certify` and give the same certificates.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tutelage.certificates.distillation.scene import DistillationScene
from tutelage.certificates.records import Certificate, Finding
from tutelage.errors import Refusal, unknown
from tutelage.theory.distillation.flows import Course
from tutelage.theory.distillation.tasks import Task
from tutelage.theory.distillation.transfer import TransferSet

Function = Callable[..., Sequence[Finding]]
Needs = Literal["sets", "course", "layers", "task"]
"""What a statement looks at: transfer sets alone, a course of w, a course with every layer, or the sets' task."""


@dataclass(frozen=True)
class Statement:
    """A statement as code: source, words, what it looks at, and the function (scene, *, options) -> findings."""

    name: str
    source: str
    words: str
    needs: Needs
    function: Function

    @property
    def options(self) -> dict[str, Any]:
        """Options with their defaults."""
        parameters = inspect.signature(self.function).parameters.values()
        return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}


STATEMENTS: dict[str, Statement] = {}


def distillation_certificate(name: str, *, source: str, needs: Needs = "sets") -> Callable[[Function], Function]:
    """Register a function (scene, *, options) -> findings; its docstring's first line is the statement.

    One finding a member; a single one where the statement is of all sets together, as an expected risk is.
    """

    def register(function: Function) -> Function:
        words = (function.__doc__ or name).strip().splitlines()[0]
        STATEMENTS[name] = Statement(name, f"seed 004, {source}", words, needs, function)
        return function

    return register


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
    if name not in STATEMENTS:
        raise unknown("statement about distillation", name, STATEMENTS)
    statement = STATEMENTS[name]
    for option in options:
        if option not in statement.options:
            known = ", ".join(statement.options) or "none"
            raise Refusal(f"'{name}' has no option '{option}': it takes {known}")
    scene = _scene(about, task)
    _check(statement, scene)
    settings = {**statement.options, **options}
    return [
        Certificate(name, statement.source, statement.words, s, tuple(f.conditions), tuple(f.parts), settings)
        for s, f in enumerate(statement.function(scene, **options))
    ]


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
