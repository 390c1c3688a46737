"""Expected risk against the number of inputs, with every bound over it (Phuong 2021, Theorem 5.3)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from tutelage import draws
from tutelage.distillation import Isotropic, LargeMargin, Polynomial, TransferSet, best_bound, learned, limit
from tutelage.distillation.bounds import margin_bound, miss, polynomial_bound
from tutelage.distillation.deep import largest_start
from tutelage.distillation.learners import unsigned_angle
from tutelage.lab import Context, Experiment, Results, Shared
from tutelage.lab.experiment import Arrays
from tutelage.settings import Seeds
from tutelage.studies.claims import SHARE as SHARES
from tutelage.studies.claims import Check, Claim, Measured
from tutelage.studies.figures import PALETTE
from tutelage.studies.study import Plan, Scale, study

DIMENSION: dict[Scale, int] = {"smoke": 10, "quick": 30, "paper": 50}
SETS: dict[Scale, int] = {"smoke": 6, "quick": 100, "paper": 400}
BEYOND = 5
"""Numbers of inputs go to d + 5."""
MARGIN = math.pi / 3
AnyTask = Polynomial | LargeMargin | Isotropic
TASKS: dict[str, Callable[[int], AnyTask]] = {
    "margin of 30 degrees": lambda d: LargeMargin(d, limit=MARGIN),
    "kappa = 1": lambda d: Polynomial(d, kappa=1.0),
    "isotropic": lambda d: Isotropic(d),
}
LAYERS, SHARE = 2, 0.02
"""Deep students start so that Theorem 5.2 puts their end within this share of |w_hat|."""
LOWEST = 1e-16
"""Risks below this are not drawn."""
GUESSING = 0.5
"""Risk of a student that guesses."""
AS_PRINTED, TIGHTER, DEEP = "Theorem 5.3", "Theorem 5.3, tighter", "Theorem D.4"


@study(
    "risk-against-samples",
    paper="phuong2021",
    figure="Thm 5.3",
    shows="No figure: the expected transfer risk is 0 for n >= d and at most p(beta) + p(pi/2 - beta)^n for n < d; it "
    "falls exponentially with a margin and as (log n / n)^kappa for the polynomial distribution of degree kappa.",
)
def risk_against_samples(scale: Scale) -> Plan:
    """Expected risk against the number of inputs, with every bound over it."""
    claims: list[Claim | Check] = [perfect, held, deep_held, meaningful, learns_early, never_harmed]
    experiments = [RiskCurve(task=name, dimension=DIMENSION[scale], seeds=SETS[scale]) for name in TASKS]
    return Plan(experiments, draw, claims, view=curves)


class RiskCurve(Experiment, kind="risk-curve", numerics=1):
    """Risk of distilled and of deep students of one task for every number of inputs up to d + 5."""

    task: str
    dimension: int
    seeds: Seeds

    @property
    def cost(self) -> float:
        """Seconds of one core, roughly, as measured at two sizes."""
        return 0.2 + 0.034 * self.members

    def run(self, context: Context) -> Arrays:
        c = curve(TASKS[self.task](self.dimension), self.seeds, context.progress)
        shared = {f"bound_{place}": Shared(values) for place, values in enumerate(c.bounds.values())}
        shared["deep_bound"] = Shared(c.deep_bound)
        return {"risk": c.risk.T, "angle": c.angle.T, "deep": c.deep.T, **shared}


@dataclass(frozen=True, eq=False)
class Curve:
    """One task: risk and angle of distillation, and risk of deep students, for n = 1 .. d + 5 [N, S].

    bounds: each for n = 1 .. d - 1, on the risk of distillation; deep_bound: on that of deep students.
    """

    dimension: int
    risk: np.ndarray
    angle: np.ndarray
    deep: np.ndarray
    bounds: dict[str, np.ndarray]
    deep_bound: np.ndarray


Curves = dict[str, Curve]


def curves(results: Results) -> Curves:
    """The curve of every task."""
    out = {}
    for r in results:
        names = task_bounds(TASKS[r.setting("task")](r.setting("dimension")))
        risk, angle, deep = (np.ascontiguousarray(r[name].T) for name in ("risk", "angle", "deep"))
        bounds = {name: r[f"bound_{place}"] for place, name in enumerate(names)}
        out[r.setting("task")] = Curve(r.setting("dimension"), risk, angle, deep, bounds, r["deep_bound"])
    return out


def curve(task: AnyTask, seeds: Sequence[int], tell: Callable[[float], None]) -> Curve:
    """Students of one task for every number of inputs, and its bounds.

    Sets are nested: those of n + 1 inputs begin with those of n.
    """
    d = task.dimension
    longest = task.transfer(seeds, d + BEYOND)
    risk, angle, deep = [], [], []
    for n in range(1, d + BEYOND + 1):
        transfer = longest.first(n)
        w = learned(transfer)
        risk.append(task.risk(w))
        angle.append(unsigned_angle(w, transfer.teacher))
        deep.append(task.risk(_deep(transfer, w, seeds)))
        tell(n / (d + BEYOND))
    share, one = (torch.tensor(v, dtype=torch.float64) for v in (SHARE, 1.0))
    delta = float(miss(share, one, sharp=True))
    beyond = [best_bound(task.p, n, delta=delta).value for n in range(1, d)]
    first, second, third = (torch.stack(v).numpy() for v in (risk, angle, deep))
    return Curve(d, first, second, third, bounds(task), np.array(beyond))


def _deep(transfer: TransferSet, goal: Tensor, seeds: Sequence[int]) -> Tensor:
    """Where two-layer students end whose start is as large as Theorem 5.2 allows for SHARE: [S, d]."""
    u = torch.nn.functional.normalize(draws.normals(draws.keys(seeds, "deep start"), transfer.dimension), dim=1)
    length = goal.norm(dim=1)
    return limit(transfer, largest_start(SHARE * length, length, LAYERS).unsqueeze(1) * u, LAYERS)


def bounds(task: AnyTask) -> dict[str, np.ndarray]:
    """Every bound that speaks of the task, for n = 1 .. d - 1."""
    return {name: np.array([of(n) for n in range(1, task.dimension)]) for name, of in task_bounds(task).items()}


def task_bounds(task: AnyTask) -> dict[str, Callable[[int], float]]:
    """The bounds that speak of the task, as functions of the number of inputs."""
    by_name: dict[str, Callable[[int], float]] = {
        AS_PRINTED: lambda n: best_bound(task.p, n).value,
        TIGHTER: lambda n: best_bound(task.p, n, tighter=True).value,
    }
    if isinstance(task, LargeMargin):
        by_name["Corollary 5.1"] = lambda n: margin_bound(task.p, n, task.limit)
    if isinstance(task, Polynomial):
        kappa = task.kappa
        by_name["Corollary 5.2"] = lambda n: polynomial_bound(kappa, n)
    return by_name


def draw(e: Curves) -> Figure:
    """Mean risk with the middle 90 % of sets by logarithms; at n = d it falls to 0, which a logarithm cannot show.

    Where it is below what is drawn already before, a mark says so.
    """
    figure = Figure(figsize=(10.2, 3.1), layout="constrained")
    axes = figure.subplots(1, len(e))
    colours = {AS_PRINTED: PALETTE[6], TIGHTER: PALETTE[4], "Corollary 5.1": PALETTE[1], "Corollary 5.2": PALETTE[1]}
    for panel, (name, c) in zip(axes, e.items(), strict=True):
        n = np.arange(1, c.dimension)
        few = c.risk[: len(n)]
        low, high = np.quantile(few, [0.05, 0.95], axis=1)
        mean, deep = few.mean(1), c.deep[: len(n)].mean(1)
        floor = 10 ** np.floor(np.log10(max(np.min(mean[mean > 0]), LOWEST)) - 1)
        panel.fill_between(n, np.maximum(low, floor), np.maximum(high, floor), color=PALETTE[0], alpha=0.15, lw=0)
        panel.plot(n, np.maximum(mean, floor), color=PALETTE[0], label="distillation")
        below = n[mean < floor]
        if len(below):
            marks = np.full(len(below), 2 * floor)
            panel.plot(below, marks, "v", color=PALETTE[0], markersize=3, label="distillation, below this")
        panel.plot(n, np.maximum(deep, floor), "--", color=PALETTE[2], label=f"two layers, within {SHARE:.0%}")
        for bound, values in c.bounds.items():
            panel.plot(n, values, ":", color=colours[bound], label=bound)
        panel.plot(n, c.deep_bound, ":", color=PALETTE[2], label=DEEP)
        panel.axvspan(c.dimension, c.dimension + BEYOND, color="#dddddd", lw=0)
        panel.set(title=f"{name}, d = {c.dimension}", xlabel="inputs n", yscale="log", ylim=(floor, 3))
        panel.text(c.dimension + BEYOND / 2, 3 * floor, "risk 0", rotation=90, ha="center", va="bottom", fontsize=7)
        corner = {"loc": "upper right", "bbox_to_anchor": (0.84, 1.0)} if len(below) else {"loc": "lower left"}
        panel.legend(fontsize=6, **corner)
    axes[0].set_ylabel("expected transfer risk")
    return figure


perfect = Check(
    "the expected risk is 0 for n >= d",
    statistic="largest risk over n = d .. d + 5",
    expected="< 0.000000000001",
    values=lambda e: {name: c.risk[c.dimension - 1 :].max(0) for name, c in e.items()},
    reason="rounding in double precision: d inputs determine the teacher",
    place="Thm 5.3",
)

held = Claim(
    "for n < d the expected risk is at most the bound",
    statistic="risk minus the bound at the n where their means come closest, in units of the bound",
    expected="< 0",
    values=lambda e: {f"{name}; {b}": _closest(c.risk, v) for name, c in e.items() for b, v in c.bounds.items()},
    reason="the bound of the statement itself; where it is above the 1/2 of guessing, guessing meets it too",
    place="Thm 5.3",
)

deep_held = Claim(
    "the expected risk of students close to w_hat is at most the bound of Theorem D.4",
    statistic="risk of two-layer students minus the bound, with the sharp angle, at the n where their means come "
    "closest, in units of the bound",
    expected="< 0",
    values=lambda e: {name: _closest(c.deep, c.deep_bound) for name, c in e.items()},
    reason="the bound of the theorem itself; where it is above the 1/2 of guessing, guessing meets it too",
    place="Thm D.4",
)

meaningful = Check(
    "with fewer samples than dimensions the bound on the risk still says something",
    statistic="bound of Theorem 5.3 at n = d/5, below the 1/2 of guessing",
    expected="< 0.5",
    values=lambda e: {name: float(c.bounds[AS_PRINTED][c.dimension // 5 - 1]) for name, c in e.items()},
    reason="guessing has a risk of 1/2",
)

learns_early = Claim(
    "with n < d a distilled student is already much better than guessing",
    statistic="risk at n = d/5, where guessing has 1/2",
    expected="< 0.25",
    values=lambda e: {name: c.risk[c.dimension // 5 - 1] for name, c in e.items()},
    reason="'much better' is read as half of the risk of guessing",
    possible=SHARES,
)

never_harmed = Check(
    "more transfer data do not turn the student away from the teacher",
    statistic="largest rise of the angle with the teacher when an input is added, in radians, over all n",
    expected="< 0.000000001",
    values=lambda e: {name: np.diff(c.angle, axis=0).max(0) for name, c in e.items()},
    reason="rounding of an angle in double precision: the student is a projection onto a growing space",
)


def _closest(risk: np.ndarray, bound: np.ndarray) -> Measured:
    """(risk - bound) / bound at the n where its mean is largest, among bounds that guessing can miss.

    risk [N, S], bound [n]. Where no bound is below the risk of guessing, all n count, and guessing is the baseline.
    """
    gap = risk[: len(bound)] / bound[:, None] - 1
    tells = bound < GUESSING
    worst = np.where(tells if tells.any() else True, gap.mean(1), -np.inf).argmax()
    return Measured(gap[worst], baseline=float(GUESSING / bound[worst] - 1))
