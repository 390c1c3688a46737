"""From values to verdicts: by the interval of a mean, by the exceptions to a universal statement, or by a check."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tutelage.errors import TutelageError
from tutelage.studies.claims import MISSED, SHARE, Check, Claim, Measured, Outcome, Verdict, met, threshold_of
from tutelage.studies.intervals import CONFIDENCE, mean_interval
from tutelage.studies.intervals import largest_share as largest_exceptions


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

    Examples
    --------
    >>> from tutelage.studies import Check
    >>> check = Check("the loss vanishes", "loss", "< 1e-6", lambda results: {"": results["loss"]}, "rounding")
    >>> [verdict] = judge(check, {"loss": 1e-9})
    >>> verdict.verdict
    'passes'
    """
    return judge_values(claim, claim.values(evidence))


def judge_values(claim: Claim | Check, values: Mapping[str, Any]) -> list[Verdict]:
    """The same from what the claim measures in each of its settings."""
    if isinstance(claim, Check):
        return [_check(claim, setting, found) for setting, found in values.items()]
    return [_judge(claim, setting, as_measured(found)) for setting, found in values.items()]


def as_measured(values: np.ndarray | Measured) -> Measured:
    """Values of one setting, with or without what is known beside them."""
    return values if isinstance(values, Measured) else Measured(values)


def undecidable(claim: Claim | Check, n: int) -> bool:
    """Whether no outcome of so many members decides a claim, neither for nor against it.

    Only of outcomes is that a matter of n alone: the best and the worst that can come are n equal ones.

    Parameters
    ----------
    claim
        Any claim or check.
    n
        Members, at most.
    """
    if isinstance(claim, Check) or claim.kind != "outcome" or claim.about == "every":
        return False
    return all(_by_interval(claim, np.full(n, end), None)[0] == "undecided" for end in claim.possible)


def _judge(claim: Claim, setting: str, measured: Measured) -> Verdict:
    counted = int((~np.isnan(np.asarray(measured.values, float))).sum())
    if measured.premise is not None:
        measured = _where_met(measured)
        values = _defined(measured.values, claim)
        if len(values) < claim.fewest:
            few = f"{len(values)} members meet the premise, {claim.fewest} are needed"
            return _verdict(claim, setting, "not applicable", None, n=len(values), method=few, members=counted)
    judged = _judge_every if claim.about == "every" else _judge_mean
    return judged(claim, setting, measured, counted)


def _where_met(measured: Measured) -> Measured:
    """What is known of the members that meet the premise; a baseline of networks of their own stays whole."""
    premise = np.asarray(measured.premise, bool)

    def chosen(values: np.ndarray | None) -> np.ndarray | None:
        return None if values is None else np.asarray(values)[premise]

    values = np.asarray(measured.values, float)[premise]
    return Measured(values, chosen(measured.at_limit), measured.baseline, chosen(measured.at_best), None, measured.step)


def _defined(values: np.ndarray, claim: Claim) -> np.ndarray:
    """The values without NaN; one that cannot be what was declared is an error of the study."""
    values = np.asarray(values, float).ravel()
    values = values[~np.isnan(values)]
    slack, (low, high) = 1e-9, claim.possible
    if len(values) and not (low - slack <= values.min() and values.max() <= high + slack):
        span = f"{values.min():g} to {values.max():g}"
        raise TutelageError(f"values from {span} lie outside the possible {claim.possible}")
    outcomes = (0.0, 1.0) if claim.possible == SHARE else (-1.0, 0.0, 1.0)
    if claim.kind == "outcome" and not np.isin(values, outcomes).all():
        raise TutelageError(
            f"the values of '{claim.sentence}' are no outcomes of 0 and 1: declare kind='share' or kind='mean'"
        )
    return values


def _judge_mean(claim: Claim, setting: str, measured: Measured, members: int) -> Verdict:
    """Holds or fails when the interval of the mean lies on one side of the threshold, else undecided."""
    values = _defined(measured.values, claim)
    n = len(values)
    if not np.isfinite(values).all():
        method = "infinite values, no mean"
        return _verdict(claim, setting, "undecided", None, n=n, method=method, members=members)
    mean = float(values.mean()) if n else None
    stderr = float(values.std(ddof=1) / n**0.5) if n > 1 else None
    verdict, interval, method = _by_interval(claim, values, measured.step)
    if verdict == "fails" and measured.at_best is not None:
        best = _defined(measured.at_best, claim)
        if _by_interval(claim, best[np.isfinite(best)], measured.step)[0] != "fails":
            verdict, method = "undecided", f"{method}; the better end of the bounds does not refute it"
    if _saturated(claim, measured, verdict, interval):
        verdict = "saturated"
    if _vacuous(claim, measured):
        verdict = "vacuous"
    return _verdict(
        claim, setting, verdict, mean, stderr=stderr, n=n, method=method, interval=interval, members=members
    )


def _by_interval(
    claim: Claim, values: np.ndarray, step: float | None
) -> tuple[Outcome, tuple[float, float] | None, str]:
    worse = -1.0 if threshold_of(claim.expected)[0].startswith(">") else 1.0
    interval = mean_interval(values, claim.possible, claim.kind, step and worse * step)
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
    return not opposite and not _fails_below_the_limit(claim, measured, verdict)


def _fails_below_the_limit(claim: Claim, measured: Measured, verdict: Outcome) -> bool:
    """Whether a claim that fails also fails on the members of which something can be seen."""
    values = np.asarray(measured.values, float)[~np.asarray(measured.at_limit, bool)]
    values = values[np.isfinite(values)]
    return verdict == "fails" and _by_interval(claim, values, measured.step)[0] == "fails"


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


def _judge_every(claim: Claim, setting: str, measured: Measured, members: int) -> Verdict:
    """One exception refutes a universal statement; without one, the exact limit of their share has to be small."""
    values = _defined(measured.values, claim)
    exceptions = sum(not met(claim.expected, value) for value in values)
    limit = largest_exceptions(exceptions, len(values)) if len(values) else 1.0
    verdict: Outcome = "fails" if exceptions else "holds" if limit < claim.exceptions else "undecided"
    if _vacuous(claim, measured):
        verdict = "vacuous"
    method = f"every member: {exceptions} exceptions; {CONFIDENCE:.0%} upper limit of their share"
    return _verdict(
        claim, setting, verdict, _worst(claim.expected, values), n=len(values), method=method, interval=(0.0, limit),
        exceptions=exceptions, members=members,
    )  # fmt: skip


def _check(check: Check, setting: str, values: float | np.ndarray) -> Verdict:
    """Passes when every value satisfies the bound; NaN does not."""
    numbers = np.asarray(values, float).ravel()
    passes = len(numbers) > 0 and all(met(check.expected, value) for value in numbers)
    verdict: Outcome = "passes" if passes else "does not pass"
    worst = _worst(check.expected, numbers)
    return _verdict(check, setting, verdict, worst, n=len(numbers), method="check")


def _worst(expected: str, values: np.ndarray) -> float | None:
    """The value furthest to the wrong side, or None without a finite one."""
    if not len(values):
        return None
    worst = float(values.min() if threshold_of(expected)[0].startswith(">") else values.max())
    return worst if np.isfinite(worst) else None


def _verdict(claim: Claim | Check, setting: str, verdict: Outcome, measured: float | None, **details: Any) -> Verdict:
    """The words of the claim and what was found; only a miss has a reason."""
    words: dict[str, Any] = {name: getattr(claim, name) for name in ("statistic", "expected", "reason", "published")}
    words |= {"standing": claim.standing, "place": claim.place, "kind": getattr(claim, "kind", "check")}
    why = claim.failure if verdict in MISSED else ""
    return Verdict(
        claim.sentence, setting, measured=measured, verdict=verdict, why=why, **{"stderr": None} | words | details
    )
