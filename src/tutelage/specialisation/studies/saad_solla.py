"""Generalisation errors of soft committee machines under online SGD against their equations (Saad and Solla 1995)."""

import numpy as np
from matplotlib.figure import Figure

from tutelage.specialisation.studies._committees import (
    MOSTLY_CHANCE,
    OnlineCommittee,
    labelled,
    pairs_in_common,
    rms_gaps,
)
from tutelage.studies.claims import SIGNED, Claim
from tutelage.studies.figures import PALETTE, error_bars, panel_grid
from tutelage.studies.study import Plan, Scale, study

DIMENSIONS: dict[Scale, tuple[int, ...]] = {"smoke": (30, 120), "quick": (100, 400), "paper": (400, 1600)}
SEEDS: dict[Scale, int] = {"smoke": 4, "quick": 16, "paper": 24}
LAST: dict[Scale, float] = {"smoke": 5.0, "quick": 40.0, "paper": 40.0}
RATES = {"erf": 1.0, "relu": 0.3}
"""eta per activation: d times the learning rate."""
UNITS = 3
"""Units of the teacher and of the students, as in the paper's learnable scenario."""


@study(
    "saad-solla",
    paper="saad1995",
    figure="1",
    shows="The generalisation error of soft committee machines under online SGD stays on a plateau and then falls, as "
    "the equations of the overlaps say; each student unit specialises to one unit of the teacher.",
)
def saad_solla(scale: Scale) -> Plan:
    """Online SGD of committee machines against order-parameter equations."""
    experiments = [
        OnlineCommittee(
            activation=activation,
            teachers=UNITS,
            students=UNITS,
            dimension=d,
            rate=rate,
            last=LAST[scale],
            seeds=SEEDS[scale],
        )
        for activation, rate in RATES.items()
        for d in DIMENSIONS[scale]
    ]
    return Plan(experiments, draw, [near, closes, no_bias, specialise], view=labelled)


def label(course: dict) -> str:
    return f"{course['activation']}, d = {course['dimension']}"


def draw(courses: list[dict]) -> Figure:
    """Generalisation error over time: lines from the equations, marks from simulations, one panel per setting."""
    kinds = list(dict.fromkeys(c["activation"] for c in courses))
    sizes = list(dict.fromkeys(c["dimension"] for c in courses))
    rows = [rf"{kind}, $\eta$ = {RATES[kind]:g}" for kind in kinds]
    figure, axes = panel_grid(
        rows, [f"$d$ = {d}" for d in sizes], "steps / $d$", "error", size=(3.2, 2.3), sharey="row"
    )
    for c in courses:
        panel = axes[kinds.index(c["activation"]), sizes.index(c["dimension"])]
        panel.plot(c["times"], c["limit"].mean(0), color=PALETTE[0], label="equations")
        error_bars(panel, c["times"], c["simulated"].T, PALETTE[3], "online SGD", "o")
        panel.set_yscale("log")
    axes[0, 0].legend()
    return figure


near = Claim(
    "the generalisation error under online SGD is that of the equations",
    statistic="root mean square over times of simulation less equations, over the error at the start",
    expected="< 0.02",
    values=lambda courses: {label(c): rms_gaps(c["simulated"], c["limit"]) for c in _largest(courses)},
    reason="a fiftieth of the error at the start, at the largest dimension",
    possible=(0.0, np.inf),
    place="Fig. 1",
)


def _largest(courses: list[dict]) -> list[dict]:
    most = max(c["dimension"] for c in courses)
    return [c for c in courses if c["dimension"] == most]


def shrinkage(courses: list[dict]) -> dict[str, np.ndarray]:
    """Exponent of the gap in the dimension between the smallest and the largest one, member by member."""
    out = {}
    for last in _largest(courses):
        first = min((c for c in courses if c["activation"] == last["activation"]), key=lambda c: c["dimension"])
        ratio = rms_gaps(last["simulated"], last["limit"]) / rms_gaps(first["simulated"], first["limit"])
        out[last["activation"]] = np.log(ratio) / np.log(last["dimension"] / first["dimension"])
    return out


closes = Claim(
    "the gap closes with the dimension, like 1/sqrt(d)",
    statistic="slope of log gap against log dimension, member by member; -0.5 is expected, and half of it is asked for",
    expected="< -0.25",
    values=shrinkage,
    reason="half of the exponent -0.5 of the theory",
)

no_bias = Claim(
    "the gap to the equations is mostly chance: two members have less than a quarter of its square in common",
    statistic="share of the squared gap that two members have in common, pair by pair; 0 without a bias",
    expected="< 0.25",
    values=lambda courses: {label(c): pairs_in_common(c["simulated"] - c["limit"]) for c in courses},
    reason=MOSTLY_CHANCE,
    possible=SIGNED,
    standing="own",
)

specialise = Claim(
    "every student unit specialises to a teacher unit of its own",
    statistic="least over teacher units of the best cosine with a student unit at the end",
    expected="> 0.9",
    values=lambda courses: {label(c): c["cosines"].max(1).min(1) for c in courses},
    reason="0.9 is 26 degrees; random directions in these dimensions are within 20 degrees of a right angle",
    possible=SIGNED,
    place="Fig. 1",
)
