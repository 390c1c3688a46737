"""How the least angle of two teachers enters: lambda_min, the constant, the number of steps (Zhou et al. 2021)."""

import math
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from matplotlib.figure import Figure

from tutelage.lab import Context, Experiment, Results
from tutelage.lab.experiment import Arrays
from tutelage.local import LocalSetting, descend
from tutelage.local.bounds import KAPPA
from tutelage.local.residuals import least_eigenvalue
from tutelage.local.starts import local_students, plane_teachers
from tutelage.local.studies._curves import geometric_steps
from tutelage.settings import Seeds
from tutelage.studies.claims import SHARE, Check, Claim, Measured
from tutelage.studies.figures import PALETTE
from tutelage.studies.study import Plan, Scale, study

SEPARATIONS = (0.8, 0.4, 0.2, 0.1, 0.05)
"""Delta, in radians: the angle between neighbouring teachers."""
TEACHERS = (2, 3, 4)
STUDENTS_EACH = 2
SPREAD = 0.2
"""Of Delta: how far students start from their teacher, so that all starts are alike but for the scale of angles."""
SEEDS: dict[Scale, int] = {"smoke": 3, "quick": 16, "paper": 48}
STEPS: dict[Scale, int] = {"smoke": 3_000, "quick": 20_000, "paper": 100_000}
DOWN = 1e-3
"""Of the loss at the start: where a descent counts as arrived."""


@study(
    "separation",
    paper="zhou2021",
    figure="Lemma 10",
    shows="No figure: the least eigenvalue of the matrix of teachers is at least of the order Delta^3 / r^3, and the "
    "proof asks for a loss below a power of Delta; the constant of Theorem 3 does not depend on Delta.",
)
def separation(scale: Scale) -> Plan:
    """What happens as two teachers come near to each other."""
    experiments = [
        SeparatedDescent(teachers=r, separation=delta, steps=STEPS[scale], seeds=SEEDS[scale])
        for r in TEACHERS
        for delta in SEPARATIONS
    ]
    claims: list[Claim | Check] = [closed_form, third_power, above_the_proof, arrives, as_many_steps]
    return Plan(experiments, draw, claims, view=descents)


class SeparatedDescent(Experiment, kind="separated-descent", numerics=1):
    """Descent beside r unit teachers in the plane, neighbours at the angle ``separation``, two students each.

    spread: size of the noise on the students' directions, of the separation; down: share of the start's loss at which
    a descent has arrived.
    """

    teachers: int
    separation: float
    steps: int
    records: int = 400
    spread: float = SPREAD
    down: float = DOWN
    seeds: Seeds

    @property
    def cost(self) -> float:
        return 2e-8 * self.members * self.steps * (self.teachers * (1 + STUDENTS_EACH)) ** 2

    def run(self, context: Context) -> Arrays:
        degrees = [math.degrees(i * self.separation) for i in range(self.teachers)]
        teachers = plane_teachers(degrees)
        spread = self.spread * self.separation
        students = local_students(teachers, STUDENTS_EACH * self.teachers, self.seeds, spread=spread)
        setting = LocalSetting(teachers, students)
        run = descend(setting, geometric_steps(self.steps, self.records), keep=False)
        losses, steps = run.losses.numpy(), np.array(run.steps)
        there = losses <= self.down * losses[0]
        return {
            "least_eigenvalue": least_eigenvalue(setting).numpy().copy(),
            "first_loss": losses[0],
            "least_ratio": (run.constant * (setting.r * setting.longest).sqrt()).numpy(),
            "steps_needed": np.where(there.any(0), steps[there.argmax(0)], np.inf),
        }


@dataclass(frozen=True, eq=False)
class SeparatedCourse:
    """r teachers at the angle Delta: lambda_min, and of every member the loss at the start, the least
    |grad L| sqrt(r w_max) / L on the way and the steps to a thousandth of that loss (infinite: not met): [S] each."""

    teachers: int
    separation: float
    eigenvalue: float
    first: np.ndarray
    ratio: np.ndarray
    steps: np.ndarray

    @property
    def label(self) -> str:
        return f"r = {self.teachers}, Delta = {self.separation:g}"


def descents(results: Results) -> list[SeparatedCourse]:
    """One course per number of teachers and separation."""
    return [
        SeparatedCourse(
            r.setting("teachers"), r.setting("separation"), float(r["least_eigenvalue"][0]), r["first_loss"],
            r["least_ratio"], r["steps_needed"],
        )
        for r in results
    ]  # fmt: skip


def _by_teachers(courses: list[SeparatedCourse]) -> dict[int, list[SeparatedCourse]]:
    return {r: list(several) for r, several in groupby(courses, key=lambda c: c.teachers)}


def draw(courses: list[SeparatedCourse]) -> Figure:
    """lambda_min, the least ratio on the way, and the steps, against Delta; bands hold the middle half of members.

    A median of members that have not arrived is not drawn.
    """
    figure = Figure(figsize=(8.6, 2.8), layout="constrained")
    first, second, third = figure.subplots(1, 3)
    x = np.array(SEPARATIONS)
    first.plot(x, x**3 / (3 * math.pi), ":", color="#888888", label=r"$\Delta^3 / 3\pi$")
    for colour, (r, several) in zip(PALETTE, _by_teachers(courses).items(), strict=False):
        first.plot(x, [c.eigenvalue for c in several], "o-", color=colour, markersize=3, label=f"r = {r}")
        for panel, name in ((second, "ratio"), (third, "steps")):
            values = np.stack([getattr(c, name) for c in several])
            low, middle, high = np.quantile(values, (0.25, 0.5, 0.75), axis=1, method="nearest")
            panel.plot(x, middle, "o-", color=colour, markersize=3)
            panel.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)
    second.axhline(KAPPA, color="#888888", linestyle=":", label="proof of Theorem 3")
    second.legend(fontsize=7)
    first.legend(fontsize=7)
    names = (r"$\lambda_{min}$", r"least $\|\nabla L\| \sqrt{r w_{max}} / L$", "steps to a thousandth of the loss")
    for panel, name in zip((first, second, third), names, strict=True):
        panel.set(xscale="log", yscale="log", xlabel=r"$\Delta$", ylabel=name)
        panel.set_xticks(SEPARATIONS, [f"{delta:g}" for delta in SEPARATIONS])
        panel.minorticks_off()
    return figure


def _two_teachers(courses: list[SeparatedCourse]) -> dict[str, float]:
    """Relative distance of lambda_min of two teachers from its closed form."""
    two = [c for c in courses if c.teachers == 2]
    exact = {c.label: 2 * (c.separation - math.sin(c.separation)) / math.pi for c in two}
    return {c.label: abs(c.eigenvalue / exact[c.label] - 1) for c in two}


closed_form = Check(
    "for two teachers lambda_min is 2 (Delta - sin Delta) / pi (not in the paper)",
    statistic="relative distance of the eigenvalue from that",
    expected="< 1e-8",
    values=_two_teachers,
    reason="the rounding of an eigenvalue, 1e-15, over the smallest one, 1e-5, with room for a hundred times that",
    standing="own",
)


def _power(courses: list[SeparatedCourse]) -> float:
    """Slope of log lambda_min against log Delta from 0.2 on downwards."""
    near = [c for c in courses if c.separation <= 0.2]
    return float(np.polyfit(np.log([c.separation for c in near]), np.log([c.eigenvalue for c in near]), 1)[0])


third_power = Check(
    "the power of Delta in the bound of Lemma 10 is sharp: lambda_min falls like Delta^3",
    statistic="distance from 3 of the slope of log lambda_min against log Delta, for Delta up to 0.2",
    expected="< 0.05",
    values=lambda courses: {f"r = {r}": abs(_power(several) - 3) for r, several in _by_teachers(courses).items()},
    reason="the next power of Delta is two higher: it moves the slope by less than a twentieth there",
)

above_the_proof = Claim(
    "|grad L| >= kappa L on the way of descent, with a constant that does not depend on Delta",
    statistic="least |grad L| sqrt(r w_max) / L over the recorded steps",
    expected=f"> {KAPPA:g}",
    values=lambda courses: {c.label: c.ratio for c in courses},
    reason="the constant of the proof; the losses at these starts lie far above those that the theorem asks for",
    about="every",
    possible=(0.0, np.inf),
    place="Thm 3",
    failure="premise not met",
)

arrives = Claim(
    "descent arrives from starts whose distance from the teachers is in proportion to Delta",
    statistic="one where the loss falls to a thousandth of that at the start, else zero",
    expected="> 0.9",
    values=lambda courses: {c.label: np.isfinite(c.steps).astype(float) for c in courses},
    reason="nine starts in ten",
    possible=SHARE,
    kind="outcome",
    failure="not found",
)


def _more_steps(far: SeparatedCourse, near: SeparatedCourse) -> Measured:
    """Only of members that arrive at both separations."""
    both = np.isfinite(far.steps) & np.isfinite(near.steps)
    ratio = np.where(both, near.steps, 1) / np.where(both, far.steps, 1)
    return Measured(np.where(both, np.log2(ratio), np.nan), premise=both)


as_many_steps = Claim(
    "and hardly needs more steps there: the rate of Theorem 4 does not depend on Delta",
    statistic="log2 of the steps to a thousandth of the loss at this Delta over those at the largest one, seed by seed",
    expected="< 1",
    values=lambda courses: {
        c.label: _more_steps(several[0], c) for several in _by_teachers(courses).values() for c in several[1:]
    },
    reason="twice as many steps is read as hardly more where Delta falls by up to sixteen times",
)
