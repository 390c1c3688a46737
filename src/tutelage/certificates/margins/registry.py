"""Which statements of seed 004, chapter 3 there are, and how to hold a course of the flow against them.

They speak of labelled points and of a way through time rather than of a teacher and samples, so they stand beside the
theorems of :func:`tutelage.certificates.certify` and give the same certificates.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tutelage.certificates.margins.scene import MarginScene
from tutelage.certificates.records import Certificate, Finding
from tutelage.errors import Refusal, unknown
from tutelage.theory.margins.flow import Course

Function = Callable[..., Sequence[Finding]]


@dataclass(frozen=True)
class Statement:
    """A statement as code: its source, its words, and the function (scene, *, options) -> one finding a member."""

    name: str
    source: str
    words: str
    function: Function

    @property
    def options(self) -> dict[str, Any]:
        """Options with their defaults."""
        parameters = inspect.signature(self.function).parameters.values()
        return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}


STATEMENTS: dict[str, Statement] = {}


def margin_certificate(name: str, *, source: str) -> Callable[[Function], Function]:
    """Register a function (scene, *, options) -> one finding a member; its docstring's first line is the statement."""

    def register(function: Function) -> Function:
        words = (function.__doc__ or name).strip().splitlines()[0]
        STATEMENTS[name] = Statement(name, f"seed 004, {source}", words, function)
        return function

    return register


def certify_margins(name: str, course: Course | MarginScene, **options: Any) -> list[Certificate]:
    """Hold every member of a course against a statement; a scene serves several statements without working twice.

    >>> from tutelage.theory.margins.datasets import cones
    >>> from tutelage.theory.margins.flow import balanced_start, flow
    >>> course = flow(cones([0]), balanced_start([0], units=6, dimension=3), [-float("inf"), 5.0])
    >>> [certificate] = certify_margins("balance", course)
    >>> certificate.verdict
    'holds'
    """
    if name not in STATEMENTS:
        raise unknown("statement about margins", name, STATEMENTS)
    statement = STATEMENTS[name]
    for option in options:
        if option not in statement.options:
            known = ", ".join(statement.options) or "none"
            raise Refusal(f"'{name}' has no option '{option}': it takes {known}")
    scene = course if isinstance(course, MarginScene) else MarginScene(course)
    settings = {**statement.options, **options}
    return [
        Certificate(name, statement.source, statement.words, s, tuple(f.conditions), tuple(f.parts), settings)
        for s, f in enumerate(statement.function(scene, **options))
    ]
