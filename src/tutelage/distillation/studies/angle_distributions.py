"""Distributions of the angle between inputs and teacher, and points drawn from them (Phuong 2021, Figs. 5.1 and
5.2).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from matplotlib.figure import Figure

from tutelage.distillation import Distillation, LargeMargin, Polynomial, outcome
from tutelage.distillation.learners import unsigned_angle
from tutelage.lab import Context, Experiment, Results, Shared
from tutelage.lab.experiment import Arrays
from tutelage.settings import Seeds
from tutelage.studies.claims import DIRECTION, SIGNED, Check, Claim
from tutelage.studies.figures import PALETTE
from tutelage.studies.study import Plan, Scale, study

Distribution = Polynomial | LargeMargin
DIMENSION, TRANSFER = 20, 5
TASKS: dict[str, Distribution] = {
    "task A": Polynomial(DIMENSION, kappa=3.0),
    "task B": LargeMargin(DIMENSION, limit=math.pi / 3, kappa=3.0),
    "task C": Polynomial(DIMENSION, kappa=0.3),
}
"""Well aligned; well aligned with a margin; close to the boundary."""
BY_DECREASE = ("task C", "task A", "task B")
"""From the slowest decrease of p to the fastest."""
PLANE: dict[str, Distribution] = {
    "large margin": LargeMargin(2),
    "kappa = 1": Polynomial(2, kappa=1.0),
    "kappa = 2": Polynomial(2, kappa=2.0),
}
NEAR = math.radians(81)
"""Angles from here on are within 9 degrees of the boundary."""
SETS: dict[Scale, int] = {"smoke": 4, "quick": 50, "paper": 200}
POINTS: dict[Scale, int] = {"smoke": 100, "quick": 500, "paper": 1_000}


@study(
    "angle-distributions",
    paper="phuong2021",
    figure="5.1, 5.2",
    shows="p(theta) of three tasks: well aligned, well aligned with a margin so that p reaches 0 early, and close to "
    "the boundary; points of the plane with a margin and with angles of the polynomial distributions of degree 1 and "
    "2.",
)
def angle_distributions(scale: Scale) -> Plan:
    """Distributions of the angle between inputs and teacher."""
    claims: list[Claim | Check] = [as_said, decreases, margin, no_margin, thin, easier]
    experiments = [AngleDraws(task=name, points=POINTS[scale], seeds=SETS[scale]) for name in TASKS | PLANE]
    return Plan(experiments, draw, claims, view=angles_of)


class AngleDraws(Experiment, kind="angle-draws", numerics=1):
    """Angles of inputs with the teacher, and the risk of what students learn from five of them."""

    task: str
    points: int
    inputs: int = TRANSFER
    seeds: Seeds

    def run(self, context: Context) -> Arrays:
        task = (TASKS | PLANE)[self.task]
        x = task.points(self.seeds, self.points)
        a = unsigned_angle(x, task.teacher.expand_as(x)).sort(1).values
        out: dict[str, np.ndarray | Shared] = {"angles": a.numpy(), "distance": _kolmogorov(task.p(a)).numpy()}
        if self.task in PLANE:
            return out | {"first_points": Shared(x[0].numpy())}
        return out | {"risk": outcome(Distillation(), task, self.seeds, self.inputs).risk.numpy()}


@dataclass(frozen=True, eq=False)
class Angles:
    """S sets of one task: unsigned angles with the teacher in order [S, N], distance of their distribution from p [S].

    distance: Kolmogorov's, times sqrt(N), whose mean is 0.869 if p is the distribution; risk [S]: of students of 5
    inputs, None in the plane; points [N, 2]: the first set's own, in the plane.
    """

    angles: np.ndarray
    distance: np.ndarray
    p: Callable[[np.ndarray], np.ndarray]
    risk: np.ndarray | None = None
    points: np.ndarray | None = None


AnglesByTask = dict[str, Angles]


def angles_of(results: Results) -> AnglesByTask:
    """Points of every task, with the distribution they were drawn from."""
    out = {}
    for r in results:
        name = r.setting("task")
        risk, points = (r.get(key) for key in ("risk", "first_points"))
        out[name] = Angles(r["angles"], r["distance"], _plain((TASKS | PLANE)[name].p), risk, points)
    return out


def _kolmogorov(p: torch.Tensor) -> torch.Tensor:
    """sqrt(N) times the largest difference between the distribution p and the points' own, from p at the points in
    order.
    """
    count = p.shape[1]
    above = 1 - torch.arange(count, dtype=torch.float64) / count  # share at this point's angle or more
    return torch.maximum((p - above).abs(), (p - above + 1 / count).abs()).amax(1) * count**0.5


def _plain(p: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[np.ndarray], np.ndarray]:
    return lambda theta: p(torch.as_tensor(theta)).numpy()


def draw(e: AnglesByTask) -> Figure:
    """p and what was drawn from it (dots, the first set); then the plane, the teacher's direction upright."""
    figure = Figure(figsize=(10.4, 2.8), layout="constrained")
    axes = figure.subplots(1, 1 + len(PLANE))
    theta = np.linspace(0, math.pi / 2, 201)
    for colour, name in zip(PALETTE, TASKS, strict=False):
        drawn = e[name]
        axes[0].plot(np.degrees(theta), drawn.p(theta), color=colour, label=name)
        few = np.radians(np.arange(5, 90, 10))
        axes[0].plot(np.degrees(few), [(drawn.angles[0] >= t).mean() for t in few], "o", color=colour, markersize=3)
    axes[0].set(xlabel=r"$\theta$ (degrees)", ylabel=r"$p(\theta)$", title="Fig. 5.1", xticks=[0, 30, 60, 90])
    axes[0].legend()
    for panel, name in zip(axes[1:], PLANE, strict=True):
        points = e[name].points
        assert points is not None
        up = points[:, 0] >= 0
        for side, colour in ((up, PALETTE[0]), (~up, PALETTE[3])):
            panel.plot(points[side, 1], points[side, 0], ".", color=colour, markersize=2)
        panel.axhline(0, color="#888888", linewidth=0.8)
        panel.set(title=name, xlim=(-3, 3), ylim=(-3, 3), aspect="equal", xticks=[], yticks=[])
    return figure


as_said = Claim(
    "inputs are drawn with P[angle >= theta] = p(theta)",
    statistic="sqrt(N) times Kolmogorov's distance between the angles drawn and p, whose mean is 0.869 if it is so",
    expected="< 1",
    values=lambda e: {"all distributions, which transform the same draws": e["task A"].distance},
    reason="the mean is 0.869 where p is the distribution, and grows like sqrt(N) where it is not",
    possible=(0.0, np.inf),
    standing="own",
)

decreases = Check(
    "with high alignment p decreases quickly, with low alignment slowly",
    statistic="p(45 degrees) of task C minus that of this task",
    expected="> 0.5",
    values=lambda e: {name: _p(e, "task C", math.pi / 4) - _p(e, name, math.pi / 4) for name in ("task A", "task B")},
    reason="half of the range of a probability",
    place="Fig. 5.2",
)

margin = Check(
    "with a margin p reaches 0 before pi/2",
    statistic="p(60 degrees), where the margin begins",
    expected="<= 0",
    values=lambda e: {name: _p(e, name, math.radians(60.001)) for name in ("task B", "large margin")},
    reason="a margin holds no input",
    standing="own",
)

no_margin = Check(
    "the polynomial distributions have no margin: even for kappa = 2 there are inputs near the boundary",
    statistic="p(81 degrees): probability of an input within 9 degrees of the boundary",
    expected="> 0",
    values=lambda e: {name: _p(e, name, NEAR) for name in ("kappa = 1", "kappa = 2")},
    reason=DIRECTION,
    standing="own",
)

thin = Check(
    "but for kappa = 2 there are few, unlike for kappa = 1",
    statistic="p(81 degrees) for kappa = 2 over that for kappa = 1",
    expected="< 0.2",
    values=lambda e: {"kappa = 2": _p(e, "kappa = 2", NEAR) / _p(e, "kappa = 1", NEAR)},
    reason="'few' is read as a fifth",
    standing="own",
)

easier = Claim(
    "the faster p decreases, the easier the task is to learn",
    statistic="transfer risk on the task whose p decreases more slowly minus that on the other, from "
    f"{TRANSFER} inputs in {DIMENSION} dimensions",
    expected="> 0",
    values=lambda e: {f"{a} to {b}": _risk(e, a) - _risk(e, b) for a, b in pairwise(BY_DECREASE)},
    reason=DIRECTION,
    possible=SIGNED,
    place="Fig. 5.1",
)


def _p(e: AnglesByTask, name: str, theta: float) -> float:
    """p(theta) of a task, exactly."""
    return float(e[name].p(np.array(theta)))


def _risk(e: AnglesByTask, name: str) -> np.ndarray:
    risk = e[name].risk
    assert risk is not None
    return risk
