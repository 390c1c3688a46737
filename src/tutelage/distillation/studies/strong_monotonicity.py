"""Learners that one more input helps more often have lower risk (Phuong 2021, Fig. 5.5)."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import get_args

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tutelage.distillation import Distillation, HardTarget, Polynomial, Weakened, monotonicity, outcome
from tutelage.distillation.learners import Learner
from tutelage.distillation.outlook import Reading
from tutelage.lab import Context, Experiment, Results
from tutelage.lab.experiment import Arrays
from tutelage.settings import Seeds
from tutelage.studies.claims import DIRECTION, SHARE, SIGNED, Claim
from tutelage.studies.figures import PALETTE
from tutelage.studies.study import Plan, Scale, study

DELTAS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
DISTILLATION, STEPPED, MARGIN = "distillation", "hard labels, 2,000 steps", "hard labels, max margin"
HARD = (STEPPED, MARGIN)
"""The paper does not say how long the hard-label learner is trained: some way, and without end."""
LEARNERS: dict[str, Learner] = {
    DISTILLATION: Distillation(),
    STEPPED: HardTarget(2_000),
    MARGIN: HardTarget(None),
    **{f"delta = {Fraction(delta)}": Weakened(delta) for delta in DELTAS},
}
WEAKENED = tuple(LEARNERS)[3:]
READINGS: tuple[Reading, ...] = get_args(Reading)
TASK, TRANSFER, GROUPS = Polynomial(100, kappa=1.0), 5, 20
"""Groups: correlations over learners are taken in each of so many groups of sets."""
SETS: dict[Scale, int] = {"smoke": 40, "quick": 200, "paper": 1_000}


@study(
    "strong-monotonicity",
    paper="phuong2021",
    figure="5.5",
    shows="Expected risk against the monotonicity index, the probability that one more input turns the student toward "
    "the teacher: distillation has the highest index and the lowest risk, hard labels and weaker biases lie apart; "
    "the correlation is negative.",
)
def strong_monotonicity(scale: Scale) -> Plan:
    """Learners that one more input helps more often have lower risk."""
    claims = [always, never_worse, not_hard, lowest, negative, more_bias_helps, more_bias_less_risk]
    experiments = [LinearLearner(learner=name, seeds=SETS[scale]) for name in LEARNERS]
    return Plan(experiments, draw, claims, view=by_learner)


class LinearLearner(Experiment, kind="linear-learner", numerics=1):
    """Risk of a learner on transfer sets of a polynomial task, and whether one more input helps or harms it."""

    learner: str
    dimension: int = 100
    kappa: float = 1.0
    inputs: int = TRANSFER
    seeds: Seeds

    def run(self, context: Context) -> Arrays:
        task = Polynomial(self.dimension, kappa=self.kappa)
        result = learnt(LEARNERS[self.learner], self.seeds, task, self.inputs)
        out = {"risk": result.risk}
        for r in READINGS:
            out |= {f"better_{r}": result.better[r], f"worse_{r}": result.worse[r]}
        return out


@dataclass(frozen=True, eq=False)
class Learnt:
    """One learner on S sets: risk [S]; for each reading whether one more input helped, and whether it harmed [S].

    A student that does not move, by more than 1e-10, counts as neither: (5.34) asks for a smaller angle.
    """

    risk: np.ndarray
    better: dict[str, np.ndarray]
    worse: dict[str, np.ndarray]


Learners = dict[str, Learnt]


def by_learner(results: Results) -> Learners:
    """All learners on the same transfer sets."""
    return {
        r.setting("learner"): Learnt(
            r["risk"],
            {reading: r[f"better_{reading}"] for reading in READINGS},
            {reading: r[f"worse_{reading}"] for reading in READINGS},
        )
        for r in results
    }


def learnt(learner: Learner, seeds: Sequence[int], task: Polynomial = TASK, inputs: int = TRANSFER) -> Learnt:
    """Risk and both readings of the index; a learner that draws nothing has the same index in both."""
    readings = READINGS if isinstance(learner, Weakened) else READINGS[:1]
    by_reading = {r: monotonicity(learner, task, seeds, inputs, r) for r in readings}
    both = {r: by_reading.get(r, by_reading[READINGS[0]]) for r in READINGS}
    return Learnt(
        outcome(learner, task, seeds, inputs).risk.numpy(),
        {r: m.better.double().numpy() for r, m in both.items()},
        {r: m.worse.double().numpy() for r, m in both.items()},
    )


def draw(e: Learners) -> Figure:
    """Index against risk with two standard errors, one panel per reading; hollow: 1 minus the share harmed."""
    figure = Figure(figsize=(8.4, 3.1), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for panel, reading in zip(axes, READINGS, strict=True):
        for name, learner in e.items():
            _mark(panel, learner, reading, name)
        panel.set(title=f"orthogonal part {reading}", xlabel="expected transfer risk", ylim=(0, 1.05))
        panel.set_xlim(0, None)
    axes[0].set_ylabel("monotonicity index m")
    axes[0].plot([], [], "o", color="#888888", markersize=5, fillstyle="none", label="1 - share harmed")
    axes[0].legend(fontsize=7, loc="lower left")
    return figure


def _mark(panel: Axes, learner: Learnt, reading: str, name: str) -> None:
    colours = {DISTILLATION: PALETTE[0], STEPPED: PALETTE[1], MARGIN: PALETTE[3]}
    colour = colours.get(name, PALETTE[2])
    (x, dx), (y, dy) = _mean(learner.risk), _mean(learner.better[reading])
    first = name not in WEAKENED or name == WEAKENED[0]
    label = None if not first else r"$w_\delta$, $\delta$ = 1/16 .. 1" if name in WEAKENED else name
    panel.errorbar(x, y, 2 * dy, 2 * dx, fmt="o", color=colour, markersize=4, label=label)
    if name not in WEAKENED:
        mild = 1 - learner.worse[reading].mean()
        panel.plot(x, mild, "o", color=colour, markersize=5, fillstyle="none")
    else:
        panel.annotate(name.removeprefix("delta = "), (x, y), (4, 4), textcoords="offset points", fontsize=6)


def _mean(values: np.ndarray) -> tuple[float, float]:
    return float(values.mean()), float(values.std(ddof=1) / len(values) ** 0.5)


def correlation(e: Learners, hard: str, reading: str) -> np.ndarray:
    """Correlation of risk and index over learners, with one of the two hard ones, in each group of sets: [GROUPS].

    Not defined (NaN) in a group in which all learners have the same index.
    """
    names = [name for name in e if name not in HARD or name == hard]
    risk, index = (
        np.stack([[part.mean() for part in np.array_split(v, GROUPS)] for v in values])
        for values in ([e[n].risk for n in names], [e[n].better[reading] for n in names])
    )
    risk, index = (v - v.mean(0) for v in (risk, index))
    size = np.sqrt((risk**2).sum(0) * (index**2).sum(0))
    return np.divide((risk * index).sum(0), size, out=np.full(GROUPS, np.nan), where=size > 0)


def _moved(learner: Learnt, reading: str) -> np.ndarray:
    """One where an input helped, zero where it harmed; NaN where the student stayed, to rounding: [S]."""
    return np.where((learner.better[reading] + learner.worse[reading]) > 0, learner.better[reading], np.nan)


always = Claim(
    "one more input brings a distilled student nearer to its teacher, whatever the input",
    statistic="one where the student came nearer, zero where it went away; a student that stays where it is to "
    "rounding shows nothing and is left out",
    expected="> 0.5",
    values=lambda e: {DISTILLATION: _moved(e[DISTILLATION], READINGS[0])},
    reason="the sentence says whatever the input; an input shows 0 or 1",
    about="every",
    possible=SHARE,
    exceptions=0.01,
    kind="outcome",
    place="sec. 5.4",
)

never_worse = Claim(
    "an added input does not lead away from the teacher",
    statistic="one where the student went away from the teacher, else zero",
    expected="< 0.5",
    values=lambda e: {DISTILLATION: e[DISTILLATION].worse[READINGS[0]]},
    reason="the sentence allows no exception; an input shows 0 or 1",
    about="every",
    possible=SHARE,
    exceptions=0.01,
    kind="outcome",
    place="sec. 5.4",
)

not_hard = Claim(
    "students of hard labels lack this property",
    statistic="share of sets whose student went away from the teacher; a student that does not move is not counted",
    expected="> 0.01",
    values=lambda e: {name: e[name].worse[READINGS[0]] for name in HARD},
    reason="a property that fails once in a hundred sets is lacking",
    possible=SHARE,
    kind="outcome",
    place="sec. 5.4",
)

lowest = Claim(
    "distillation has the lowest risk of all learners",
    statistic="risk of this learner minus that of distillation, set by set",
    expected="> 0",
    values=lambda e: {name: e[name].risk - e[DISTILLATION].risk for name in e if name != DISTILLATION},
    reason=DIRECTION,
    possible=SIGNED,
)

negative = Claim(
    "learners that are more monotone have less risk",
    statistic=f"correlation over learners of mean risk and index, in each of {GROUPS} groups of sets",
    expected="< 0",
    values=lambda e: {f"{reading}; {hard}": correlation(e, hard, reading) for reading in READINGS for hard in HARD},
    reason=DIRECTION,
    possible=SIGNED,
    place="Fig. 5.5",
)

more_bias_helps = Claim(
    "the weaker the bias, the lower the index",
    statistic="share of sets that one more input helps at this delta minus that at twice this delta",
    expected="> 0",
    values=lambda e: {
        f"{reading}; {a}": e[a].better[reading] - e[b].better[reading]
        for reading in READINGS
        for a, b in pairwise(WEAKENED)
    },
    reason=DIRECTION,
    possible=SIGNED,
    kind="outcome",
)

more_bias_less_risk = Claim(
    "the weaker the bias, the higher the risk: deltas stand in order from left to right",
    statistic="risk at twice this delta minus that at this delta, set by set",
    expected="> 0",
    values=lambda e: {a: e[b].risk - e[a].risk for a, b in pairwise(WEAKENED)},
    reason=DIRECTION,
    possible=SIGNED,
    place="Fig. 5.5",
)
