"""What a certificate is: the conditions of a theorem with their values, its conclusion, and a verdict."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tutelage.certificates.wording import detail_lines, measured, number, summary_lines
from tutelage.errors import TutelageError
from tutelage.printing import printed

Verdict = Literal["holds", "fails", "not applicable", "not decided", "vacuous"]
VERDICTS: tuple[Verdict, ...] = ("fails", "not decided", "vacuous", "not applicable", "holds")
"""From the worst to the best: a certificate is as good as its worst part."""

Relation = Literal["<=", "<", ">=", ">"]


@dataclass(frozen=True)
class Condition:
    """A number compared with the number that a theorem needs.

    Parameters
    ----------
    name
        What is required, such as "gradient is zero".
    value, relation, bound
        The condition is ``value relation bound``; value and bound are None where the condition was not evaluated.
    holds
        True, False, or None where the value decides nothing (a sampled bound, say) or was not evaluated.
    witness
        The sample, unit or region the value comes from; the reason where there is no value.
    data
        The same for programs.
    vacuous
        Whether the bound is so wide that an untrained network would meet it too, so that meeting it says nothing.
    quantity
        What the value is, as a noun: "gradient".
    advice
        What to do where the condition is not met.
    """

    name: str
    value: float | None
    relation: Relation
    bound: float | None
    holds: bool | None
    witness: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    vacuous: bool = False
    quantity: str = "measured"
    advice: str = ""

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
            "advice": self.advice if self.holds is not True else "",
            **({"data": {name: _plain(value) for name, value in self.data.items()}} if self.data else {}),
        }

    def __str__(self) -> str:
        word = {True: "met", False: "not met", None: "not decided"}[self.holds]
        return f"{word}: {self.name} ({measured(self)})"


def check(
    name: str,
    value: float,
    relation: Relation,
    bound: float,
    witness: str = "",
    decided: bool = True,
    vacuous: bool = False,
    quantity: str = "measured",
    advice: str = "",
    **data: Any,
) -> Condition:
    """Condition decided by comparing a value with its bound.

    Parameters
    ----------
    name
        What is required, such as "gradient is zero".
    value, relation, bound
        ``value relation bound`` must hold.
    witness
        Sample, unit or region the value comes from.
    decided
        False where the value is not the whole truth; a condition that is met is then not decided.
    vacuous
        Whether the bound cannot be missed; meeting it then says nothing, missing it still does.
    quantity
        What the value is, as a noun: "gradient".
    advice
        What to do where the condition is not met.
    **data
        The witness for programs.

    Returns
    -------
    Condition

    Examples
    --------
    >>> print(check("samples in the band", 12, ">=", 20, "teacher unit 3"))
    not met: samples in the band (measured 12, needed >= 20; teacher unit 3)
    """
    if math.isnan(value) or math.isnan(bound):
        raise TutelageError(
            f"'{name}' is not a number ({value} {relation} {bound}): the networks or samples hold numbers that are too "
            "large or not finite"
        )
    met = {"<=": value <= bound, "<": value < bound, ">=": value >= bound, ">": value > bound}[relation]
    judged = bool(met) if decided else None
    return Condition(name, value, relation, bound, judged, witness, data, vacuous and bool(met), quantity, advice)


def unknown(name: str, why: str) -> Condition:
    """Condition that was not evaluated.

    Parameters
    ----------
    name
        What is required.
    why
        Why it was not evaluated.

    Returns
    -------
    Condition

    Examples
    --------
    >>> print(unknown("gradient is small", "not evaluated: there are no samples"))
    not decided: gradient is small (not evaluated: there are no samples)
    """
    return Condition(name, None, "<=", None, None, why)


@printed
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


class _Judged:
    """Verdicts of parts under shared conditions."""

    parts: Sequence[Part]
    conditions: Sequence[Condition]

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
        """One verdict per part."""
        return tuple(self.verdict_of(part) for part in self.parts)

    @property
    def verdict(self) -> Verdict:
        """The verdict of the worst part."""
        return min(self.verdicts, key=VERDICTS.index)

    @property
    def unmet(self) -> tuple[str, ...]:
        """Names of the conditions that are false, each once."""
        every = [c for part in self.parts for c in (*self.conditions, *part.conditions)]
        return tuple(dict.fromkeys(c.name for c in every if c.holds is False))


@printed
@dataclass(frozen=True)
class Finding(_Judged):
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


@printed
@dataclass(frozen=True)
class Certificate(_Judged):
    """A theorem checked on one member: conditions that all parts share, and one part per thing it speaks of.

    ``print`` shows a summary; :meth:`details` returns every condition with its numbers.

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
    seed
        Seed of the member, where it is known.
    """

    theorem: str
    source: str
    statement: str
    member: int
    conditions: tuple[Condition, ...]
    parts: tuple[Part, ...]
    settings: dict[str, Any]
    seed: int | None = None

    def plain(self) -> dict[str, Any]:
        """As plain data for JSON."""
        return {
            "theorem": self.theorem,
            "source": self.source,
            "statement": self.statement,
            "member": self.member,
            **({} if self.seed is None else {"seed": self.seed}),
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

    def by_verdict(self) -> dict[Verdict, list[Part]]:
        """Parts by verdict, the worst verdict first."""
        pairs = list(zip(self.verdicts, self.parts, strict=True))
        return {v: [part for verdict, part in pairs if verdict == v] for v in VERDICTS if v in self.verdicts}

    def every_condition(self) -> list[Condition]:
        """All conditions, shared ones first; conclusions are not among them."""
        return [*self.conditions, *(condition for part in self.parts for condition in part.conditions)]

    @property
    def summary(self) -> str:
        """The verdict, and how many parts share it where they differ."""
        counts = {v: len(parts) for v, parts in self.by_verdict().items()}
        if len(counts) == 1:
            return self.verdict
        return f"{self.verdict} ({', '.join(f'{v}: {n}' for v, n in counts.items())})"

    def _title(self) -> str:
        return f"{self.theorem}, {'member' if self.seed is None else 'seed'} {self.who}: {self.summary}"

    @property
    def who(self) -> int:
        """The seed of the member where it is known, else its number."""
        return self.member if self.seed is None else self.seed

    def __str__(self) -> str:
        return self._text(summary_lines(self))

    def details(self) -> str:
        """Every condition and conclusion with its numbers, as text."""
        return self._text(detail_lines(self))

    def _text(self, lines: list[str]) -> str:
        who = f"{'member' if self.seed is None else 'seed'} {self.who}"
        head = [f"{self.theorem} ({self.source}), {who}: {self.summary}", f"  {self.statement}"]
        chosen = ", ".join(f"{name} {number(v)}" for name, v in self.settings.items())
        return "\n".join([*head, *(f"  {line}" for line in lines), *([f"  Settings: {chosen}."] if chosen else [])])


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _plain(value: Any) -> Any:
    """Data as JSON knows it: a number that is not finite becomes None."""
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return _finite(value) if isinstance(value, float) else value
