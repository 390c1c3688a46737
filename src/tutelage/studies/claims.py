"""Claims and checks: sentences of a paper made testable, with thresholds that do not come from the measurement."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tutelage.errors import TutelageError
from tutelage.printing import printed
from tutelage.studies.intervals import Kind

VERDICTS = ("holds", "fails", "undecided", "saturated", "vacuous", "not applicable")
"""Of a claim: *saturated* where both sides of a comparison are at a limit, *vacuous* where it could not be missed, *not
applicable* where too few members meet its premise."""
CHECKED = ("passes", "does not pass")
"""Of a check."""
MISSED = ("fails", "does not pass")
"""Verdicts that need a reason."""
Outcome = Literal["holds", "fails", "undecided", "saturated", "vacuous", "not applicable", "passes", "does not pass"]

Standing = Literal["paper", "consequence", "own"]
"""Whose statement it is: a sentence of the paper, a consequence that we drew from one, or a statement of our own."""
STANDINGS: dict[Standing, str] = {
    "paper": "a sentence of the paper",
    "consequence": "a consequence that we drew",
    "own": "a statement of our own",
}
Why = Literal["refuted", "premise not met", "not found"]
"""What a miss means: all premises are met and the conclusion is false; the conditions of a theorem do not hold on these
networks, which says nothing about the theorem; or a search or training of ours did not get there."""
WHYS: tuple[Why, ...] = ("refuted", "premise not met", "not found")

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
    premise
        Members [S] in which the premise of the claim is met; the others are not judged.
    step
        Smallest difference between two values that the statistic can have, such as one over the number of counted
        pairs. Equal values are then judged as if one of them had moved one step towards the threshold: better values
        never give a weaker verdict.
    """

    values: np.ndarray
    at_limit: np.ndarray | None = None
    baseline: float | np.ndarray | None = None
    at_best: np.ndarray | None = None
    premise: np.ndarray | None = None
    step: float | None = None


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
    fewest
        Members that have to meet the premise, where there is one; with fewer the claim is not applicable. With two
        there is hardly a spread to judge by.
    kind
        What a value is: an "outcome" of 0 or 1 (or a difference of two such), a "share" that was counted within the
        member, or a "mean", any other number.
    place
        Where the paper says it: "Thm 5", "sec. 4.4". A claim with a place has the standing "paper".
    standing
        Whose statement it is: "consequence" without a place, unless it is declared to be "own".
    failure
        What a miss of this claim means, see ``Why``.
    """

    sentence: str
    statistic: str
    expected: str
    values: Callable[[Any], Mapping[str, np.ndarray | Measured]]
    reason: str
    about: Literal["mean", "every"] = "mean"
    possible: tuple[float, float] = ANY
    exceptions: float = 0.1
    fewest: int = 3
    published: str = ""
    kind: Kind = "mean"
    place: str = ""
    standing: Standing | None = None
    failure: Why = "refuted"

    def __post_init__(self) -> None:
        _reasoned(self.sentence, self.reason)
        object.__setattr__(self, "standing", _standing(self.sentence, self.standing, self.place))
        if self.kind == "outcome" and self.possible not in (SHARE, SIGNED):
            raise TutelageError(f"outcomes lie in {SHARE}, or their differences in {SIGNED}, got {self.possible}")
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
    place, standing, failure
        As of a :class:`Claim`.
    """

    sentence: str
    statistic: str
    expected: str
    values: Callable[[Any], Mapping[str, float | np.ndarray]]
    reason: str

    published: str = ""
    place: str = ""
    standing: Standing | None = None
    failure: Why = "refuted"

    def __post_init__(self) -> None:
        _reasoned(self.sentence, self.reason)
        object.__setattr__(self, "standing", _standing(self.sentence, self.standing, self.place))
        met(self.expected, 0.0)


def _reasoned(sentence: str, reason: str) -> None:
    if not reason.strip():
        raise TutelageError(f"the threshold of '{sentence}' needs a reason")


def _standing(sentence: str, declared: Standing | None, place: str) -> Standing:
    """The declared standing, or the one that follows from the place; a sentence of a paper has one, no other has."""
    standing = declared or ("paper" if place else "consequence")
    if (standing == "paper") != bool(place):
        raise TutelageError(
            f"the claim '{sentence}' has the standing '{standing}' and the place '{place}': give the place where the "
            "paper says it, or the standing 'consequence' or 'own' and no place"
        )
    return standing


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
        Number of members that were judged.
    verdict
        One of ``VERDICTS``, or of ``CHECKED`` for a check.
    method
        How the interval was computed.
    interval
        Of the mean, or of the share of exceptions where the statement is about every member; None for a check, and
        where the values allow none.
    published
        The paper's own number as text, or empty.
    standing, place, kind
        Of the claim; the kind is "check" for a check.
    why
        Of a miss: one of ``WHYS``; else empty.
    exceptions
        How many members violate the bound, where the statement is about every member.
    members
        How many have the statistic, whether or not they meet the premise.
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
    standing: Standing = "consequence"
    place: str = ""
    kind: str = "mean"
    why: str = ""
    exceptions: int | None = None
    members: int | None = None


BOUND = re.compile(r"\s*([<>]=?)\s*([-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*")


def threshold_of(expected: str) -> tuple[str, float]:
    """Direction and number of a bound.

    >>> threshold_of("> 0.3")
    ('>', 0.3)
    """
    parts = BOUND.fullmatch(expected)
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


def refutes(verdict: Mapping[str, Any]) -> bool:
    """Whether a stored verdict refutes a sentence of a paper.

    >>> refutes({"verdict": "fails", "standing": "paper", "why": "refuted"})
    True
    """
    return verdict.get("standing") == "paper" and verdict.get("why") == "refuted"
