"""Do wider students recover more because more of their units observe a teacher unit? (Tian 2020, section 6)."""

import numpy as np
from matplotlib.figure import Figure

from tutelage.lab import Record, Results, TrainedStudents
from tutelage.measures import RECOVERED
from tutelage.specialisation.studies._two_layer import SIZES, WIDTH_FACTORS, label, two_layer
from tutelage.studies.claims import DIRECTION, MODERATE, MOST, SHARE, SIGNED, Claim
from tutelage.studies.figures import PALETTE, panel_grid
from tutelage.studies.intervals import at_step, likeness, rank_correlations
from tutelage.studies.study import Plan, Scale, study

POLARITIES = (0.0, 1.0, 2.0)
"""Equal strengths, and strengths that fall as 1/j and 1/j^2."""
UNITS = 20
MEASURES = ("best_correlation", "specialisation", "best_teacher", "observed", "observers")


@study(
    "observers",
    paper="tian2020",
    figure="sec. 6",
    shows="No figure: more student units mean more observers of each teacher unit, so more teacher units are covered; "
    "strong teacher units are followed by several student units.",
)
def observers_by_width(scale: Scale) -> Plan:
    """Observers and followers of every teacher unit, by width and strength."""
    size = SIZES[scale]
    experiments = [
        two_layer(size, factor, Record(measures=MEASURES, weights="none"), hidden=UNITS, polarity=polarity)
        for factor in WIDTH_FACTORS
        for polarity in POLARITIES
    ]
    claims = [missed_are_unobserved, more_observers_more_recovered, strong_have_more]
    return Plan(experiments, draw, claims, numbers="teacher")


def followers(result: TrainedStudents) -> np.ndarray:
    """Student units that correlate above 0.95 with teacher unit j, and with no other more: [S, m]."""
    near, best = at_step(result, "specialisation") > RECOVERED, at_step(result, "best_teacher")
    return np.stack([(near & (best == j)).sum(1) for j in range(UNITS)], axis=1)


def observing(result: TrainedStudents, step: int | None = None) -> np.ndarray:
    """Share of student units that observe the boundary of teacher unit j on at least one sample: [S, m]."""
    return (at_step(result, "observers", step) > 0).mean(2)


def samples_observed(result: TrainedStudents, step: int) -> np.ndarray:
    """Samples on which teacher unit j is observed, the sum over student units: [S, m]."""
    return at_step(result, "observers", step).sum(2)


def draw(results: Results) -> Figure:
    """By teacher unit, strongest first: recovered, followers at the end, share of student units that observe it."""
    polarities = results.values("polarity")
    rows = ["share recovered", "followers", "share observing"]
    titles = [f"p = {p:g}" for p in polarities]
    figure, axes = panel_grid(rows, titles, "teacher unit, strongest first", "", size=(2.3, 1.7), sharey="row")
    units = np.arange(UNITS)
    for column, p in enumerate(polarities):
        for colour, k in zip(PALETTE, results.values("width_factor"), strict=False):
            r = results.one(polarity=p, width_factor=k)
            best = at_step(r, "best_correlation")
            for row, values in enumerate((best > RECOVERED, followers(r), observing(r))):
                axes[row, column].plot(units, np.nanmean(values, axis=0), color=colour, label=f"{k:g}x")
            axes[2, column].plot(units, observing(r, 0).mean(0), ":", color=colour)
    axes[1, 0].set_yscale("symlog", linthresh=1)
    axes[2, 0].set_ylim(0, 1.05)
    axes[0, -1].legend()
    return figure


def _unobserved(r: TrainedStudents) -> np.ndarray:
    """Among the teacher units that were not recovered, the share that no student unit observes: [S], NaN for none."""
    missed = at_step(r, "best_correlation") <= RECOVERED
    blind = missed & (at_step(r, "observed") == 0)
    return np.where(missed.any(1), blind.sum(1) / np.maximum(missed.sum(1), 1), np.nan)


missed_are_unobserved = Claim(
    "teacher units that a 1x student misses lack an observer",
    statistic="share of the units not recovered at the end whose boundary no student unit observes on any sample",
    expected="> 0.5",
    values=lambda results: {label(r): _unobserved(r) for r in results if r.setting("width_factor") == 1},
    reason=MOST,
    possible=SHARE,
    standing="own",
)

more_observers_more_recovered = Claim(
    "teacher units that are observed on more samples at the start are followed more closely at the end",
    statistic="rank correlation over teacher units of the samples on which student units observe it before training "
    "and of its likeness at the end (five classes of 1 - rho), where all units are equally strong",
    expected="> 0",
    values=lambda results: {
        label(r): rank_correlations(samples_observed(r, 0), likeness(at_step(r, "best_correlation")))
        for r in results
        if r.setting("polarity") == 0
    },
    reason=DIRECTION,
    possible=SIGNED,
    standing="own",
)

strong_have_more = Claim(
    "strong teacher units are covered by several student units, weak ones by few",
    statistic="rank correlation of a teacher unit's strength and its number of followers at the end",
    expected="> 0.3",
    values=lambda results: {
        label(r): rank_correlations(np.broadcast_to(-np.arange(UNITS), (len(followers(r)), UNITS)), followers(r))
        for r in results
        if r.setting("width_factor") > 1 and r.setting("polarity") > 0
    },
    reason=MODERATE,
    possible=SIGNED,
    place="sec. 5.3",
)
