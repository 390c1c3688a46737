"""Evaluation loss over training: 1x students fall behind as polarity grows (Tian 2019, Fig. 11)."""

from itertools import pairwise

import numpy as np
from matplotlib.figure import Figure

from tutelage.lab import Results, TrainedStudents
from tutelage.specialisation.studies._two_layer import WIDTH_FACTORS, sweep
from tutelage.studies.claims import DIRECTION, Claim
from tutelage.studies.figures import PALETTE, panel_grid
from tutelage.studies.intervals import at_step
from tutelage.studies.study import Plan, Scale, study

POLARITIES = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5)
UNITS = 20


@study(
    "loss-curves",
    paper="tian2019",
    figure="11",
    shows="Evaluation loss (log10) over epochs, mean and deviation over seeds, for six polarities and four widths: at "
    "high polarity 1x students end above the over-realised ones.",
)
def loss_curves(scale: Scale) -> Plan:
    """Evaluation loss over training, by width and polarity."""
    return Plan(
        experiments=sweep(scale, hidden=UNITS, width_factors=WIDTH_FACTORS, polarities=POLARITIES),
        figure=draw,
        claims=[narrow_is_worse, gap_grows, loss_falls],
        numbers="member",
    )


def _log_loss(result: TrainedStudents) -> np.ndarray:
    return np.log10(result.report["evaluate_loss"])


def draw(results: Results) -> Figure:
    """log10 of the evaluation loss against the step: a line per seed, and their median."""
    polarities = results.values("polarity")
    figure, axes = panel_grid(
        [""], [f"p = {p:g}" for p in polarities], "step (thousands)", r"$\log_{10}$ evaluation loss", size=(1.9, 2.5)
    )
    for panel, p in zip(axes[0], polarities, strict=True):
        for colour, k in zip(PALETTE, results.values("width_factor"), strict=False):
            result = results.one(polarity=p, width_factor=k)
            steps, losses = np.asarray(result.report.steps) / 1000, _log_loss(result)
            # Some seeds recover every unit and end at rounding, others do not: a mean would lie where no seed is.
            panel.plot(steps, losses, color=colour, alpha=0.2, linewidth=0.5)
            panel.plot(steps, np.median(losses, axis=1), color=colour, label=f"{k:g}x")
    axes[0, -1].legend(loc="upper right")
    return figure


def _gap(results: Results, polarity: float) -> np.ndarray:
    narrow, wide = (results.one(polarity=polarity, width_factor=k) for k in (1, 10))
    return np.log10(at_step(narrow, "evaluate_loss")) - np.log10(at_step(wide, "evaluate_loss"))


narrow_is_worse = Claim(
    "at high polarity (p >= 1.5) 1x students end with a larger loss than 10x students",
    statistic="log10 evaluation loss at 1x minus that at 10x at the end, seed by seed",
    expected="> 0",
    values=lambda results: {f"p = {p:g}": _gap(results, p) for p in results.values("polarity") if p >= 1.5},
    reason=DIRECTION,
    place="Fig. 11",
)

gap_grows = Claim(
    "and the difference grows with every step of the polarity (our reading of 'when p becomes higher')",
    statistic="that difference at the larger p minus the same difference at the next smaller, seed by seed",
    expected="> 0",
    values=lambda results: {
        f"p = {a:g} to {b:g}": _gap(results, b) - _gap(results, a) for a, b in pairwise(results.values("polarity"))
    },
    reason=DIRECTION,
    standing="own",
)

loss_falls = Claim(
    "over-realised students (5x and 10x) learn the teacher's function",
    statistic="log10 of the evaluation loss at the end over the evaluation loss at the start",
    expected="< -2",
    values=lambda results: {
        f"p = {p:g}, {k:g}x": (lambda curve: curve[-1] - curve[0])(_log_loss(results.one(polarity=p, width_factor=k)))
        for p in results.values("polarity")
        for k in results.values("width_factor")
        if k >= 5
    },
    reason="a hundredfold fall is read as learnt",
)
