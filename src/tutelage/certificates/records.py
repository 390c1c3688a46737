"""What a certificate is: the conditions of a theorem with their values, its conclusion, and a verdict."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tutelage.errors import TutelageError

Verdict = Literal["holds", "fails", "not applicable", "not decided", "vacuous"]
VERDICTS: tuple[Verdict, ...] = ("fails", "not decided", "vacuous", "not applicable", "holds")
"""From the worst to the best: a certificate is as good as its worst part."""

Relation = Literal["<=", "<", ">=", ">"]


@dataclass(frozen=True)
class Condition:
    """A measured number compared with the bound that a theorem needs.

    Attributes
    ----------
    name
        What is measured.
    value, relation, bound
        The comparison; value and bound are None where there is none, and the witness says why.
    holds
        True, False, or None where the value decides nothing (a sampled bound, for example).
    witness
        Sample, unit or region it comes from, in words.
    data
        The same for programs.
    vacuous
        Whether the bound is so wide that a network that learned nothing would meet it too.
    """

    name: str
    value: float | None
    relation: Relation
    bound: float | None
    holds: bool | None
    witness: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    vacuous: bool = False

    @property
    def needed(self) -> str:
        return f"{self.relation} {self.bound:.4g}" if self.bound is not None else ""

    @property
    def margin(self) -> float | None:
        """How far the value lies on the right side of its bound; negative on the wrong one."""
        if self.value is None or self.bound is None:
            return None
        return self.bound - self.value if self.relation.startswith("<") else self.value - self.bound

    def plain(self) -> dict[str, Any]:
        """As plain data for JSON; what is not finite becomes None."""
        return {
            "name": self.name,
            "value": _finite(self.value),
            "needed": self.needed,
            "margin": _finite(self.margin),
            "holds": self.holds,
            "vacuous": self.vacuous,
            "witness": self.witness,
            **({"data": {name: _plain(value) for name, value in self.data.items()}} if self.data else {}),
        }

    def __str__(self) -> str:
        mark = {True: "yes", False: "no ", None: "?  "}[self.holds]
        if self.value is None:
            return f"{mark} {self.name}: {self.witness}"
        said = ", which says nothing: even an untrained network meets it" if self.vacuous else ""
        text = f"{mark} {self.name}: {self.value:.4g} (needed {self.needed}{said})"
        return f"{text}, {self.witness}" if self.witness else text


def check(
    name: str,
    value: float,
    relation: Relation,
    bound: float,
    witness: str = "",
    decided: bool = True,
    vacuous: bool = False,
    **data: Any,
) -> Condition:
    """A condition decided by comparing two numbers.

    Parameters
    ----------
    name
        What is measured.
    value, relation, bound
        ``value relation bound`` must hold.
    witness
        Sample, unit or region it comes from.
    decided
        False where the value is not the whole truth, such as a maximum over samples; a condition that is met is then
        undecided.
    vacuous
        Whether the bound cannot be missed; meeting it then says nothing, missing it still does.
    **data
        Numbers for programs.

    Returns
    -------
    Condition

    Examples
    --------
    >>> print(check("samples in the band", 12, ">=", 20, "teacher unit 3"))
    no  samples in the band: 12 (needed >= 20), teacher unit 3
    """
    if math.isnan(value) or math.isnan(bound):
        raise TutelageError(
            f"'{name}' is not a number ({value} {relation} {bound}): the networks or samples hold numbers that are too "
            "large or not finite"
        )
    met = {"<=": value <= bound, "<": value < bound, ">=": value >= bound, ">": value > bound}[relation]
    return Condition(name, value, relation, bound, bool(met) if decided else None, witness, data, vacuous and bool(met))


def unknown(name: str, why: str) -> Condition:
    """A condition that was not evaluated.

    Parameters
    ----------
    name
        What would be measured.
    why
        Why it was not.

    Returns
    -------
    Condition

    Examples
    --------
    >>> print(unknown("gradient is small", "not evaluated, for want of samples"))
    ?   gradient is small: not evaluated, for want of samples
    """
    return Condition(name, None, "<=", None, None, why)


@dataclass(frozen=True)
class Part:
    """What a theorem says of one thing, such as a teacher unit.

    Attributes
    ----------
    about
        What it is about, in words.
    conditions
        Conditions of this part.
    conclusion
        What the theorem promises, measured.
    """

    about: str
    conditions: tuple[Condition, ...]
    conclusion: Condition


@dataclass(frozen=True)
class Certificate:
    """A theorem checked on one member: conditions that all parts share, and one part per thing it speaks of.

    Attributes
    ----------
    theorem, source, statement
        Name, place in the paper and what the theorem says.
    member
        Which member.
    conditions
        Conditions shared by all parts.
    parts
        For example one per teacher unit.
    settings
        Tolerances and options that the numbers depend on.
    """

    theorem: str
    source: str
    statement: str
    member: int
    conditions: tuple[Condition, ...]
    parts: tuple[Part, ...]
    settings: dict[str, Any]

    def verdict_of(self, part: Part) -> Verdict:
        """holds or fails where all conditions are true.

        A false condition comes before a vacuous one, and that before one that is not decided.
        """
        conditions = (*self.conditions, *part.conditions)
        met = [condition.holds for condition in conditions]
        if not all(holds is not False for holds in met):
            return "not applicable"
        if any(condition.vacuous for condition in conditions):
            return "vacuous"
        if None in met or part.conclusion.holds is None:
            return "not decided"
        return "holds" if part.conclusion.holds else "fails"

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """One a part."""
        return tuple(self.verdict_of(part) for part in self.parts)

    @property
    def verdict(self) -> Verdict:
        """That of the worst part."""
        return min(self.verdicts, key=VERDICTS.index)

    @property
    def unmet(self) -> tuple[str, ...]:
        """Names of the conditions that are false, each once."""
        every = [c for part in self.parts for c in (*self.conditions, *part.conditions)]
        return tuple(dict.fromkeys(c.name for c in every if c.holds is False))

    def plain(self) -> dict[str, Any]:
        """As plain data for JSON."""
        return {
            "theorem": self.theorem,
            "source": self.source,
            "statement": self.statement,
            "member": self.member,
            "verdict": self.verdict,
            "settings": self.settings,
            "conditions": [condition.plain() for condition in self.conditions],
            "parts": [
                {
                    "about": part.about,
                    "verdict": verdict,
                    "conditions": [condition.plain() for condition in part.conditions],
                    "conclusion": part.conclusion.plain(),
                }
                for part, verdict in zip(self.parts, self.verdicts, strict=True)
            ],
        }

    def __str__(self) -> str:
        lines = [f"{self.theorem} ({self.source}), member {self.member}: {self.summary}", f"  {self.statement}"]
        lines += [f"  {condition}" for condition in self.conditions]
        for part, verdict in zip(self.parts, self.verdicts, strict=True):
            lines.append(f"  {part.about}: {verdict}{REMARKS.get(verdict, '')}")
            lines += [f"    {condition}" for condition in part.conditions]
            lines.append(f"    => {part.conclusion}")
        if self.settings:
            lines.append("  with " + ", ".join(f"{name} {_short(v)}" for name, v in self.settings.items()))
        return "\n".join(lines)

    @property
    def summary(self) -> str:
        """The verdict, and how many parts share it where they differ."""
        counts = {v: self.verdicts.count(v) for v in VERDICTS if v in self.verdicts}
        if len(counts) == 1:
            return self.verdict
        return f"{self.verdict} ({', '.join(f'{v}: {n}' for v, n in counts.items())})"


REMARKS = {
    "fails": " (this would refute the theorem, or shows rounding: look at the margins)",
    "vacuous": " (the tolerance is too wide to say anything: choose a smaller one, or networks of higher precision)",
}


@dataclass(frozen=True)
class Finding:
    """What the function of a theorem returns for one member.

    Attributes
    ----------
    parts
        One per thing the theorem speaks of.
    conditions
        Conditions shared by all parts.
    settings
        Tolerances and options that the numbers depend on.
    """

    parts: Sequence[Part]
    conditions: Sequence[Condition] = ()
    settings: dict[str, Any] = field(default_factory=dict)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _plain(value: Any) -> Any:
    """Data as JSON knows it: a number that is not finite becomes None."""
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return _finite(value) if isinstance(value, float) else value


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
