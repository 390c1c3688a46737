"""Which theorems there are, and how to hold networks against them. A theorem is one file that edits no other."""

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from torch import Tensor

from tutelage.certificates.records import Certificate, Finding
from tutelage.certificates.scene import scenes
from tutelage.errors import Refusal, unknown
from tutelage.inputs import Inputs
from tutelage.networks import Network

Layers = Literal["two", "deep", "any"]
"""Two: two layers alone; deep: more, though two will do; any: two or more."""


@dataclass(frozen=True)
class Theorem:
    """A theorem as code: where it stands, what it says, for how many layers, and the options of its function."""

    name: str
    source: str
    statement: str
    layers: Layers
    function: Callable[..., Sequence[Finding]]

    @property
    def options(self) -> dict[str, Any]:
        """Options with their defaults."""
        parameters = inspect.signature(self.function).parameters.values()
        return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}

    def fits(self, students: Network) -> bool:
        """Whether it speaks of networks of this depth."""
        return students.depth == 2 or (self.layers != "two" and students.depth > 2)


THEOREMS: dict[str, Theorem] = {}


def certificate(name: str, *, source: str, layers: Layers = "two") -> Callable[[Callable[..., Sequence[Finding]]], Any]:
    """Register a function (scene, *, options) -> one finding a member; its docstring's first line is the statement."""

    def register(function: Callable[..., Sequence[Finding]]) -> Callable[..., Sequence[Finding]]:
        statement = (function.__doc__ or name).strip().splitlines()[0]
        THEOREMS[name] = Theorem(name, source, statement, layers, function)
        return function

    return register


def find(name: str) -> Theorem:
    """The theorem of that name."""
    if name not in THEOREMS:
        raise unknown("theorem", name, THEOREMS)
    return THEOREMS[name]


def certify(
    name: str, teacher: Network, students: Network, points: Tensor | Inputs, **options: Any
) -> list[Certificate]:
    """Hold every member against a theorem: its conditions with values and witnesses, its conclusion, a verdict.

    teacher: one for all students, or one a student; points: the training samples [N, d] for all members or
    [S, N, d], or Inputs, whose training points are taken. Options are those of the theorem: see ``find(name).options``.

    >>> import torch
    >>> one = torch.ones(1, 1, 1, dtype=torch.float64)
    >>> teacher = Network((one, one), (-one[0] / 2, 0 * one[0]))
    >>> points = torch.linspace(-1, 2, 9, dtype=torch.float64)[:, None]
    >>> [certificate] = certify("alignment", teacher, teacher, points)
    >>> certificate.verdict, certificate.unmet
    ('not applicable', ('observed by a student unit',))
    """
    theorem = find(name)
    for option, value in options.items():
        if option not in theorem.options:
            known = ", ".join(theorem.options) or "none"
            raise Refusal(f"'{name}' has no option '{option}': it takes {known}")
        _check_option(option, value, theorem.options[option])
    if not theorem.fits(students):
        wanted = "two layers" if theorem.layers == "two" else "at least two layers"
        raise Refusal(f"'{name}' speaks of networks of {wanted}, and these have {students.depth}")
    return _signed(theorem, scenes(teacher, students, points), options)


def certify_all(
    teacher: Network, students: Network, points: Tensor | Inputs, **options: Any
) -> dict[str, list[Certificate]]:
    """Every theorem made for networks of this depth; an option goes to the theorems that have it."""
    deep = students.depth > 2
    chosen = {name: t for name, t in THEOREMS.items() if t.fits(students) and (deep or t.layers != "deep")}
    known = {option: default for theorem in chosen.values() for option, default in theorem.options.items()}
    for option, value in options.items():
        if option not in known:
            raise Refusal(f"no theorem has an option '{option}': the options are {', '.join(sorted(known))}")
        _check_option(option, value, known[option])
    out: dict[str, list[Certificate]] = {name: [] for name in chosen}
    for scene in scenes(teacher, students, points):  # what a scene has worked out serves all theorems
        for name, theorem in chosen.items():
            own = {option: value for option, value in options.items() if option in theorem.options}
            out[name] += _signed(theorem, [scene], own)
    return out


def _check_option(name: str, value: Any, default: Any) -> None:
    """Options are numbers: whole and at least 1 where the default is a whole number, else at least 0 and finite."""
    if type(default) is int:
        if type(value) is not int or not 1 <= value < 2**31:
            raise Refusal(f"the option {name} must be a whole number of at least 1, got {value}")
    elif value is not None and not 0 <= float(value) < math.inf:
        raise Refusal(f"the option {name} must be finite and at least 0, got {value}")


def _signed(theorem: Theorem, looked_at: Any, options: dict[str, Any]) -> list[Certificate]:
    out: list[Certificate] = []
    for scene in looked_at:
        for offset, finding in enumerate(theorem.function(scene, **options)):
            out.append(
                Certificate(
                    theorem.name,
                    theorem.source,
                    theorem.statement,
                    scene.first + offset,
                    tuple(finding.conditions),
                    tuple(finding.parts),
                    dict(finding.settings),
                )
            )
    return out
