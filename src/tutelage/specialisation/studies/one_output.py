"""Teachers with a single output are harder to recover (Tian 2019, section 5)."""

import numpy as np
from matplotlib.figure import Figure
from scipy.stats import spearmanr

from tutelage.lab import Record, Results, TrainedStudents
from tutelage.measures import RECOVERED
from tutelage.specialisation.studies._two_layer import SIZES, two_layer
from tutelage.studies.claims import DIRECTION, MODERATE, MOST, SHARE, SIGNED, Claim, Measured, compared
from tutelage.studies.figures import PALETTE, panel_grid
from tutelage.studies.intervals import at_step, half_width, mean_where
from tutelage.studies.study import Plan, Scale, study

OUTPUTS: dict[Scale, tuple[int, ...]] = {"smoke": (1, 10), "quick": (1, 5, 50), "paper": (1, 2, 5, 20, 50)}
WIDTH_FACTORS = (1, 2, 5)
UNITS = 10


@study(
    "one-output",
    paper="tian2019",
    figure="sec. 5",
    shows="No figure: with a scalar output a single small weight of the teacher blocks the recovery of its unit, so "
    "such teachers are recovered only in part; with many outputs no single weight decides.",
)
def one_output(scale: Scale) -> Plan:
    """Recovery of teacher units against the number of outputs."""
    size = SIZES[scale]
    record = Record(every=size.epoch, measures=("evaluate_loss", "strength", "best_correlation"), weights="none")
    experiments = [
        two_layer(size, factor, record, hidden=UNITS, outputs=outputs, standardised=True)
        for factor in WIDTH_FACTORS
        for outputs in OUTPUTS[scale]
    ]
    return Plan(experiments, draw, [fewer_with_one, little_with_one, small_weights_block], numbers="teacher")


def _with_weight(r: TrainedStudents) -> np.ndarray:
    """Teacher units whose fan-out is not 0; the others are no part of the function: [S, m]."""
    return at_step(r, "strength") > 0


def recovered(r: TrainedStudents) -> np.ndarray:
    """Share recovered of the teacher units that take part: [S]."""
    return mean_where((at_step(r, "best_correlation") > RECOVERED).astype(float), _with_weight(r))


def draw(results: Results) -> Figure:
    """Share of units recovered against outputs, and best correlation of each unit against its strength for one."""
    figure, axes = panel_grid(
        [""], ["units recovered", "one output"], "", "", size=(2.9, 2.5), sharex=False, sharey=False
    )
    outputs = results.values("outputs")
    for colour, k in zip(PALETTE, results.values("width_factor"), strict=False):
        values = np.stack([recovered(results.one(outputs=c, width_factor=k)) for c in outputs])
        mean = np.nanmean(values, 1)
        axes[0, 0].errorbar(outputs, mean, half_width(values.T), fmt="o-", color=colour, ms=3, label=f"{k:g}x")
        r = results.one(outputs=1, width_factor=k)
        chosen = _with_weight(r)
        strength, best = at_step(r, "strength"), at_step(r, "best_correlation")
        axes[0, 1].plot(strength[chosen], best[chosen], ".", color=colour, ms=2.5, alpha=0.6)
    axes[0, 0].set(xscale="log", xlabel="outputs", ylabel="share recovered", ylim=(-0.03, 1.03))
    axes[0, 0].set_xticks(outputs, [str(c) for c in outputs], minor=False)
    axes[0, 0].minorticks_off()
    axes[0, 1].axhline(RECOVERED, color="#888888", lw=0.8, ls="--")
    axes[0, 1].set(xlabel="|v*| of the teacher unit", ylabel="best correlation", ylim=(-0.05, 1.05))
    axes[0, 0].legend()
    return figure


fewer_with_one = Claim(
    "teachers with one output are recovered less than teachers with many",
    statistic="share of units recovered with the most outputs minus with one, at the end, seed by seed; units of "
    "weight 0 left out",
    expected="> 0",
    values=lambda results: {
        f"{k:g}x": compared(
            recovered(results.one(outputs=max(results.values("outputs")), width_factor=k)),
            recovered(results.one(outputs=1, width_factor=k)),
        )
        for k in results.values("width_factor")
    },
    reason=DIRECTION,
    possible=SIGNED,
)

little_with_one = Claim(
    "with one output most teacher units are not recovered (our reading of 'particularly problematic')",
    statistic="share of units recovered with one output at the end",
    expected="< 0.5",
    values=lambda results: {
        f"{k:g}x": recovered(results.one(outputs=1, width_factor=k)) for k in results.values("width_factor")
    },
    reason=MOST,
    possible=SHARE,
    standing="own",
)

small_weights_block = Claim(
    "with one output it is the small weights that block recovery",
    statistic="rank correlation of |v*_j| and the best correlation of unit j, units of weight 0 left out; "
    "members that recover all units do not count",
    expected="> 0.3",
    values=lambda results: {
        f"{k:g}x": _ranked(results.one(outputs=1, width_factor=k)) for k in results.values("width_factor")
    },
    reason=MODERATE,
    possible=SIGNED,
    standing="own",
)


def _ranked(r: TrainedStudents) -> Measured:
    """Spearman's correlation over the units that take part: [S], NaN where fewer than three do or all are alike.

    Where all of them are recovered nothing is blocked: NaN too, and at the limit.
    """
    out = []
    for strength, best, chosen in zip(
        at_step(r, "strength"), at_step(r, "best_correlation"), _with_weight(r), strict=True
    ):
        apart = (
            chosen.sum() > 2 and np.isfinite(best).all() and np.ptp(strength[chosen]) > 0 and np.ptp(best[chosen]) > 0
        )
        out.append(spearmanr(strength[chosen], best[chosen]).statistic if apart else np.nan)
    nothing_blocked = recovered(r) == 1
    return Measured(np.where(nothing_blocked, np.nan, out), at_limit=nothing_blocked)
