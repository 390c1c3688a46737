"""Claims and checks: sentences of a paper made testable, with thresholds that do not come from the measurement."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tutelage.errors import TutelageError
from tutelage.printing import printed
from tutelage.studies.intervals import CONFIDENCE, mean_interval
from tutelage.studies.intervals import largest_share as largest_exceptions

VERDICTS = ("holds", "fails", "undecided", "saturated", "vacuous")
"""Of a claim: *saturated* where both sides of a comparison are at a limit, *vacuous* where it could not be missed."""
CHECKED = ("passes", "does not pass")
"""Of a check."""
Outcome = Literal["holds", "fails", "undecided", "saturated", "vacuous", "passes", "does not pass"]

DIRECTION = "the sentence gives a direction and no number, so the sign decides"
MOST = "'most' is read as more than half"
MODERATE = "0.3 is the usual lower end of a moderate correlation"
STRONG = "0.5 is the usual lower end of a strong correlation"
SHARE = (0.0, 1.0)
"""Possible values of a share, a probability, or an outcome of 0 or 1."""
SIGNED = (-1.0, 1.0)
"""Possible values of a correlation, or of a difference of shares."""
ANY = (-np.inf, np.inf)


@printed
@dataclass(frozen=True)
class Measured:
    """The statistic of a claim in one setting, with what is needed to see that it shows nothing.

    Parameters
    ----------
    values
        One value per member, [S]; NaN where the statistic is not defined for a member. An infinite value leaves a
        claim about the mean undecided.
    at_limit
        Members [S] in which both sides of the comparison are at the same limit, so that no difference can be seen.
    baseline
        The worst value that is possible in this setting, or the values [S] of networks that have learnt nothing. A
        claim that the baseline meets as well is vacuous: of values [S] the mean, or all where the claim is about every
        member.
    at_best
        Where the statistic is only known to lie between two numbers: the better one per member, [S], ``values`` being
        the worse. The claim then holds only if the worse ends meet it, and fails only if the better ends do not.
    """

    values: np.ndarray
    at_limit: np.ndarray | None = None
    baseline: float | np.ndarray | None = None
    at_best: np.ndarray | None = None


def compared(first: np.ndarray, second: np.ndarray, limits: tuple[float, float] = SHARE) -> Measured:
    """Difference of two statistics per member, which shows nothing where both are at the same limit.

    Parameters
    ----------
    first, second
        One value per member, [S].
    limits
        Least and greatest possible value.

    Returns
    -------
    Measured
        ``first - second``, with the members in which both are at one limit.
    """
    at_limit = np.any([(first == limit) & (second == limit) for limit in limits], axis=0)
    return Measured(first - second, at_limit=at_limit)


@dataclass(frozen=True)
class Claim:
    """What a paper says, and what is computed to judge it.

    An interval in which no value meets the bound refutes a claim about a mean; one member refutes a universal claim.

    Parameters
    ----------
    sentence, statistic
        What is claimed, and the number that decides.
    expected
        A bound such as "> 0.3" or "< 0.5": on the mean over members, or on every member.
    values
        From the results (or the plan's view of them) to one array per setting, with one independent value per member,
        or to :class:`Measured`. Each setting is judged by itself.
    reason
        Why the threshold is what it is; measured values are no reason.
    about
        "mean" for a statement about the mean over members. "every" for a universal statement: one member that violates
        the bound refutes it, and it holds when the exact upper limit of the share of exceptions is below
        ``exceptions``.
    published
        The number that the paper prints for this, with its place; shown beside what is measured.
    possible
        Least and greatest value that the statistic can have; some of them must violate the bound.
    exceptions
        Largest share of exceptions that a universal statement allows for, given the number of members.
    """

    sentence: str
    statistic: str
    expected: str
    values: Callable[[Any], Mapping[str, np.ndarray | Measured]]
    reason: str
    about: Literal["mean", "every"] = "mean"
    possible: tuple[float, float] = ANY
    exceptions: float = 0.1
    published: str = ""

    def __post_init__(self) -> None:
        _reasoned(self.sentence, self.reason)
        ends = [float(np.clip(end, -1e300, 1e300)) for end in self.possible]
        if all(met(self.expected, end) for end in ends):
            raise TutelageError(f"the claim '{self.sentence}' cannot fail: every possible value is {self.expected}")


@dataclass(frozen=True)
class Check:
    """A deterministic quantity compared with what it should be: it passes or it does not; there are no members.

    Parameters
    ----------
    sentence, statistic
        What is said, and the number that decides.
    expected
        A bound such as "< 1e-9".
    values
        From the results (or the plan's view of them) to one number, or an array of numbers, per setting; all must
        satisfy ``expected``.
    reason
        Why the threshold is what it is.
    published
        The paper's own number as text, where it prints one.
    """

    sentence: str
    statistic: str
    expected: str
    values: Callable[[Any], Mapping[str, float | np.ndarray]]
    reason: str

    published: str = ""

    def __post_init__(self) -> None:
        _reasoned(self.sentence, self.reason)
        met(self.expected, 0.0)


def _reasoned(sentence: str, reason: str) -> None:
    if not reason.strip():
        raise TutelageError(f"the threshold of '{sentence}' needs a reason")


@dataclass(frozen=True)
class Verdict:
    """A claim or a check judged in one setting.

    Attributes
    ----------
    claim, setting, statistic, expected, reason
        What was judged.
    measured
        The mean, or the worst value where the statement is about every member.
    stderr
        Standard error of the mean, or None.
    n
        Number of members.
    verdict
        One of ``VERDICTS``, or of ``CHECKED`` for a check.
    method
        How the interval was computed.
    interval
        Of the mean, or of the share of exceptions where the statement is about every member; None for a check, and
        where the values allow none.
    published
        The paper's own number as text, or empty.
    """

    claim: str
    setting: str
    statistic: str
    expected: str
    measured: float | None
    stderr: float | None
    n: int
    verdict: Outcome
    reason: str = ""
    method: str = ""
    interval: tuple[float, float] | None = None
    published: str = ""


def judge(claim: Claim | Check, evidence: Any) -> list[Verdict]:
    """Judge a claim, or a check, in each of its settings.

    Parameters
    ----------
    claim
        What is judged.
    evidence
        Results of the experiments, or the plan's view of them.

    Returns
    -------
    list of Verdict
        One per setting.
    """
    if isinstance(claim, Check):
        return [_check(claim, setting, values) for setting, values in claim.values(evidence).items()]
    judged = _judge_every if claim.about == "every" else _judge_mean
    return [judged(claim, setting, _measured(values)) for setting, values in claim.values(evidence).items()]


def _measured(values: np.ndarray | Measured) -> Measured:
    return values if isinstance(values, Measured) else Measured(values)


def _defined(values: np.ndarray, possible: tuple[float, float]) -> np.ndarray:
    """The values without NaN; one outside what is declared possible is an error of the study."""
    values = np.asarray(values, float).ravel()
    values = values[~np.isnan(values)]
    slack = 1e-9
    if len(values) and not (possible[0] - slack <= values.min() and values.max() <= possible[1] + slack):
        raise TutelageError(f"values from {values.min():g} to {values.max():g} lie outside the possible {possible}")
    return values


def _judge_mean(claim: Claim, setting: str, measured: Measured) -> Verdict:
    """Holds or fails when the interval of the mean lies on one side of the threshold, else undecided."""
    values = _defined(measured.values, claim.possible)
    if not np.isfinite(values).all():
        return _verdict(claim, setting, None, None, len(values), "undecided", "infinite values, no mean", None)
    mean = float(values.mean()) if len(values) else None
    stderr = float(values.std(ddof=1) / len(values) ** 0.5) if len(values) > 1 else None
    verdict, interval, method = _by_interval(claim, values)
    if verdict == "fails" and measured.at_best is not None:
        best = _defined(measured.at_best, claim.possible)
        if _by_interval(claim, best[np.isfinite(best)])[0] != "fails":
            verdict, method = "undecided", f"{method}; the better end of the bounds does not refute it"
    if _saturated(claim, measured, verdict, interval):
        verdict = "saturated"
    if _vacuous(claim, measured):
        verdict = "vacuous"
    return _verdict(claim, setting, mean, stderr, len(values), verdict, method, interval)


def _by_interval(claim: Claim, values: np.ndarray) -> tuple[Outcome, tuple[float, float] | None, str]:
    interval = mean_interval(values, claim.possible)
    if interval is None:
        return "undecided", None, "too few values" if len(values) < 2 else "equal values, no interval"
    met_at_ends = [met(claim.expected, end) for end in (interval.low, interval.high)]
    decided: Outcome = "undecided" if len(set(met_at_ends)) == 2 else "holds" if met_at_ends[0] else "fails"
    return decided, (interval.low, interval.high), interval.method


def _saturated(claim: Claim, measured: Measured, verdict: Outcome, interval: tuple[float, float] | None) -> bool:
    """Whether most members are at a limit and the rest shows neither the effect nor its opposite."""
    if measured.at_limit is None or verdict == "holds":
        return False
    counted = ~np.isnan(np.asarray(measured.values, float))
    at_limit = np.asarray(measured.at_limit, bool)
    counted = counted | at_limit
    if not counted.any() or at_limit[counted].mean() <= 0.5:
        return False
    if interval is None:
        return True
    opposite = interval[1] < 0 if threshold_of(claim.expected)[0].startswith(">") else interval[0] > 0
    return not opposite


def _vacuous(claim: Claim, measured: Measured) -> bool:
    """Whether the baseline meets the claim too.

    The mean of a baseline counts and not its interval: where few or equal values leave it open what untrained networks
    do, the claim has not told trained ones from them.
    """
    if measured.baseline is None:
        return False
    baseline = np.asarray(measured.baseline, float)
    if baseline.ndim == 0 or claim.about == "every":
        return bool(all(met(claim.expected, value) for value in baseline.ravel()))
    values = baseline[np.isfinite(baseline)]
    return bool(len(values)) and met(claim.expected, float(values.mean()))


def _judge_every(claim: Claim, setting: str, measured: Measured) -> Verdict:
    """One exception refutes a universal statement; without one, the exact limit of their share has to be small."""
    values = _defined(measured.values, claim.possible)
    exceptions = sum(not met(claim.expected, value) for value in values)
    limit = largest_exceptions(exceptions, len(values)) if len(values) else 1.0
    verdict: Outcome = "fails" if exceptions else "holds" if limit < claim.exceptions else "undecided"
    if _vacuous(claim, measured):
        verdict = "vacuous"
    method = f"every member: {exceptions} exceptions; {CONFIDENCE:.0%} upper limit of their share"
    return _verdict(claim, setting, _worst(claim.expected, values), None, len(values), verdict, method, (0.0, limit))


def _check(check: Check, setting: str, values: float | np.ndarray) -> Verdict:
    """Passes when every value satisfies the bound; NaN does not."""
    numbers = np.asarray(values, float).ravel()
    passes = len(numbers) > 0 and all(met(check.expected, value) for value in numbers)
    verdict: Outcome = "passes" if passes else "does not pass"
    worst = _worst(check.expected, numbers)
    return Verdict(
        check.sentence, setting, check.statistic, check.expected, worst, None, len(numbers), verdict,
        check.reason, "check", None, check.published,
    )  # fmt: skip


def _worst(expected: str, values: np.ndarray) -> float | None:
    """The value furthest to the wrong side, or None without a finite one."""
    if not len(values):
        return None
    worst = float(values.min() if threshold_of(expected)[0].startswith(">") else values.max())
    return worst if np.isfinite(worst) else None


def _verdict(
    claim: Claim,
    setting: str,
    measured: float | None,
    stderr: float | None,
    n: int,
    verdict: Outcome,
    method: str,
    interval: tuple[float, float] | None,
) -> Verdict:
    about = claim.sentence, setting, claim.statistic, claim.expected
    why = claim.reason, method
    return Verdict(*about, measured, stderr, n, verdict, *why, interval, claim.published)


_BOUND = re.compile(r"\s*([<>]=?)\s*([-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*")


def threshold_of(expected: str) -> tuple[str, float]:
    """Direction and number of a bound.

    >>> threshold_of("> 0.3")
    ('>', 0.3)
    """
    parts = _BOUND.fullmatch(expected)
    if not parts:
        raise TutelageError(f"expected must be a bound such as '> 0.3' or '<= 1', got {expected!r}")
    return parts[1], float(parts[2])


def met(expected: str, value: float) -> bool:
    """Whether a number satisfies "> 0.3", "< 0.5", ">= 1" or "<= 0".

    >>> met("> 0.3", 0.4), met("< 0.3", 0.4), met("<= 0", 0.0)
    (True, False, True)
    """
    direction, threshold = threshold_of(expected)
    if direction.endswith("=") and value == threshold:
        return True
    return value > threshold if direction.startswith(">") else value < threshold
