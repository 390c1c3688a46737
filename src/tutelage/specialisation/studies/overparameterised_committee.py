"""More students than teachers with noisy labels: worse in one case, better in the other (Goldt et al. 2019)."""

from itertools import pairwise

import numpy as np
from matplotlib.figure import Figure

from tutelage.specialisation.studies._committees import MOSTLY_CHANCE, OnlineCommittee, labelled, late, pairs_in_common
from tutelage.studies.claims import DIRECTION, SIGNED, Claim
from tutelage.studies.figures import PALETTE, error_bars, panel_grid
from tutelage.studies.study import Plan, Scale, fresh_seeds, study

TEACHERS = 2
STUDENTS: dict[Scale, tuple[int, ...]] = {"smoke": (2, 4), "quick": (2, 4, 8), "paper": (2, 4, 8)}
DIMENSION: dict[Scale, int] = {"smoke": 40, "quick": 100, "paper": 200}
SEEDS: dict[Scale, int] = {"smoke": 4, "quick": 16, "paper": 32}
LAST: dict[Scale, float] = {"smoke": 40.0, "quick": 1000.0, "paper": 2000.0}
"""Time followed. A rehearsal at quick scale ended at 300, before the equations had settled, and its both-layer errors
were still falling; start and length were then chosen from the equations alone."""
RATE, NOISE = 0.3, 0.2
"""eta = d times the learning rate of each trained layer, and the deviation of the label noise."""
OVERLAP, SPREAD = 0.5, 0.3
"""Overlap of a student with its teacher at the start, and the length of the random rest: beyond the plateau."""


@study(
    "overparameterised-committee",
    paper="goldt2019",
    figure="3 and 5",
    shows="With noisy labels and a constant learning rate, the final generalisation error of erf students grows with "
    "their number of units when only the first layer is trained, and falls with it when both layers are.",
)
def overparameterised_committee(scale: Scale) -> Plan:
    """Over-parameterised committee machines with label noise."""
    experiments = [
        OnlineCommittee(
            activation="erf",
            teachers=TEACHERS,
            students=k,
            dimension=DIMENSION[scale],
            rate=RATE,
            last=LAST[scale],
            both_layers=both,
            label_noise=NOISE,
            overlap=OVERLAP,
            spread=SPREAD,
            seeds=fresh_seeds(scale, SEEDS[scale]),
        )
        for both in (False, True)
        for k in STUDENTS[scale]
    ]
    return Plan(experiments, draw, [rises, falls, as_the_equations], view=labelled)


def of_layers(courses: list[dict], both: bool) -> list[dict]:
    return sorted((c for c in courses if c["both_layers"] == both), key=lambda c: c["students"])


def growth(courses: list[dict], both: bool) -> dict[str, np.ndarray]:
    """log10 of the final error with more students over that with fewer, member by member."""
    return {
        f"K = {b['students']} against {a['students']}": np.log10(late(b["simulated"]) / late(a["simulated"]))
        for a, b in pairwise(of_layers(courses, both))
    }


def draw(courses: list[dict]) -> Figure:
    """Generalisation error over time for each number of students: lines from the equations, marks from online SGD."""
    titles = ["first layer trained", "both layers trained"]
    figure, axes = panel_grid([""], titles, "steps / d", "generalisation error", size=(3.6, 2.8))
    for column, both in enumerate((False, True)):
        panel = axes[0, column]
        for colour, c in zip(PALETTE, of_layers(courses, both), strict=False):
            panel.plot(c["times"], c["limit"].mean(0), color=colour, label=f"K = {c['students']}")
            error_bars(panel, c["times"], c["simulated"].T, colour, None, "o")
        panel.set_yscale("log")
        panel.legend(title=f"M = {TEACHERS}")
    return figure


rises = Claim(
    "with the first layer trained alone, more students end with a larger error",
    statistic="log10 of the final error with more students over that with fewer, member by member",
    expected="> 0",
    values=lambda courses: growth(courses, both=False),
    reason=DIRECTION,
    place="Fig. 3",
)

falls = Claim(
    "with both layers trained, more students end with a smaller error",
    statistic="log10 of the final error with more students over that with fewer, member by member",
    expected="< 0",
    values=lambda courses: growth(courses, both=True),
    reason=DIRECTION,
    place="Fig. 5",
)

as_the_equations = Claim(
    "the gap of the final error to the equations is mostly chance: two members have less than a quarter of its square "
    "in common",
    statistic="share of the squared gap over the last times that two members have in common, pair by pair",
    expected="< 0.25",
    values=lambda courses: {
        f"{'both layers' if c['both_layers'] else 'first layer'}, K = {c['students']}": pairs_in_common(
            (c["simulated"] - c["limit"])[:, -5:]
        )
        for c in courses
    },
    reason=MOSTLY_CHANCE,
    possible=SIGNED,
    standing="own",
)
