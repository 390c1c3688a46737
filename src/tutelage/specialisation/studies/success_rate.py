"""Strong teacher units are recovered first, and wider students recover more (Tian 2020, Fig. 7; Tian 2019, Fig. 10)."""

import numpy as np
from matplotlib.figure import Figure

from tutelage.lab import Results, TrainedStudents
from tutelage.measures import RECOVERED
from tutelage.specialisation.studies._two_layer import SIZES, WIDTH_FACTORS, label, sweep
from tutelage.studies.claims import DIRECTION, SHARE, SIGNED, Claim, Measured, compared
from tutelage.studies.figures import PALETTE, panel_grid
from tutelage.studies.intervals import at_step, recovered_share
from tutelage.studies.study import Plan, Scale, study

POLARITIES = (0.5, 1.0, 1.5, 2.0, 2.5)
UNITS = 20
END_UNITS = 5  # the strongest and the weakest five of the twenty are compared


@study(
    "success-rate",
    paper="tian2020",
    figure="7",
    shows="How often each of twenty teacher units, strongest first, is recovered after 5 epochs (dotted) and at the "
    "end (solid): strong units first, wider students more of them, and 1x students stop short however long they train.",
)
def success_rate(scale: Scale) -> Plan:
    """How often each teacher unit is recovered, by strength, width and polarity."""
    early = SIZES[scale].early
    return Plan(
        experiments=sweep(scale, hidden=UNITS, width_factors=WIDTH_FACTORS, polarities=POLARITIES),
        figure=lambda results: draw(results, early),
        claims=[strong_first(early), strong_at_the_end, wider_recovers_more, stuck_at_1x, polarity_is_harder],
        numbers="teacher",
    )


def draw(results: Results, early: int) -> Figure:
    """Recovery of unit j against j: one panel per polarity, one colour per width factor, dotted early and solid at the
    end.
    """
    polarities, width_factors = results.values("polarity"), results.values("width_factor")
    figure, axes = panel_grid(
        [""], [f"p = {p:g}" for p in polarities], "teacher unit, strongest first", "success rate", size=(2.1, 2.4)
    )
    for panel, p in zip(axes[0], polarities, strict=True):
        for colour, k in zip(PALETTE, width_factors, strict=False):
            result = results.one(polarity=p, width_factor=k)
            units = np.arange(UNITS)
            panel.plot(units, _rates(result, early), ":", color=colour)
            panel.plot(units, _rates(result, None), "-", color=colour, label=f"{k:g}x")
        panel.set_ylim(-0.03, 1.03)
    axes[0, 0].legend(loc="lower left")
    return figure


def _rates(result: TrainedStudents, step: int | None) -> np.ndarray:
    best = at_step(result, "best_correlation", step)
    return np.nanmean(np.where(np.isfinite(best), best > RECOVERED, np.nan), axis=0)


def _strong_minus_weak(result: TrainedStudents, step: int | None = None) -> Measured:
    recovered = at_step(result, "best_correlation", step) > RECOVERED
    return compared(recovered[:, :END_UNITS].mean(1), recovered[:, -END_UNITS:].mean(1))


def strong_first(early: int) -> Claim:
    return Claim(
        "stronger teacher units are recovered before weaker ones",
        statistic="share recovered of the five strongest units minus that of the five weakest, after 5 epochs",
        expected="> 0",
        values=lambda results: {label(p): _strong_minus_weak(p, early) for p in results},
        reason=DIRECTION,
        possible=SIGNED,
        place="Fig. 7",
    )


strong_at_the_end = Claim(
    "when strengths are polarised (p >= 1.5), stronger teacher units are recovered more often even after long training",
    statistic="share recovered of the five strongest units minus that of the five weakest, at the end",
    expected="> 0",
    values=lambda results: {label(p): _strong_minus_weak(p) for p in results if p.setting("polarity") >= 1.5},
    reason=DIRECTION,
    possible=SIGNED,
    place="Fig. 7",
)

wider_recovers_more = Claim(
    "over-realised students recover more teacher units than 1x students",
    statistic="share of units recovered at 10x minus the share at 1x at the end, seed by seed",
    expected="> 0",
    values=lambda results: {
        f"p = {p:g}": compared(
            recovered_share(results.one(polarity=p, width_factor=10)),
            recovered_share(results.one(polarity=p, width_factor=1)),
        )
        for p in results.values("polarity")
    },
    reason=DIRECTION,
    possible=SIGNED,
    place="sec. 7.1",
)

stuck_at_1x = Claim(
    "1x students have the capacity and yet do not recover the teacher despite long training",
    statistic="share of units recovered by 1x students at the end",
    expected="< 0.95",
    values=lambda results: {
        f"p = {p:g}": recovered_share(results.one(polarity=p, width_factor=1)) for p in results.values("polarity")
    },
    reason="one of the twenty units is not recovered",
    possible=SHARE,
    place="sec. 7.1",
)

polarity_is_harder = Claim(
    "fewer units are recovered the more polarised their strengths are",
    statistic="share of units recovered at p = 0.5 minus the share at p = 2.5 at the end, seed by seed",
    expected="> 0",
    values=lambda results: {
        f"{k:g}x": compared(
            recovered_share(results.one(polarity=POLARITIES[0], width_factor=k)),
            recovered_share(results.one(polarity=POLARITIES[-1], width_factor=k)),
        )
        for k in results.values("width_factor")
    },
    reason=DIRECTION,
    possible=SIGNED,
    place="Fig. 7",
)
