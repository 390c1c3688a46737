"""How fast descent converges: linear with one student per teacher, powers of time with more (Zhou et al. 2021, Theorem
4).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from tutelage.draws import keys, uniforms
from tutelage.lab import Context, Experiment, Results, Shared
from tutelage.lab.experiment import Arrays
from tutelage.local import LocalSetting, descend, local_students, separated_teachers
from tutelage.local.starts import plane_teachers
from tutelage.local.studies._curves import geometric_steps, powers
from tutelage.settings import Seeds
from tutelage.studies.claims import SHARE, Check, Claim
from tutelage.studies.figures import PALETTE, panel_grid
from tutelage.studies.study import Plan, Scale, study

SEEDS: dict[Scale, int] = {"smoke": 2, "quick": 12, "paper": 48}
STEPS: dict[Scale, int] = {"smoke": 300, "quick": 30_000, "paper": 30_000}
RATE = 0.1
"""Of a single teacher of length 1; three teachers go at the usual rate."""
FLOOR = 1e-22
"""Losses below this are not fitted."""
StartName = Literal[
    "one teacher, one student",
    "one teacher, two students",
    "one teacher, the second student across",
    "three teachers, three students",
    "three teachers, nine students",
]
ONE, PAIR, ACROSS, EQUAL, MORE = NAMES = get_args(StartName)


@study(
    "convergence-rates",
    paper="zhou2021",
    figure="Thm 4",
    shows="No figure: from a small loss gradient descent converges at least like 1 / t with any number of students; "
    "with as many as teachers it would be linear.",
)
def convergence_rates(scale: Scale) -> Plan:
    """Linear convergence with one student per teacher, powers of time with more."""
    claims: list[Claim | Check] = [
        linear,
        third_power,
        second_power,
        at_least_1_over_t,
        under_the_bound,
        falls,
        exponents,
    ]
    experiments = [
        RateOfDescent(start=name, rate=RATE if name in (ONE, PAIR, ACROSS) else None, steps=STEPS[scale],
                      seeds=SEEDS[scale])
        for name in NAMES
    ]  # fmt: skip
    return Plan(experiments, draw, claims, view=courses)


class RateOfDescent(Experiment, kind="rate-of-descent", numerics=1):
    """Losses and gradient norms of descent from one of the starts where rates of convergence are known.

    rate: None for half of the largest stable one.
    """

    start: StartName
    rate: float | None = None
    steps: int
    records: int = 120
    seeds: Seeds

    @property
    def cost(self) -> float:
        return 2e-6 * self.members * self.steps

    def run(self, context: Context) -> Arrays:
        setting = starts(self.seeds)[self.start]
        run = descend(setting, geometric_steps(self.steps, self.records), rate=self.rate, keep=False)
        return {
            "losses": run.losses.numpy().T,
            "gradient_norms": run.gradients.numpy().T,
            "learning_rate": run.rate.numpy(),
            "least_ratio": run.constant.numpy(),
            "recorded_steps": Shared(np.array(run.steps)),
        }


@dataclass(frozen=True, eq=False)
class DescentCourse:
    """Losses and gradient norms [T, S] at steps [T] from one start; rate [S]; kappa [S]: the least |grad L| / L."""

    name: str
    steps: np.ndarray
    losses: np.ndarray
    gradients: np.ndarray
    rate: np.ndarray
    kappa: np.ndarray

    @property
    def late(self) -> np.ndarray:
        """The last tenth of the time, a decade on a logarithmic axis."""
        return self.steps >= self.steps[-1] / 10


def courses(results: Results) -> list[DescentCourse]:
    """Descent from every start."""
    out = []
    for r in results:
        losses, gradients = (np.ascontiguousarray(r[name].T) for name in ("losses", "gradient_norms"))
        course = (r["recorded_steps"], losses, gradients, r["learning_rate"], r["least_ratio"])
        out.append(DescentCourse(r.setting("start"), *course))
    return out


def starts(seeds: Sequence[int]) -> dict[str, LocalSetting]:
    """One teacher e_1 with one student, two on either side, or one on it and one across; three teachers at random."""
    chance = uniforms(keys(seeds, "local rates"), 4).unbind(1)
    a, b = (0.3 + 0.4 * c for c in chance[:2])
    single = (0.8 + 0.4 * chance[2]).sqrt()
    share = 0.3 + 0.4 * chance[3]
    teacher, axis = plane_teachers([0.0]), torch.zeros_like(a)
    pair = torch.cat([_turned(a, share.sqrt()), _turned(-b, (1 - share).sqrt())], 1)
    across = torch.cat([_turned(axis, single), _across(0.1 + 0.3 * chance[0])], 1)
    three = separated_teachers(3, 4, seeds)
    return {
        ONE: LocalSetting(teacher, _turned(a, single)),
        PAIR: LocalSetting(teacher, pair),
        ACROSS: LocalSetting(teacher, across),
        EQUAL: LocalSetting(three, local_students(three, 3, seeds)),
        MORE: LocalSetting(three, local_students(three, 9, seeds)),
    }


def _turned(angle: Tensor, length: Tensor) -> Tensor:
    return (length[:, None] * torch.stack([angle.cos(), angle.sin()], 1)).unsqueeze(1)


def _across(length: Tensor) -> Tensor:
    """Exactly at right angles to the teacher, where symmetry keeps it."""
    return torch.stack([torch.zeros_like(length), length], 1).unsqueeze(1)


def draw(courses: Sequence[DescentCourse]) -> Figure:
    """Loss against steps of every seed; dashes: the power, or 1 / t."""
    titles = [c.name.replace(", ", ",\n") for c in courses]
    figure, axes = panel_grid([""], titles, "steps", "loss", size=(1.75, 2.4))
    for panel, course in zip(axes[0], courses, strict=True):
        t = course.steps[1:]
        shown = np.where(course.losses[1:] > FLOOR, course.losses[1:], np.nan)
        panel.loglog(t, shown, color=PALETTE[0], alpha=0.35, linewidth=0.7)
        power = {PAIR: 3, ACROSS: 2, MORE: 1}.get(course.name)
        if power is not None:
            end = t[course.late[1:]]
            line = 4 * np.median(course.losses[course.late][0]) * (end[0] / end) ** float(power)
            panel.loglog(end, line, "--", color=PALETTE[3], label=f"$t^{{-{power}}}$")
            panel.legend(loc="lower left")
        panel.set_ylim(FLOOR, 10)
    return figure


def _named(
    courses: Sequence[DescentCourse], names: Sequence[str], value: Callable[[DescentCourse], np.ndarray]
) -> dict[str, np.ndarray]:
    return {c.name: value(c) for c in courses if c.name in names}


def _straight(course: DescentCourse) -> np.ndarray:
    """Squared correlation of log L with the step, from a tenth of the steps above the floor on: [S]."""
    out = np.full(course.losses.shape[1], np.nan)
    for s, losses in enumerate(course.losses.T):  # each seed reaches the floor at a step of its own
        above = np.flatnonzero(losses > FLOOR)
        last = course.steps[above[-1]]
        chosen = above[course.steps[above] >= last / 10]
        if len(chosen) > 3:
            out[s] = np.corrcoef(course.steps[chosen], np.log(losses[chosen]))[0, 1] ** 2
    return out


linear = Claim(
    "with as many students as teachers convergence is linear",
    statistic="squared correlation of log L with the number of steps, from a tenth of the steps until 1e-22 on",
    expected="> 0.99",
    values=lambda courses: _named(courses, [ONE, EQUAL], _straight),
    reason="a straight line up to one hundredth of the variance",
    possible=SHARE,
    standing="own",
)


def _power(course: DescentCourse) -> np.ndarray:
    return powers(course.steps[course.late], course.losses[course.late])


third_power = Claim(
    "two students on either side of a teacher bring the loss down like t^-3 (not in the paper)",
    statistic="distance from -3 of the slope of log L against log t over the last decade",
    expected="< 0.1",
    values=lambda courses: _named(courses, [PAIR], lambda c: np.abs(_power(c) + 3)),
    reason="a tenth of the power, less than the distance to the next one",
    possible=(0.0, np.inf),
    standing="own",
)

second_power = Claim(
    "a second student across to the teacher shrinks, and the loss falls like t^-2 (not in the paper)",
    statistic="distance from -2 of the slope of log L against log t over the last decade",
    expected="< 0.1",
    values=lambda courses: _named(courses, [ACROSS], lambda c: np.abs(_power(c) + 2)),
    reason="a tenth of the power, less than the distance to the next one",
    possible=(0.0, np.inf),
    standing="own",
)

at_least_1_over_t = Claim(
    "with more students than teachers the loss falls at least like 1 / t (Theorem 4)",
    statistic="slope of log L against log t over the last decade",
    expected="< -1",
    values=lambda courses: _named(courses, [PAIR, ACROSS, MORE], _power),
    reason="the exponent of the theorem",
    about="every",
    place="Thm 4",
)


def _bound(course: DescentCourse) -> np.ndarray:
    """Whether the greatest L_t t eta kappa^2 / 4 on the way is at most 1: [S]."""
    return ((course.losses * course.steps[:, None]).max(0) * course.rate * course.kappa**2 / 4 <= 1).astype(float)


under_the_bound = Check(
    "on every path L_t <= 4 / (t eta kappa^2), kappa the least |grad L| / L of that path, as it has to be",
    statistic="one where L_t t eta kappa^2 / 4 is at most 1 at every recorded step, else zero",
    expected=">= 1",
    values=lambda courses: {c.name: _bound(c) for c in courses},
    reason="the bound follows from that least ratio: it tests our descent and not the theorem",
    standing="own",
)


def _rises(course: DescentCourse) -> np.ndarray:
    """Share of recorded stretches over which a loss above the floor rises: [S]."""
    return ((np.diff(course.losses, axis=0) > 0) & (course.losses[1:] > FLOOR)).mean(0)


falls = Claim(
    "the loss falls all the way",
    statistic="share of the stretches between recorded steps over which the loss rises",
    expected="<= 0",
    values=lambda courses: {c.name: _rises(c) for c in courses},
    reason="the sentence allows no rise",
    about="every",
    possible=SHARE,
    kind="share",
)


def _exponents(courses: Sequence[DescentCourse]) -> dict[str, np.ndarray]:
    """Distance of d log |grad L| / d log L from 1/2, 2/3, 3/4: [S] each."""
    wanted = {ONE: 1 / 2, PAIR: 2 / 3, ACROSS: 3 / 4}
    out = {}
    for c in (c for c in courses if c.name in wanted):
        above = (c.losses > FLOOR).all(1)
        late = above & (c.steps >= c.steps[above][-1] / 10)
        out[c.name] = np.abs(powers(c.losses[late], c.gradients[late]) - wanted[c.name])
    return out


exponents = Claim(
    "the gradient is of the order L^(1/2) with m = r, L^(2/3) for the pair and L^(3/4) with one across (not in the "
    "paper)",
    statistic="distance from that power of the slope of log |grad L| against log L, over the last decade of steps",
    expected="< 0.02",
    values=_exponents,
    reason="smaller than the distances between 1/2, 2/3 and 3/4",
    possible=(0.0, np.inf),
    standing="own",
)
