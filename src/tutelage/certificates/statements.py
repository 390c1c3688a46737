"""Statements about things other than a teacher, students and samples: a table of them, and how to hold a scene to one.

They stand beside the theorems of :func:`tutelage.certificates.certify` and give the same certificates.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tutelage.certificates.records import Certificate, Finding
from tutelage.errors import Refusal, unknown

Function = Callable[..., Sequence[Finding]]


@dataclass(frozen=True)
class Statement:
    """A statement as code: its source, its words, and the function (scene, *, options) -> one finding a member.

    needs: what it looks at besides what every scene of its table has, in a word of that table's own.
    """

    name: str
    source: str
    words: str
    function: Function
    needs: str = ""

    @property
    def options(self) -> dict[str, Any]:
        """Options with their defaults."""
        parameters = inspect.signature(self.function).parameters.values()
        return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}


class Statements(dict[str, Statement]):
    """The statements on one subject, by name."""

    def __init__(self, subject: str) -> None:
        super().__init__()
        self.subject = subject

    def add(self, name: str, *, source: str, needs: str = "") -> Callable[[Function], Function]:
        """Register a function (scene, *, options) -> findings; its docstring's first line is the statement."""

        def register(function: Function) -> Function:
            words = (function.__doc__ or name).strip().splitlines()[0]
            self[name] = Statement(name, f"seed 004, {source}", words, function, needs)
            return function

        return register

    def find(self, name: str, options: dict[str, Any]) -> Statement:
        """The statement of that name, if it takes these options."""
        if name not in self:
            raise unknown(f"statement about {self.subject}", name, self)
        for option in options:
            if option not in self[name].options:
                known = ", ".join(self[name].options) or "none"
                raise Refusal(f"'{name}' has no option '{option}': it takes {known}")
        return self[name]

    def certify(self, name: str, scene: Any, options: dict[str, Any]) -> list[Certificate]:
        """Hold a scene against a statement: one certificate a finding."""
        found = self.find(name, options)
        settings = {**found.options, **options}
        return [
            Certificate(name, found.source, found.words, s, tuple(f.conditions), tuple(f.parts), settings)
            for s, f in enumerate(found.function(scene, **options))
        ]
