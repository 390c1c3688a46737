"""Strong teacher units are found quickly, weak ones after a long time (Tian 2020, Fig. 8; Tian 2019, Fig. 12)."""

import numpy as np
from matplotlib.figure import Figure

from tutelage.lab import Results, TrainedStudents
from tutelage.specialisation.studies._two_layer import sweep
from tutelage.studies.claims import SIGNED, STRONG, Claim
from tutelage.studies.figures import panel_grid
from tutelage.studies.figures.panels import strength_bar, strength_colours
from tutelage.studies.intervals import rank_correlations, recovery_steps
from tutelage.studies.study import Plan, Scale, study

POLARITIES = (0.5, 1.0, 1.5, 2.0, 2.5)
UNITS = 20
END_UNITS = 5


@study(
    "specialisation-dynamics",
    paper="tian2020",
    figure="8",
    shows="Best correlation of each of twenty teacher units over the training of 5x students: strong units are found "
    "at once, weak ones late or not at all, the more so the larger p.",
)
def specialisation_dynamics(scale: Scale) -> Plan:
    """When each teacher unit is found, over training."""
    return Plan(
        experiments=sweep(scale, hidden=UNITS, width_factors=(5,), polarities=POLARITIES),
        figure=draw,
        claims=[strong_sooner, weak_much_later],
        numbers="teacher",
    )


def draw(results: Results) -> Figure:
    """Best correlation, mean over seeds, against the step: one panel per polarity, one colour per teacher unit."""
    polarities = results.values("polarity")
    figure, axes = panel_grid([""], [f"p = {p:g}" for p in polarities], "step", "best correlation", size=(2.1, 2.4))
    for panel, p in zip(axes[0], polarities, strict=True):
        result = results.one(polarity=p)
        mean = np.nanmean(result.report["best_correlation"], axis=1)
        steps = np.asarray(result.report.steps)
        for unit, colour in enumerate(strength_colours(UNITS)):
            panel.plot(steps[1:], mean[1:, unit], color=colour, linewidth=1)
        panel.set_xscale("log")
        panel.set_ylim(0, 1.03)
    strength_bar(figure, axes, UNITS)
    return figure


def _label(result: TrainedStudents) -> str:
    return f"p = {result.setting('polarity'):g}"


def _rank_of_time(result: TrainedStudents) -> np.ndarray:
    """Rank correlation of a unit's place in strength with the step of its recovery; never counts as last."""
    steps = recovery_steps(result)
    place = np.broadcast_to(np.arange(steps.shape[1], dtype=float), steps.shape)
    return rank_correlations(place, steps)


strong_sooner = Claim(
    "the stronger a teacher unit, the sooner it is found",
    statistic="rank correlation, over a member's teacher units, of place in strength (strongest first) and first "
    "recorded step with correlation above 0.95 (never counts as last)",
    expected="> 0.5",
    values=lambda results: {_label(p): _rank_of_time(p) for p in results},
    reason=STRONG,
    possible=SIGNED,
    place="Fig. 8",
)


def _time_ratio(result: TrainedStudents) -> np.ndarray:
    steps = np.minimum(recovery_steps(result), result.report.steps[-1])
    return np.log2(steps[:, -END_UNITS:].mean(1) / np.maximum(steps[:, :END_UNITS].mean(1), 1))


weak_much_later = Claim(
    "weak units take much longer than strong ones",
    statistic="log2 of the mean step of recovery of the five weakest units over that of the five strongest (never "
    "counts as the last step, which can only make the ratio smaller)",
    expected="> 1",
    values=lambda results: {_label(p): _time_ratio(p) for p in results},
    reason="'much longer' is read as twice as long",
    place="Fig. 8",
)
