"""A certificate in sentences: what was measured, what was needed, how far off it is, and what to do."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tutelage.certificates.records import Certificate, Condition, Part

_STATES = {True: "met", False: "not met", None: "not decided"}
_REMARKS = {
    "fails": "This would refute the theorem, or it shows rounding: look at the margins.",
    "vacuous": "The tolerance is too wide to say anything: choose a smaller one, or networks of higher precision.",
}
"""What a verdict means where the word alone can be misread."""


def measured(condition: Condition) -> str:
    """What was measured and what was needed: "gradient 0.024, needed <= 5.5e-05; sample 3"."""
    if condition.value is None:
        return condition.witness
    numbers = f"{condition.quantity} {number(condition.value)}, needed {condition.needed}"
    return f"{numbers}; {condition.witness}" if condition.witness else numbers


def state(condition: Condition) -> str:
    """A sentence about one condition: 'condition "gradient is zero" is not met (gradient 0.024, needed <= 5.5e-05)'."""
    outcome = "says nothing, since an untrained network meets it too" if condition.vacuous else _is(condition)
    return f'condition "{condition.name}" {outcome} ({measured(condition)})'


def number(value: Any) -> str:
    """A value with four significant digits; whole numbers as they are."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def summary_lines(certificate: Certificate) -> list[str]:
    """The certificate in a few lines: one line per verdict that occurs and per reason for it, then what to do."""
    lines = []
    for verdict, parts in certificate.by_verdict().items():
        who = _count(parts, certificate.parts)
        if verdict in ("holds", "fails"):
            lines.append(f"{verdict.capitalize()}{who}: {_conclusion(parts)}.")
        else:
            reasons = _reasons(certificate, verdict, parts)
            lines.append(f"{verdict.capitalize()}{who}: {'; '.join(reasons)}.")
            if verdict == "not applicable" and any(
                p.conclusion.bound not in (None, math.inf, -math.inf) for p in parts
            ):
                lines.append(_all_the_same(parts))
        lines += [_REMARKS[verdict]] if verdict in _REMARKS else []
    advice = dict.fromkeys(c.advice for c in certificate.every_condition() if c.advice and c.holds is not True)
    return lines + [f"What to do: {text}." for text in advice]


def headline(certificates: Sequence[Certificate]) -> str:
    """The reason for a verdict that several members share, in one sentence with the worst numbers among them."""
    verdict = certificates[0].verdict
    if verdict in ("holds", "fails"):
        worst = _worst([part for c in certificates for part in c.by_verdict()[verdict]]).conclusion
        return f"{worst.name} ({measured(worst)})"
    by_name: dict[str, list[Condition]] = {}
    for c in certificates:
        for part in c.by_verdict()[verdict]:
            for condition in _behind(c, verdict, part):
                by_name.setdefault(condition.name, []).append(condition)
    name = max(by_name, key=lambda name: len(by_name[name]))
    others = f"; {len(by_name) - 1} more" if len(by_name) > 1 else ""
    return f"{state(min(by_name[name], key=_margin))}{others}"


def detail_lines(certificate: Certificate) -> list[str]:
    """Every condition and conclusion with its numbers."""
    lines = [f"{_STATES[c.holds]}: {_named(c)}" for c in certificate.conditions]
    for part, verdict in zip(certificate.parts, certificate.verdicts, strict=True):
        lines.append(f"{part.about}: {verdict}")
        lines += [f"  {_STATES[c.holds]}: {_named(c)}" for c in part.conditions]
        lines.append(f"  conclusion {_STATES[part.conclusion.holds]}: {_named(part.conclusion)}")
    return lines


def _named(condition: Condition) -> str:
    note = "; says nothing, since an untrained network meets it too" if condition.vacuous else ""
    return f"{condition.name} ({measured(condition)}{note})"


def _is(condition: Condition) -> str:
    return f"is {_STATES[condition.holds]}"


def _count(parts: Sequence[Part], every: Sequence[Part]) -> str:
    """Of how many things a verdict is true: " for 18 of 20 teacher units"; nothing where there is only one."""
    if len(every) == 1:
        return ""
    kinds = {re.sub(r"\W*\d.*$", "", part.about) for part in every}
    noun = f"{kinds.pop()}s" if len(kinds) == 1 and "" not in kinds else "parts"
    return f" for {f'all {len(every)}' if len(parts) == len(every) else f'{len(parts)} of {len(every)}'} {noun}"


def _worst(parts: Sequence[Part]) -> Part:
    """The part whose conclusion is furthest from what it needs."""
    return min(parts, key=lambda part: _margin(part.conclusion))


def _margin(condition: Condition) -> float:
    """How far a condition is met, as a share of its bound, so that bounds of different size compare."""
    if condition.margin is None or math.isnan(condition.margin):
        return math.inf
    return condition.margin / abs(condition.bound) if condition.bound else condition.margin


def _conclusion(parts: Sequence[Part]) -> str:
    worst = _worst(parts)
    where = f", worst for {worst.about}" if len(parts) > 1 else ""
    return f"{worst.conclusion.name}{where} ({measured(worst.conclusion)})"


def _all_the_same(parts: Sequence[Part]) -> str:
    """Whether the conclusion is true although the theorem does not promise it."""
    true = sum(part.conclusion.holds is True for part in parts)
    if len(parts) == 1:
        outcome = {True: "true all the same", False: "not true here", None: "not decided"}[parts[0].conclusion.holds]
        return f'The conclusion "{parts[0].conclusion.name}" is {outcome} ({measured(parts[0].conclusion)}).'
    worst = _worst(parts)
    if all(part.conclusion.holds is False for part in parts):
        return (
            f'The conclusion "{worst.conclusion.name}" is not true for any of these {len(parts)} either, '
            f"worst for {worst.about} ({measured(worst.conclusion)})."
        )
    return (
        f'The conclusion "{worst.conclusion.name}" is true all the same for {true} of these {len(parts)}, '
        f"worst for {worst.about} ({measured(worst.conclusion)})."
    )


def _reasons(certificate: Certificate, verdict: str, parts: Sequence[Part]) -> list[str]:
    """The conditions behind a verdict, each once with its worst numbers and how many parts miss it."""
    by_name: dict[str, list[tuple[Part, Condition]]] = {}
    for part in parts:
        for condition in _behind(certificate, verdict, part):
            by_name.setdefault(condition.name, []).append((part, condition))
    shared = {condition.name for condition in certificate.conditions}
    out = []
    for name, rows in by_name.items():
        part, worst = min(rows, key=lambda row: _margin(row[1]))
        some = f" for {len(rows)} of them" if len(rows) < len(parts) else ""
        where = f"{some}, worst for {part.about}" if len(parts) > 1 and name not in shared else ""
        out.append(f"{state(worst)}{where}")
    return out


def _behind(certificate: Certificate, verdict: str, part: Part) -> list[Condition]:
    """The conditions that give a part this verdict."""
    conditions = [*certificate.conditions, *part.conditions]
    if verdict == "vacuous":
        return [c for c in conditions if c.vacuous]
    if verdict == "not applicable":
        return [c for c in conditions if c.holds is False]
    return [c for c in (*conditions, part.conclusion) if c.holds is None]
