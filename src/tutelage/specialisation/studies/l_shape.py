"""Unspecialised students end with small fan-out (Tian 2020, Fig. 5; Tian 2019, Fig. 7)."""

import numpy as np
from matplotlib.figure import Figure

from tutelage.lab import Results, TrainedStudents
from tutelage.measures import RECOVERED
from tutelage.specialisation.studies._two_layer import BY_LIKENESS, WIDTH_FACTORS, by_likeness, draw_l, label, sweep
from tutelage.studies.claims import DIRECTION, MODERATE, SIGNED, Claim, Measured, compared
from tutelage.studies.figures import panel_grid
from tutelage.studies.intervals import at_step, mean_where, recovered_share
from tutelage.studies.study import Plan, Scale, study

POLARITIES = (0.0, 1.0, 2.0)


@study(
    "l-shape",
    paper="tian2020",
    figure="5",
    shows="One point per student unit, for 1, 2, 5 and 10 times as many students as the ten teacher units: units that "
    "resemble no teacher have small fan-out, and high polarity p makes recovery harder, above all at 1x.",
)
def l_shape(scale: Scale) -> Plan:
    """Unspecialised students end with small fan-out."""
    return Plan(
        experiments=sweep(scale, hidden=10, width_factors=WIDTH_FACTORS, polarities=POLARITIES),
        figure=draw,
        claims=[small_fan_out, little_left, polarity_is_harder, harder_above_all_at_1x],
        numbers="unit",
    )


def draw(results: Results) -> Figure:
    """Best correlation against fan-out of every student unit at the end; the shade is their density."""
    width_factors, polarities = results.values("width_factor"), results.values("polarity")
    figure, axes = panel_grid(
        [f"p = {p:g}" for p in polarities], [f"{k:g}x" for k in width_factors], "best correlation", "fan-out"
    )
    for row, p in enumerate(polarities):
        for column, k in enumerate(width_factors):
            draw_l(axes[row, column], results.one(polarity=p, width_factor=k))
    axes[0, 0].set_xlim(-0.02, 1.03)
    axes[0, 0].set_ylim(bottom=0)
    return figure


small_fan_out = Claim(
    "the less a student unit resembles a teacher unit, the smaller its fan-out (Theorem 2)",
    statistic=BY_LIKENESS,
    expected="> 0.3",
    values=lambda results: {label(p): by_likeness(p) for p in results},
    reason=MODERATE,
    possible=SIGNED,
    place="Fig. 5",
)


def _fan_out_ratio(result: TrainedStudents) -> Measured:
    """Only members with units of both kinds have the ratio."""
    x, y = at_step(result, "specialisation"), at_step(result, "fan_out")
    ratio = mean_where(y, x < 0.7) / mean_where(y, x > RECOVERED)
    return Measured(ratio, premise=np.isfinite(ratio))


little_left = Claim(
    "units of low correlation have far smaller fan-out than specialised ones",
    statistic="mean fan-out of units with best correlation below 0.7 over that of units above 0.95, at the end; "
    "members without units of both kinds do not count, and at least eight have to be left",
    expected="< 0.2",
    values=lambda results: {label(p): _fan_out_ratio(p) for p in results},
    reason="a fifth is read as far smaller",
    possible=(0.0, np.inf),
    fewest=8,
)

polarity_is_harder = Claim(
    "higher polarity makes teacher units harder to recover",
    statistic="share of teacher units recovered at p = 0 minus the share at p = 2, seed by seed",
    expected="> 0",
    values=lambda results: {f"{k:g}x": _loss_of_recovery(results, k) for k in results.values("width_factor")},
    reason=DIRECTION,
    possible=SIGNED,
    place="Fig. 5",
)


def _loss_of_recovery(results: Results, width_factor: float) -> Measured:
    easy, hard = (results.one(polarity=p, width_factor=width_factor) for p in (POLARITIES[0], POLARITIES[-1]))
    return compared(recovered_share(easy), recovered_share(hard))


harder_above_all_at_1x = Claim(
    "and most of all for students that are not over-realised",
    statistic="that difference at 1x minus the same difference at 10x, seed by seed",
    expected="> 0",
    values=lambda results: {
        "1x against 10x": _loss_of_recovery(results, 1).values - _loss_of_recovery(results, 10).values
    },
    reason=DIRECTION,
    possible=(-2.0, 2.0),
    place="Fig. 5",
)
