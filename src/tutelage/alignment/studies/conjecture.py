"""Conjecture 5.5 of Zhu et al. 2021: false as printed, true for relu; bounds and searches test the proof."""

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tutelage import draws
from tutelage.alignment.angular import relu_shape
from tutelage.alignment.conjecture_search import climb, random_search
from tutelage.alignment.relu_theorem import covariance_bounds
from tutelage.alignment.studies._other_kernels import KERNELS, KernelSearch, as_printed, draw_kernels
from tutelage.lab import Context, Experiment, Results
from tutelage.lab.experiment import Arrays
from tutelage.studies.claims import Check
from tutelage.studies.figures import PALETTE
from tutelage.studies.study import Plan, Scale, study

SETS: dict[Scale, int] = {"smoke": 20_000, "quick": 1_000_000, "paper": 10_000_000}
CLIMBS: dict[Scale, tuple[int, int]] = {"smoke": (16, 50), "quick": (64, 400), "paper": (192, 1200)}
"""Starts, and steps of each."""
STUDENTS: dict[Scale, tuple[int, ...]] = {
    "smoke": (3, 6),
    "quick": (3, 4, 6, 9),
    "paper": (3, 4, 5, 6, 7, 8, 9, 10, 11, 12),
}
DISTANCES = (0.1, 0.02)
BOUNDED: dict[Scale, int] = {"smoke": 2_000, "quick": 50_000, "paper": 500_000}
"""Random sets for the bounds of the theorem."""
KERNEL_SETS: dict[Scale, int] = {"smoke": 2_000, "quick": 20_000, "paper": 200_000}
"""Random sets of three students for each of several AD functions."""


@study(
    "conjecture-5-5",
    paper="zhu2021",
    figure="Conj. 5.5",
    shows="No figure: the paper conjectures that for three students or more some det M_i is not positive, and shows "
    "grids and random sets.",
)
def conjecture(scale: Scale) -> Plan:
    """Conjecture 5.5 is false for general functions and true for relu."""
    bounds = [TheoremBounds(students=m, sets=BOUNDED[scale]) for m in STUDENTS[scale]]
    searches = [RandomSearch(students=m, sets=SETS[scale]) for m in STUDENTS[scale]]
    starts, steps = CLIMBS[scale]
    climbs = [
        Climb(students=m, distance=distance, starts=starts, steps=steps)
        for m in STUDENTS[scale]
        for distance in DISTANCES
    ]
    kernels = [KernelSearch(kernel=name, students=3, sets=KERNEL_SETS[scale]) for name in KERNELS]
    claims = [as_printed, bounds_below_zero, none_at_random, none_uphill]
    return Plan([*bounds, *searches, *climbs, *kernels], draw, claims, view=arranged)


class TheoremBounds(Experiment, kind="theorem-bounds", numerics=1):
    """The theorem's bounds of the covariance with the teacher given its neighbours, on random angle sets."""

    students: int
    sets: int
    seed: int = 1

    @property
    def cost(self) -> float:
        return 2e-6 * self.sets * self.students

    def run(self, context: Context) -> Arrays:
        key = draws.keys([self.seed], f"angle sets of {self.students}")
        angles = 2 * np.pi * draws.uniforms(key, self.sets * self.students)[0].numpy().reshape(self.sets, -1)
        above = [(covariance_bounds(some) >= 0).any(1).sum() for some in np.array_split(angles, self.sets // 1000)]
        return {"not_negative": np.array([sum(above)])}


class RandomSearch(Experiment, kind="random-search", numerics=1):
    """Angle sets uniform on the circle, each settled by proof: how many have all det M_i positive."""

    students: int
    sets: int
    seed: int = 0

    @property
    def cost(self) -> float:
        return 1e-6 * self.sets

    def run(self, context: Context) -> Arrays:
        searched = random_search(self.students, self.sets, self.seed, context.threads, context.progress)
        counts = {"reopened": searched.reopened, "unsettled": searched.unsettled, "positive": len(searched.positive)}
        return {name: np.array([count]) for name, count in counts.items()}


class Climb(Experiment, kind="determinant-climb", numerics=1):
    """The highest min_i det M_i / det M that climbing reaches among angles at least ``distance`` apart."""

    students: int
    distance: float
    starts: int
    steps: int
    seed: int = 0

    @property
    def cost(self) -> float:
        return 1e-4 * self.starts * self.steps * self.students

    def run(self, context: Context) -> Arrays:
        climbed = climb(self.students, self.starts, self.steps, self.distance, self.seed)
        return {
            "highest": np.array([climbed.value]),
            "error": np.array([climbed.error]),
            "proved_negative": np.array([climbed.proved_negative]),
            "best_angles": climbed.angles[None],
        }


@dataclass(frozen=True, eq=False)
class ConjectureResults:
    """Bounds and searches by number of students, climbs also by distance; other kernels."""

    bounds: dict[int, int]
    searches: dict[int, dict[str, int]]
    climbs: dict[tuple[int, float], dict[str, float]]
    kernels: dict[str, dict[str, int]]


def arranged(results: Results) -> ConjectureResults:
    """What each experiment says, under its settings."""
    bounds = {r.setting("students"): int(r["not_negative"][0]) for r in results.of(TheoremBounds)}
    searches = {
        r.setting("students"): {"sets": r.setting("sets")} | {n: int(r[n][0]) for n in _SEARCHED}
        for r in results.of(RandomSearch)
    }
    climbs = {
        (r.setting("students"), r.setting("distance")): {n: float(r[n][0]) for n in ("highest", "error")}
        for r in results.of(Climb)
    }
    kernels = {
        r.setting("kernel"): {"sets": r.setting("sets")} | {n: int(r[n][0]) for n in ("positive", "negative")}
        for r in results.of(KernelSearch)
    }
    return ConjectureResults(bounds, searches, climbs, kernels)


_SEARCHED = ("reopened", "unsettled", "positive")


def draw(e: ConjectureResults) -> Figure:
    """What the theorem says; the highest least ratio that climbing reaches; other AD functions."""
    figure = Figure(figsize=(12.4, 3.1), layout="constrained")
    left, right, others = figure.subplots(1, 3)
    _draw_theorem(left)
    draw_kernels(others, e.kernels)
    for colour, distance in zip(PALETTE[2:], DISTANCES, strict=False):
        heights = [(m, -values["highest"]) for (m, d), values in e.climbs.items() if d == distance]
        right.plot(*zip(*heights, strict=True), "o-", color=colour, markersize=3, label=f"angles {distance:g} apart")
    students = sorted({m for m, _ in e.climbs})
    right.set(yscale="log", xlabel="students m", xticks=students, title="climbs: highest least det $M_i$ / det $M$")
    right.set_ylabel("minus the highest value found")
    right.legend()
    return figure


def _draw_theorem(axes: Axes) -> None:
    """Correlation of the teacher with a student at x, given neighbours at g and -h: negative, by the theorem."""
    gaps = np.array([(0.3, 0.3), (0.3, 1.2), (0.8, 0.8), (1.5, 1.5)])

    def f(t: np.ndarray) -> np.ndarray:
        return relu_shape(np.minimum(t, 2 * np.pi - t))

    for colour, (g, h) in zip(PALETTE, gaps, strict=False):
        x = np.linspace(g, 2 * np.pi - h, 402)[1:-1]
        near, far = np.array([f(g), f(h)]), np.stack([f(x - g), f(x + h)])
        within = np.linalg.inv(np.array([[np.pi, f(g + h)], [f(g + h), np.pi]]))
        both = f(x) - near @ within @ far
        spread = np.sqrt((np.pi - near @ within @ near) * (np.pi - np.einsum("ij,ik,kj->j", far, within, far)))
        axes.plot(x / np.pi, both / spread, color=colour, label=f"g = {g:g}, h = {h:g}")
    axes.axhline(0, color="0.5", linewidth=0.8)
    axes.set(xlabel=r"angle of the student / $\pi$", ylabel="partial correlation")
    axes.set_title("correlation with the teacher,\ngiven its two neighbours")
    axes.legend(fontsize=6)


bounds_below_zero = Check(
    "for relu the covariance of the teacher with any student beyond its two neighbours, given these, is negative",
    statistic="random angle sets with a bound of it that is not negative, one value per number of students",
    expected="<= 0",
    values=lambda e: {"all m": np.array(list(e.bounds.values()), float)},
    reason="a theorem has no exceptions; the conjecture for relu follows from it",
    standing="own",
)

none_at_random = Check(
    "for relu no random angle set has all det M_i positive",
    statistic="sets with all determinants proved positive or left unsettled, one value per number of students",
    expected="<= 0",
    values=lambda e: {"all m": np.array([v["positive"] + v["unsettled"] for v in e.searches.values()], float)},
    reason="a conjecture has no exceptions",
    place="Conj. 5.5",
)

none_uphill = Check(
    "nor does one that was climbed to",
    statistic="highest least ratio det M_i / det M over its numerical error, one value per number of students",
    expected="< -1",
    values=lambda e: {
        f"angles {distance:g} apart": np.array(
            [values["highest"] / values["error"] for (_, d), values in e.climbs.items() if d == distance]
        )
        for distance in DISTANCES
    },
    reason="below zero by more than the numerical error",
    standing="own",
)
