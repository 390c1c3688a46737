"""Strong teacher units are recovered first, and wider students recover more (seed 000, Fig. 7; seed 001, Fig. 10)."""

import numpy as np
from matplotlib.figure import Figure

from tutelage.lab import Pack, Results
from tutelage.measures import RECOVERED
from tutelage.specialisation.studies.two_layer import MULTIPLES, SIZES, sweep
from tutelage.studies.claims import Claim
from tutelage.studies.figures import PALETTE, panel_grid
from tutelage.studies.statistics import at_step, recovered_share
from tutelage.studies.study import Plan, Scale, study

POLARITIES = (0.5, 1.0, 1.5, 2.0, 2.5)
UNITS = 20
END_UNITS = 5  # the strongest and the weakest five of the twenty are compared


@study(
    "success-rate",
    seed="000",
    figure="7",
    shows="How often each of twenty teacher units, strongest first, is recovered after 5 epochs (dotted) and at the "
    "end (solid): strong units first, wider students more of them, and 1x students stop short however long they train.",
)
def success_rate(scale: Scale) -> Plan:
    """How often each teacher unit is recovered, by strength, width and polarity."""
    early = SIZES[scale].early
    return Plan(
        experiments=sweep(scale, hidden=UNITS, multiples=MULTIPLES, polarities=POLARITIES),
        figure=lambda packs: draw(packs, early),
        claims=[strong_first(early), strong_at_the_end, wider_recovers_more, stuck_at_1x, polarity_is_harder],
        numbers="teacher",
    )


def draw(packs: Results, early: int) -> Figure:
    """Recovery of unit j against j: a panel a polarity, a colour a multiple, dotted early and solid at the end."""
    polarities, multiples = packs.values("polarity"), packs.values("multiple")
    figure, axes = panel_grid(
        [""], [f"p = {p:g}" for p in polarities], "teacher unit, strongest first", "success rate", size=(2.1, 2.4)
    )
    for panel, p in zip(axes[0], polarities, strict=True):
        for colour, k in zip(PALETTE, multiples, strict=False):
            pack = packs.one(polarity=p, multiple=k)
            units = np.arange(UNITS)
            panel.plot(units, _rates(pack, early), ":", color=colour)
            panel.plot(units, _rates(pack, None), "-", color=colour, label=f"{k:g}x")
        panel.set_ylim(-0.03, 1.03)
    axes[0, 0].legend(loc="lower left")
    return figure


def _rates(pack: Pack, step: int | None) -> np.ndarray:
    best = at_step(pack, "best_correlation", step)
    return np.nanmean(np.where(np.isfinite(best), best > RECOVERED, np.nan), axis=0)


def _strong_minus_weak(pack: Pack, step: int | None = None) -> np.ndarray:
    found = at_step(pack, "best_correlation", step) > RECOVERED
    return found[:, :END_UNITS].mean(1) - found[:, -END_UNITS:].mean(1)


def _label(pack: Pack) -> str:
    return f"p = {pack.setting('polarity'):g}, {pack.setting('multiple'):g}x"


def strong_first(early: int) -> Claim:
    return Claim(
        "stronger teacher units are recovered before weaker ones",
        statistic="share recovered of the five strongest units minus that of the five weakest, after 5 epochs",
        expected="> 0",
        refuted_by="an interval over seeds at or below 0 in that setting",
        values=lambda packs: {_label(p): _strong_minus_weak(p, early) for p in packs},
    )


strong_at_the_end = Claim(
    "when strengths are polarised (p >= 1.5), weak units are still not explained well after long training",
    statistic="share recovered of the five strongest units minus that of the five weakest, at the end",
    expected="> 0",
    refuted_by="an interval over seeds at or below 0 in that setting",
    values=lambda packs: {_label(p): _strong_minus_weak(p) for p in packs if p.setting("polarity") >= 1.5},
)

wider_recovers_more = Claim(
    "over-realised students recover more teacher units than 1x students",
    statistic="share of units recovered at 10x minus the share at 1x at the end, seed by seed",
    expected="> 0",
    refuted_by="an interval over seeds at or below 0 for that polarity",
    values=lambda packs: {
        f"p = {p:g}": recovered_share(packs.one(polarity=p, multiple=10))
        - recovered_share(packs.one(polarity=p, multiple=1))
        for p in packs.values("polarity")
    },
)

stuck_at_1x = Claim(
    "1x students have the capacity and yet do not recover the teacher despite long training",
    statistic="share of units recovered by 1x students at the end",
    expected="< 0.95",
    refuted_by="an interval over seeds above 0.95 for that polarity",
    values=lambda packs: {
        f"p = {p:g}": recovered_share(packs.one(polarity=p, multiple=1)) for p in packs.values("polarity")
    },
)

polarity_is_harder = Claim(
    "fewer units are recovered the more polarised their strengths are",
    statistic="share of units recovered at p = 0.5 minus the share at p = 2.5 at the end, seed by seed",
    expected="> 0",
    refuted_by="an interval over seeds at or below 0 for that multiple",
    values=lambda packs: {
        f"{k:g}x": recovered_share(packs.one(polarity=POLARITIES[0], multiple=k))
        - recovered_share(packs.one(polarity=POLARITIES[-1], multiple=k))
        for k in packs.values("multiple")
    },
)
