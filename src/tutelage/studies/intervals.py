"""Intervals that fit the statistic: exact for outcomes of 0 and 1, Student's for means, none from equal values."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import stats

from tutelage.lab import TrainedStudents
from tutelage.measures import RECOVERED

Kind = Literal["outcome", "share", "mean"]
"""What a value is; never guessed from the values, since a share may happen to be 0 or 1 in all members."""
CONFIDENCE = 0.95
"""Of the interval that has to lie on one side of the threshold."""
_EQUAL = 8 * np.finfo(float).eps
"""Values whose spread is at most this share of their size are equal up to rounding."""


@dataclass(frozen=True)
class Interval:
    """Lower and upper end of an interval for a mean, and the method it comes from."""

    low: float
    high: float
    method: str


def binomial_interval(successes: int, trials: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Exact interval of a share by Clopper and Pearson (1934).

    >>> low, high = binomial_interval(8, 8)
    >>> round(low, 3), high
    (0.631, 1.0)
    """
    limits = stats.binomtest(successes, trials).proportion_ci(confidence)
    return float(limits.low), float(limits.high)


def largest_share(exceptions: int, trials: int, confidence: float = CONFIDENCE) -> float:
    """Exact one-sided upper limit of a share, after so many exceptions in so many trials.

    >>> round(largest_share(0, 59), 4)
    0.0495
    """
    return float(stats.binomtest(exceptions, trials, alternative="less").proportion_ci(confidence).high)


P_VALUES = ("Student", "exact binomial")
"""Methods whose p-value follows from the mean, its standard error and the number of members."""


def p_value(method: str, measured: float, stderr: float | None, n: int, threshold: float) -> float | None:
    """One minus the largest confidence at which the interval of a verdict leaves out the threshold.

    Parameters
    ----------
    method
        How the interval was computed: "Student" or "exact binomial".
    measured, stderr, n
        Mean over members, its standard error and the number of members.
    threshold
        Of the claim.

    Returns
    -------
    float or None
        None for other methods, whose intervals do not follow from these numbers.

    Examples
    --------
    >>> p_value("Student", 2.0, 1.0, 5, 0.0) > 0.05, p_value("exact binomial", 1.0, 0.0, 8, 0.5)
    (True, 0.0078125)
    """
    if method == "Student" and stderr:
        return float(2 * stats.t.sf(abs(measured - threshold) / stderr, n - 1))
    if method == "exact binomial":
        successes = round(measured * n)
        tails = stats.binom.cdf(successes, n, threshold), stats.binom.sf(successes - 1, n, threshold)
        return min(1.0, 2 * float(min(tails)))
    return None


def mean_interval(
    values: np.ndarray, possible: tuple[float, float], kind: Kind = "mean", step: float | None = None
) -> Interval | None:
    """The interval of a mean that fits independent values [n]; None where the values allow none.

    Parameters
    ----------
    values
        Finite values, one per member.
    possible
        Least and greatest value that the statistic can have.
    kind
        What a value is: an "outcome" of 0 or 1, or a difference of two such; a "share" counted within a member; or a
        "mean".
    step
        From a value to the next one that the statistic can have on the worse side.

    Returns
    -------
    Interval or None
        Of outcomes Clopper and Pearson's, or an exact sign test for their differences. Else Student's where the values
        vary. Equal values say nothing about the spread of the next one: with a step one of them is taken to be a step
        worse, without it only the number of members and the range of the statistic count.
    """
    n = len(values)
    if n < 2:
        return None
    if kind == "outcome":
        if possible == (0.0, 1.0):
            return Interval(*binomial_interval(int(values.sum()), n), "exact binomial")
        return _sign_interval(values)
    if np.ptp(values) > _EQUAL * np.abs(values).max():
        return _student(values, "Student")
    if step is None:
        return _equal_interval(float(values[0]), n, possible)
    moved = np.append(values[1:], np.clip(values[0] + step, *possible))
    return _student(moved, "Student, one of the equal values moved by one step")


def half_width(values: np.ndarray) -> np.ndarray:
    """Half of Student's interval for the mean over members, NaN left out: values [S, ...] -> [...].

    What error bars show, so that a bar and a verdict on the same values end at the same place.

    >>> float(half_width(np.array([1.0, 2.0, 3.0])).round(3))
    2.484
    """
    counted = np.isfinite(values).sum(0)
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.nanstd(values, 0) / np.sqrt(counted - 1.0)
        return stats.t.ppf((1 + CONFIDENCE) / 2, counted - 1) * error


def _student(values: np.ndarray, method: str) -> Interval:
    middle, error = float(values.mean()), float(values.std(ddof=1) / len(values) ** 0.5)
    reach = float(stats.t.ppf((1 + CONFIDENCE) / 2, len(values) - 1)) * error
    return Interval(middle - reach, middle + reach, method)


def _sign_interval(values: np.ndarray) -> Interval | None:
    """Of differences of two outcomes, from exact limits of how many members differ and of how many of these are +1.

    The mean is s (2 q - 1), with s the share of members whose outcomes differ and q the share of +1 among these. Each
    end is a product of two exact limits. Whether it is above 0 depends on q alone: this is the sign test on the members
    that differ. For any other threshold s counts too. Both factors have limits of the full confidence: a product of two
    independent limits misses the mean no more often than one limit does, as the tests find by enumeration.
    """
    differ = int((values != 0).sum())
    if not differ:
        return None
    signs = [2 * limit - 1 for limit in binomial_interval(int((values > 0).sum()), differ)]
    alike = np.ptp(values) == 0  # all +1, or all -1: one count limits the mean
    least, most = (1.0, 1.0) if alike else binomial_interval(differ, len(values))
    low = signs[0] * (least if signs[0] > 0 else most)
    high = signs[1] * (most if signs[1] > 0 else least)
    return Interval(low, high, "exact sign test")


def _equal_interval(value: float, n: int, possible: tuple[float, float]) -> Interval | None:
    """All members have this value: at least a share of them does (exact limit), the rest may lie anywhere possible."""
    if not np.isfinite(possible).all():
        return None
    share, _ = binomial_interval(n, n)
    low, high = (share * value + (1 - share) * end for end in possible)
    return Interval(low, high, "equal values, exact share")


def at_step(result: TrainedStudents, measure: str, step: int | None = None) -> np.ndarray:
    """A measure [S, ...] at a recorded step (default: the last)."""
    steps = result.report.steps
    return result.report[measure][-1 if step is None else steps.index(step)]


def recovered_share(result: TrainedStudents, step: int | None = None) -> np.ndarray:
    """Share of teacher units whose best student correlates above 0.95: [S]."""
    best = at_step(result, "best_correlation", step)
    return np.where(np.isfinite(best).all(1), (best > RECOVERED).mean(1), np.nan)


def recovery_steps(result: TrainedStudents, threshold: float = RECOVERED) -> np.ndarray:
    """First recorded step at which each teacher unit is recovered: [S, m], infinite where that never happened."""
    above = result.report["best_correlation"] > threshold
    steps = np.asarray(result.report.steps, float)
    return np.where(above.any(0), steps[above.argmax(0)], np.inf)


def rank_correlations(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Spearman's rank correlation of each member's units: [S, n] twice -> [S]; NaN where either is constant."""
    x_ranks, y_ranks = stats.rankdata(x, axis=1), stats.rankdata(y, axis=1)
    x_centred = x_ranks - x_ranks.mean(1, keepdims=True)
    y_centred = y_ranks - y_ranks.mean(1, keepdims=True)
    norm = np.sqrt((x_centred**2).sum(1) * (y_centred**2).sum(1))
    defined = (norm > 0) & np.isfinite(x).all(1) & ~np.isnan(y).any(1)
    return np.where(defined, (x_centred * y_centred).sum(1) / np.where(norm > 0, norm, 1), np.nan)


UNLIKE = (0.5, 0.3, 0.1, 1 - RECOVERED)
"""Where 1 - rho changes its class: from no likeness by way of a weak, a fair and a good one to a specialised unit."""
NO_FAN_OUT = 1e-3
"""Share of a member's largest fan-out below which units count as equal: there only rounding orders them."""


def likeness(correlation: np.ndarray) -> np.ndarray:
    """Class of best correlations, of any shape, from 0 (1 - rho above a half) to 4 (a specialised unit).

    Most units of a trained student have a correlation above 0.999, and a rank among them is that of the last digits:
    it differs between float32 and float64, and between machines. Specialised units are therefore all alike.

    >>> likeness(np.array([0.2, 0.6, 0.96, 0.9999999])).tolist()
    [0, 1, 4, 4]
    """
    return np.sum([1 - correlation <= edge for edge in UNLIKE], axis=0)


def fan_out_by_likeness(correlation: np.ndarray, fan_out: np.ndarray) -> np.ndarray:
    r"""How often the unit that is more like a teacher unit has the larger fan-out: Goodman and Kruskal's gamma.

    .. math:: \gamma = \frac{n_+ - n_-}{n_+ + n_-}

    over pairs of units of a member that differ in likeness and in fan-out, :math:`n_+` of them in the same order and
    :math:`n_-` in the opposite one. Spearman's coefficient would be capped by the ties: where one unit in fifty is not
    specialised, it is about 0.3 for a perfect L.

    Parameters
    ----------
    correlation, fan_out
        Best correlation and fan-out norm of every unit, [S, n].

    Returns
    -------
    numpy.ndarray
        Between -1 and 1, [S]; NaN where all units are alike.
    """
    y = np.maximum(fan_out, NO_FAN_OUT * np.nanmax(fan_out, axis=1, keepdims=True))
    x = likeness(correlation)
    out = np.full(len(x), np.nan)
    for s, (a, b) in enumerate(zip(x, y, strict=True)):
        order = np.sign(a[:, None] - a) * np.sign(b[:, None] - b)
        if order.any():
            out[s] = order.sum() / np.abs(order).sum()
    return out


def mean_where(values: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Mean over the chosen units of each member: [S, n] twice -> [S]; NaN where none is chosen."""
    count = chosen.sum(1)
    return np.where(count > 0, np.where(chosen, values, 0).sum(1) / np.maximum(count, 1), np.nan)


def above_chance(values: np.ndarray, chance: np.ndarray) -> np.ndarray:
    """How far a best correlation is on its way from chance to 1: 0 for an untrained student, 1 for a full match.

    The best of many random units resembles a teacher unit by chance, and the more units there are the better: students
    of different widths, and layers, can only be compared beyond that.

    Parameters
    ----------
    values
        Mean best correlations of trained students.
    chance
        The same of untrained students of the same width; the same shape.
    """
    return (values - chance) / (1 - chance)
