"""The constant of Theorem 3 does not depend on the number of students, also where searched for (Zhou et al. 2021)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tutelage.draws import keys, uniforms
from tutelage.errors import TutelageError
from tutelage.lab import Context, Experiment, Results
from tutelage.lab.experiment import Arrays
from tutelage.local import LocalSetting, descend, flattest, separated_teachers
from tutelage.local.bounds import KAPPA
from tutelage.local.starts import plane_teachers
from tutelage.local.studies._curves import PLANE, attached_students, geometric_steps, powers, steps_to
from tutelage.settings import Seeds
from tutelage.studies.claims import SHARE, Claim
from tutelage.studies.figures import PALETTE
from tutelage.studies.study import Plan, Scale, fresh_seeds, study

WIDTHS: dict[Scale, tuple[int, ...]] = {
    "smoke": (3, 6, 12),
    "quick": (3, 6, 12, 30, 90),
    "paper": (3, 6, 12, 30, 90, 300),
}
SEEDS: dict[Scale, int] = {"smoke": 2, "quick": 8, "paper": 32}
STEPS: dict[Scale, int] = {"smoke": 400, "quick": 8_000, "paper": 8_000}
SEARCHED: dict[Scale, tuple[int, ...]] = {"smoke": (3, 6, 9), "quick": (3, 6, 12), "paper": (3, 6, 12, 24)}
STARTS: dict[Scale, int] = {"smoke": 3, "quick": 32, "paper": 64}
ITERATIONS: dict[Scale, int] = {"smoke": 2, "quick": 150, "paper": 400}
LEVELS = (0.1, 0.01, 0.001)
Place = Literal["plane", "space"]
PLACES: tuple[Place, ...] = get_args(Place)
SPREAD = 0.5
"""Radians around a teacher in which its students start."""


@study(
    "width-independence",
    paper="zhou2021",
    figure="Thm 3",
    shows="No figure: where the loss is small, |grad L| >= kappa L with kappa of the order 1 / sqrt(r w_max), whatever "
    "the number of students.",
)
def width_independence(scale: Scale) -> Plan:
    """The constant of Theorem 3 does not depend on the number of students."""
    claims = [above_the_proof, flat, steps_to_1e4, steps_to_1e6, falls, worst_found, worst_flat]
    experiments: list[Experiment] = [
        WidthDescent(students=m, steps=STEPS[scale], seeds=fresh_seeds(scale, SEEDS[scale])) for m in WIDTHS[scale]
    ]
    experiments += [
        FlattestSearch(
            place=place, students=m, level=level, iterations=ITERATIONS[scale], seeds=fresh_seeds(scale, STARTS[scale])
        )
        for place in PLACES
        for m in SEARCHED[scale]
        for level in LEVELS
    ]
    return Plan(experiments, draw, claims, view=widths_and_searches)


class WidthDescent(Experiment, kind="width-descent", numerics=1):
    """Descent of m students of equal masses, evenly spread beside unit teachers at 20, 80 and 140 degrees.

    spread: radians around a teacher in which its students start.
    """

    students: int
    steps: int
    records: int = 400
    spread: float = SPREAD
    seeds: Seeds

    @property
    def cost(self) -> float:
        return 2e-8 * self.members * self.steps * (len(PLANE) + self.students) ** 2

    def run(self, context: Context) -> Arrays:
        setting = LocalSetting(plane_teachers(PLANE), beside(self.students, self.seeds, self.spread))
        run = descend(setting, geometric_steps(self.steps, self.records), keep=False)
        losses, steps = run.losses.numpy(), np.array(run.steps)
        return {
            "least_ratio": (run.constant * (setting.r * setting.longest).sqrt()).numpy(),
            "steps_to_4": steps_to(1e-4, steps, losses),
            "steps_to_6": steps_to(1e-6, steps, losses),
            "rises": (np.diff(losses, axis=0) > 0).mean(0),
        }


class FlattestSearch(Experiment, kind="flattest-search", numerics=2):
    """Least |grad L| sqrt(r w_max) / L that a search finds among students of a given loss.

    place: teachers and students in the plane as in the descent, or random teachers in four dimensions with students
    near them.
    """

    place: Place
    students: int
    level: float
    iterations: int
    seeds: Seeds

    @property
    def cost(self) -> float:
        return 6e-4 * self.members * self.iterations

    def run(self, context: Context) -> Arrays:
        search = flattest(self._start(), self.level, self.iterations)
        return {"first_ratio": search.start.numpy(), "least_ratio": search.ratio.numpy()}

    def _start(self) -> LocalSetting:
        if self.place == "plane":
            return LocalSetting(plane_teachers(PLANE), beside(self.students, self.seeds))
        teachers = separated_teachers(len(PLANE), 4, self.seeds)
        return LocalSetting(teachers, attached_students(teachers, self.students, self.seeds))


@dataclass(frozen=True, eq=False)
class WidthCourse:
    """m students: least |grad L| sqrt(r w_max) / L on the way, steps to 1e-4 and to 1e-6 (NaN: not met), share of
    stretches over which the loss rises: [S] each."""

    m: int
    constant: np.ndarray
    to_4: np.ndarray
    to_6: np.ndarray
    rises: np.ndarray


@dataclass(frozen=True, eq=False)
class FlatPlaces:
    """m students in the plane or in space at a loss: |grad L| sqrt(r w_max) / L at the starts of the search, and where
    it ended: [S] each."""

    place: str
    m: int
    level: float
    start: np.ndarray
    found: np.ndarray

    @property
    def label(self) -> str:
        return f"{self.place}, m = {self.m}, L = {self.level:g}"


@dataclass(frozen=True, eq=False)
class WidthResult:
    """Descent at every width, and what searches found."""

    widths: list[WidthCourse]
    searched: list[FlatPlaces]


def widths_and_searches(results: Results) -> WidthResult:
    """Descent at every width, and what searches found."""
    descent, search = ("least_ratio", "steps_to_4", "steps_to_6", "rises"), ("first_ratio", "least_ratio")
    return WidthResult(
        [WidthCourse(r.setting("students"), *(r[name] for name in descent)) for r in results.of(WidthDescent)],
        [
            FlatPlaces(*map(r.setting, ("place", "students", "level")), *(r[name] for name in search))
            for r in results.of(FlattestSearch)
        ],
    )


def beside(m: int, seeds: Sequence[int], spread: float = SPREAD) -> torch.Tensor:
    """m / 3 students of each teacher, uniform within ``spread`` of it, with equal masses: [S, m, 2]."""
    if m % len(PLANE):
        raise TutelageError(f"students must be a multiple of {len(PLANE)}, the number of teachers, got {m}")
    off = (2 * uniforms(keys(seeds, f"local width {m}"), m) - 1) * spread
    angle = torch.tensor(PLANE, dtype=torch.float64).deg2rad().repeat(m // len(PLANE)) + off
    return math.sqrt(len(PLANE) / m) * torch.stack([angle.cos(), angle.sin()], 2)


def draw(result: WidthResult) -> Figure:
    """The constant on the way, steps to a loss, and the least constant a search found at a loss, against the width."""
    figure = Figure(figsize=(9.6, 2.8), layout="constrained")
    way, count, plane, space = figure.subplots(1, 4)
    for w in result.widths:
        way.loglog(np.full_like(w.constant, w.m), w.constant, "o", color=PALETTE[0], markersize=3, alpha=0.6)
        for values, colour, name in ((w.to_4, PALETTE[2], "$10^{-4}$"), (w.to_6, PALETTE[3], "$10^{-6}$")):
            label = f"$L \\leq$ {name}" if w is result.widths[0] else None
            count.loglog(np.full_like(values, w.m), values, "o", color=colour, markersize=3, alpha=0.6, label=label)
    for panel, place in ((plane, "plane"), (space, "space")):
        _searches(panel, [x for x in result.searched if x.place == place])
    for panel in (way, plane, space):
        panel.set_ylim(0.25, 2_000)
        panel.axhline(KAPPA, color="#888888", linestyle="--", linewidth=1)
        panel.text(3, KAPPA * 0.93, "the proof's constant", fontsize=7, color="#555555", va="top")
    way.set(title="on the way of descent", ylabel=r"least $|\nabla L| \sqrt{r w_{max}} / L$")
    count.set(ylabel="steps", title="steps to a loss")
    count.legend(loc="lower right", fontsize=7)
    for panel, of in ((way, result.widths), (count, result.widths), (plane, result.searched), (space, result.searched)):
        ticks = sorted({x.m for x in of})
        panel.set_xlabel("students $m$")
        panel.set_xticks(ticks, [str(m) for m in ticks])
        panel.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
    return figure


def _searches(panel: Axes, searched: Sequence[FlatPlaces]) -> None:
    """The least found by a search (line) and among its starts (dots), by the loss it was at."""
    for level, colour in zip(LEVELS, PALETTE, strict=False):
        of = [x for x in searched if x.level == level]
        m = [x.m for x in of]
        panel.loglog(m, [x.start.min() for x in of], ":", marker=".", color=colour)
        panel.loglog(m, [x.found.min() for x in of], "o-", color=colour, markersize=4, label=f"$L$ = {level:g}")
    panel.set_title(f"searched for, {searched[0].place}")
    panel.legend(loc="upper left", fontsize=6.5, ncols=2)


above_the_proof = Claim(
    "|grad L| >= kappa L on the way of descent, with the constant that the proof of Theorem 3 gives",
    statistic="least |grad L| sqrt(r w_max) / L over the recorded steps",
    expected="> 0.41",
    values=lambda result: {f"m = {w.m}": w.constant for w in result.widths},
    reason="the constant of the proof",
    about="every",
    possible=(0.0, np.inf),
    place="Thm 3",
)


def _slopes(result: WidthResult) -> dict[str, np.ndarray]:
    more = [w for w in result.widths if w.m > len(PLANE)]
    return {"m > r": powers(np.array([w.m for w in more]), np.stack([w.constant for w in more]))}


flat = Claim(
    "and it does not fall with the number of students",
    statistic="slope of the log of that least ratio against log m over the widths above r, each seed",
    expected="> -0.1",
    values=_slopes,
    reason="a fall of less than a fifth per decade of widths",
)


def _growth(result: WidthResult, which: Callable[[WidthCourse], np.ndarray]) -> dict[str, np.ndarray]:
    """Steps of the widest over those of every other width above r: [S] each."""
    *narrower, widest = [w for w in result.widths if w.m > len(PLANE)]
    return {f"m = {widest.m} against {w.m}": which(widest) / which(w) for w in narrower}


steps_to_1e4 = Claim(
    "steps to a loss of 1e-4 do not grow with the width (the theorem's rate does not depend on m)",
    statistic="steps with the greatest width over those with this one, each seed",
    expected="< 1.5",
    values=lambda result: _growth(result, lambda w: w.to_4),
    reason="half as many steps again is read as growth",
    possible=(0.0, np.inf),
)

steps_to_1e6 = Claim(
    "nor do steps to a loss of 1e-6",
    statistic="steps with the greatest width over those with this one, each seed",
    expected="< 1.5",
    values=lambda result: _growth(result, lambda w: w.to_6),
    reason="half as many steps again is read as growth",
    possible=(0.0, np.inf),
)

falls = Claim(
    "the loss falls all the way, at every width",
    statistic="share of the stretches between recorded steps over which the loss rises",
    expected="<= 0",
    values=lambda result: {f"m = {w.m}": w.rises for w in result.widths},
    reason="the sentence allows no rise",
    about="every",
    possible=SHARE,
    kind="share",
)

worst_found = Claim(
    "a search for the least |grad L| / L at a given loss does not get below the constant of the proof",
    statistic="one where what the search found from a start is at least 0.41 / sqrt(r w_max), else zero",
    expected=">= 1",
    values=lambda result: {x.label: (x.found >= KAPPA).astype(float) for x in result.searched},
    reason="the constant of the proof; a start shows 0 or 1",
    about="every",
    possible=SHARE,
    kind="outcome",
    place="Thm 3",
)


def _worst_ratio(result: WidthResult) -> dict[str, np.ndarray]:
    """log10 of what is found with the greatest width over that with the least that has more students than teachers."""
    by = {(x.place, x.m, x.level): np.log10(x.found) for x in result.searched}
    _, narrow, *_, wide = sorted({x.m for x in result.searched})  # the first has as many students as teachers
    each = [(place, level) for place in PLACES for level in LEVELS]
    return {f"{place}, L = {level:g}": by[place, wide, level] - by[place, narrow, level] for place, level in each}


worst_flat = Claim(
    "nor does what it finds fall by a third when the number of students grows fourfold",
    statistic="log10 of the least ratio found with the greatest width searched over that with twice as many students "
    "as teachers, start by start",
    expected="> -0.18",
    values=_worst_ratio,
    reason="a fall by less than a third, of which -0.18 is the logarithm, while the width grows fourfold",
    standing="own",
)
