"""Claims: a sentence of a paper made checkable, with its threshold fixed beforehand."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import stats

from tutelage.errors import TutelageError

CONFIDENCE = 0.95
"""Of the interval that has to lie on one side of the threshold."""


@dataclass(frozen=True)
class Claim:
    """What a paper says, what is computed to check it, and what would refute it.

    values: from the finished experiments (or the plan's evidence) to one array per setting, with one value per member
    (NaN where the statistic is not defined for a member). Each setting is judged by itself, so a setting where the
    sentence fails is seen.
    expected: "> 0.3" or "< 0.5", a bound on the mean over members.
    """

    sentence: str
    statistic: str
    expected: str
    refuted_by: str
    values: Callable[[Any], Mapping[str, np.ndarray]]

    def __post_init__(self) -> None:
        _met(self.expected, 0.0)


@dataclass(frozen=True)
class Verdict:
    """A claim judged in one setting."""

    claim: str
    setting: str
    statistic: str
    expected: str
    measured: float | None
    stderr: float | None
    n: int
    verdict: Literal["holds", "fails", "undecided"]
    refuted_by: str


def judge(claim: Claim, evidence: Any) -> list[Verdict]:
    """The verdict of a claim in each of its settings."""
    return [_judge(claim, setting, values) for setting, values in claim.values(evidence).items()]


def _judge(claim: Claim, setting: str, values: np.ndarray) -> Verdict:
    """Holds or fails when Student's interval over members lies on one side of the threshold, else undecided."""
    values = np.asarray(values, float)
    values = values[np.isfinite(values)]
    mean = float(values.mean()) if len(values) else None
    stderr = float(values.std(ddof=1) / len(values) ** 0.5) if len(values) > 1 else None
    verdict: Literal["holds", "fails", "undecided"] = "undecided"
    if mean is not None and stderr is not None:
        reach = float(stats.t.ppf((1 + CONFIDENCE) / 2, len(values) - 1)) * stderr
        low, high = _met(claim.expected, mean - reach), _met(claim.expected, mean + reach)
        if low == high:
            verdict = "holds" if low else "fails"
    return Verdict(
        claim.sentence, setting, claim.statistic, claim.expected, mean, stderr, len(values), verdict, claim.refuted_by
    )


def _met(expected: str, value: float) -> bool:
    """Whether a number satisfies "> 0.3" or "< 0.5".

    >>> _met("> 0.3", 0.4), _met("< 0.3", 0.4)
    (True, False)
    """
    found = re.fullmatch(r"\s*([<>])\s*([-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*", expected)
    if not found:
        raise TutelageError(f"expected must be '> number' or '< number', got {expected!r}")
    bound = float(found[2])
    return value > bound if found[1] == ">" else value < bound
