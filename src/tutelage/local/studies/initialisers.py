"""Starts of small loss from random directions, in all of space or in a learned subspace (Zhou et al. 2021, Theorem
5).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from tutelage.lab import Context, Experiment, Results
from tutelage.lab.experiment import Arrays
from tutelage.local import LocalSetting, descend, loss, random_start, separated_teachers, subspace_start
from tutelage.local.initialise import random_directions
from tutelage.local.studies._curves import powers
from tutelage.population.kernels import pairs
from tutelage.settings import Seeds
from tutelage.studies.claims import SHARE, Claim, Measured
from tutelage.studies.figures import PALETTE
from tutelage.studies.study import Plan, Scale, study

TEACHERS, HIGH = 3, 20
DIMENSIONS = (2, 3, 5)
WIDTHS: dict[Scale, tuple[int, ...]] = {"smoke": (5, 20), "quick": (5, 20, 80), "paper": (5, 20, 80, 320)}
SAMPLES: dict[Scale, tuple[int, ...]] = {
    "smoke": (500, 2_000),
    "quick": (2_000, 20_000, 200_000),
    "paper": (2_000, 20_000, 200_000),
}
IN_SUBSPACE = 80
"""Students of Algorithm 2."""
SEEDS: dict[Scale, int] = {"smoke": 2, "quick": 16, "paper": 48}
STEPS: dict[Scale, int] = {"smoke": 100, "quick": 6_000, "paper": 6_000}
ARRIVED = 1e-4


@study(
    "initialisers",
    paper="zhou2021",
    figure="Thm 5",
    shows="No figure: random directions with the best lengths have a small loss once there are enough of them, in a "
    "learned subspace enough for r instead of d dimensions; descent from there converges.",
)
def initialisers(scale: Scale) -> Plan:
    """Starts of small loss from random directions, in all of space or in a learned subspace."""
    claims = [falls_with_width, covered, subspace_helps, falls_with_samples, arrives, all_live_arrive]
    common = {"steps": STEPS[scale], "seeds": SEEDS[scale]}
    experiments = [
        InitialisedDescent(dimension=d, students=m, **common) for d in (*DIMENSIONS, HIGH) for m in WIDTHS[scale]
    ]
    experiments += [
        InitialisedDescent(dimension=HIGH, students=IN_SUBSPACE, samples=number, **common) for number in SAMPLES[scale]
    ]
    return Plan(experiments, draw, claims, view=initialised_starts)


class InitialisedDescent(Experiment, kind="initialised-descent", numerics=2):
    """Descent from random directions with the best lengths, in all of space or in a learned subspace.

    samples: those from which Algorithm 2 learns the subspace; 0: Algorithm 1, in all of space, with exact moments.
    """

    dimension: int
    students: int
    samples: int = 0
    steps: int
    teachers: int = TEACHERS
    seeds: Seeds

    @property
    def cost(self) -> float:
        return self.members * (2e-6 * self.steps * self.dimension + 3e-6 * self.samples)

    def run(self, context: Context) -> Arrays:
        teachers = separated_teachers(self.teachers, self.dimension, self.seeds)
        if not self.samples:
            students = random_start(teachers, self.students, self.seeds)
            bound = covering_bound(teachers, random_directions(self.students, self.dimension, self.seeds))
            return _followed(teachers, students, self.steps) | {"bound": bound, "zero_loss": _zero_loss(teachers)}
        each = []
        for place, seed in enumerate(self.seeds):  # one after the other: the samples of all would be many
            each.append(subspace_start(teachers[place : place + 1], self.students, [seed], self.samples))
            context.progress((place + 1) / self.members)
        undefined = np.full(self.members, np.nan)
        return _followed(teachers, torch.cat(each), self.steps) | {"bound": undefined, "zero_loss": undefined}


@dataclass(frozen=True, eq=False)
class InitialisedStart:
    """A start: its loss, that after descent, the bound of Lemma E.1 (NaN for Algorithm 2), how many students least
    squares left with a length, and the loss without students (NaN for Algorithm 2): [S] each.

    samples: those of Algorithm 2, 0 for Algorithm 1, which is exact here.
    """

    dimension: int
    m: int
    samples: int
    loss: np.ndarray
    end: np.ndarray
    bound: np.ndarray
    live: np.ndarray
    zero: np.ndarray

    @property
    def label(self) -> str:
        tail = f", {self.samples} samples" if self.samples else ""
        return f"d = {self.dimension}, m = {self.m}{tail}"


def initialised_starts(results: Results) -> list[InitialisedStart]:
    """Starts of both algorithms."""
    arrays = ("loss", "end_loss", "bound", "live", "zero_loss")
    settings = ("dimension", "students", "samples")
    return [InitialisedStart(*map(r.setting, settings), *(r[name] for name in arrays)) for r in results]


def covering_bound(teachers: Tensor, directions: Tensor) -> np.ndarray:
    """(sum |w*_i| 2 sin(gamma / 2))^2 / 2, gamma the greatest angle from a teacher to its nearest direction: [S]."""
    angle = pairs(directions, teachers).angle
    gamma = torch.minimum(angle, torch.pi - angle).amin(1).amax(1)
    return ((teachers.norm(dim=2).sum(1) * 2 * (gamma / 2).sin()) ** 2 / 2).numpy()


def _zero_loss(teachers: Tensor) -> np.ndarray:
    """The loss without students, from students of no length to speak of: [S]."""
    return loss(LocalSetting(teachers, 1e-100 * teachers)).numpy()


def _followed(teachers: Tensor, students: Tensor, steps: int) -> dict[str, np.ndarray]:
    """Descend from a start, without the students that least squares set to zero, which never move."""
    order = students.norm(dim=2).argsort(1, descending=True)
    live = (students.norm(dim=2) > 0).sum(1)
    most = max(int(live.max()), teachers.shape[1])
    kept = students.gather(1, order[:, :most].unsqueeze(2).expand(-1, -1, students.shape[2]))
    setting = LocalSetting(teachers, kept)
    end = descend(setting, [0, steps], keep=False).losses[1]
    return {"loss": loss(setting).numpy(), "end_loss": end.numpy(), "live": live.numpy()}


def draw(starts: Sequence[InitialisedStart]) -> Figure:
    """Median loss of starts with quartiles: Algorithm 1 against the width, Algorithm 2 against the samples."""
    figure = Figure(figsize=(7.4, 2.9), layout="constrained")
    first, second = figure.subplots(1, 2, sharey=True)
    for d, colour in zip((*DIMENSIONS, HIGH), PALETTE, strict=False):
        of = [start for start in starts if start.dimension == d and not start.samples]
        _quartiles(first, [start.m for start in of], of, colour, f"d = {d}")
    sampled = [start for start in starts if start.samples]
    _quartiles(second, [start.samples for start in sampled], sampled, PALETTE[4], f"Algorithm 2, m = {IN_SUBSPACE}")
    widest = max(
        (start for start in starts if start.dimension == HIGH and not start.samples), key=lambda start: start.m
    )
    second.axhline(
        float(np.median(widest.loss)),
        color=PALETTE[3],
        linestyle="--",
        linewidth=1,
        label=f"Algorithm 1, m = {widest.m}",
    )
    first.set(xlabel="students $m$", ylabel="loss of the start", title="Algorithm 1: directions in all of space")
    second.set(xlabel="samples", title=f"Algorithm 2: a learned subspace, d = {HIGH}")
    widths = sorted({start.m for start in starts if not start.samples})
    first.set_xticks(widths, [str(m) for m in widths])
    first.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
    first.legend(loc="lower left", fontsize=7)
    second.legend(loc="lower left", fontsize=7)
    return figure


def _quartiles(panel, x: Sequence[int], of: Sequence[InitialisedStart], colour: str, label: str) -> None:
    low, middle, high = np.stack([np.quantile(start.loss, (0.25, 0.5, 0.75)) for start in of], axis=1)
    panel.loglog(x, middle, "o-", color=colour, markersize=3, label=label)
    panel.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)


def _falling(starts: Sequence[InitialisedStart]) -> dict[str, np.ndarray]:
    """Exponent of the loss in m, times d / 2: [S] per dimension."""
    out = {}
    for d in DIMENSIONS:
        of = [start for start in starts if start.dimension == d and not start.samples]
        losses = np.maximum(np.stack([start.loss for start in of]), 1e-30)
        out[f"d = {d}"] = powers(np.array([start.m for start in of]), losses) * d / 2
    return out


falls_with_width = Claim(
    "enough random directions are of the order eps^(-d/2), so the loss falls at least like m^(-2/d)",
    statistic="slope of the log of the start's loss against log m, times d / 2, each seed",
    expected="< -1",
    values=_falling,
    reason="the exponent of the statement",
    place="Thm 5",
)

covered = Claim(
    "the loss is at most (sum |w*| 2 sin(gamma / 2))^2 / 2, gamma the angle that covers every teacher (Lemma E.1)",
    statistic="loss of the start over that bound",
    expected="<= 1",
    values=lambda starts: {
        start.label: Measured(start.loss / start.bound, baseline=start.zero / start.bound)
        for start in starts
        if not start.samples
    },
    reason="the bound of the lemma itself; where no student at all meets it too, it says nothing",
    about="every",
    possible=(0.0, np.inf),
    place="Lemma E.1",
)


def _advantage(starts: Sequence[InitialisedStart]) -> dict[str, np.ndarray]:
    best = max((start for start in starts if start.samples), key=lambda start: start.samples)
    plain = max((start for start in starts if start.dimension == HIGH and not start.samples), key=lambda start: start.m)
    return {f"d = {HIGH}": np.log10(plain.loss / best.loss)}


subspace_helps = Claim(
    "in many dimensions a learned subspace needs far fewer students",
    statistic="log10 of the loss of Algorithm 1 with the most students over that of Algorithm 2 with 80 and the most "
    "samples, each seed",
    expected="> 1",
    values=_advantage,
    reason="'far fewer' is read as a tenth of the loss",
    place="Thm 5",
)


def _by_samples(starts: Sequence[InitialisedStart]) -> dict[str, np.ndarray]:
    of = [start for start in starts if start.samples]
    return {f"d = {HIGH}": powers(np.array([start.samples for start in of]), np.stack([start.loss for start in of]))}


falls_with_samples = Claim(
    "samples of the order eps^-2 are enough for the subspace, so the loss falls at least like N^(-1/2)",
    statistic="slope of the log of the start's loss against log N, each seed",
    expected="< -0.5",
    values=_by_samples,
    reason="the exponent of the statement",
    place="Thm 5",
)


def _arrived(starts: Sequence[InitialisedStart]) -> dict[str, np.ndarray]:
    widest = max(start.m for start in starts if start.dimension == DIMENSIONS[0])
    plain = [start for start in starts if start.dimension in DIMENSIONS and start.m == widest]
    best = max((start for start in starts if start.samples), key=lambda start: start.samples)
    return {start.label: (start.end <= ARRIVED).astype(float) for start in (*plain, best)}


arrives = Claim(
    "gradient descent from such a start converges (Theorem 5)",
    statistic="one where the loss is at most 1e-4 after the steps, with the most students or samples, else zero",
    expected="> 0.9",
    values=_arrived,
    reason="nine of ten",
    possible=SHARE,
    kind="outcome",
    place="Thm 5",
    failure="not found",
)


def _as_live(starts: Sequence[InitialisedStart]) -> dict[str, np.ndarray]:
    fewest = min(start.m for start in starts)
    of = [start for start in starts if start.m == fewest and not start.samples]
    return {start.label: ((start.end <= ARRIVED) == (start.live >= TEACHERS)).astype(float) for start in of}


all_live_arrive = Claim(
    "descent arrives where least squares leaves at least as many students with a length as there are teachers, and "
    "nowhere else (added after failures with five directions were seen)",
    statistic="one where the two agree, with the fewest directions, else zero",
    expected="> 0.9",
    values=_as_live,
    reason="nine of ten",
    possible=SHARE,
    kind="outcome",
    standing="own",
)
