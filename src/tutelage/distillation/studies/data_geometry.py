"""How the alignment of inputs with the teacher decides the risk (Phuong 2021, Fig. 5.3)."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from matplotlib.figure import Figure
from scipy import stats
from torch import Tensor

from tutelage.distillation import Polynomial, TransferSet, best_bound, learned, newton
from tutelage.distillation.bounds import polynomial_bound
from tutelage.distillation.learners import unsigned_angle
from tutelage.lab import Context, Experiment, Results, Shared
from tutelage.lab.experiment import Arrays
from tutelage.settings import Seeds
from tutelage.studies.claims import SIGNED, Check, Claim, Measured
from tutelage.studies.figures import PALETTE
from tutelage.studies.study import Plan, Scale, study

KAPPAS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0)
"""The paper does not name its own; over these the risk falls from near 1/2 to near 0."""
TRANSFER = 20
DIMENSION: dict[Scale, int] = {"smoke": 60, "quick": 1_000, "paper": 1_000}
SETS: dict[Scale, int] = {"smoke": 6, "quick": 24, "paper": 200}
HELD_OUT: dict[Scale, int] = {"smoke": 400, "quick": 500, "paper": 2_000}
"""Inputs that risks are counted on."""
LAW = "held out"
GUESSING = 0.5
"""Risk of a student that guesses."""


@study(
    "data-geometry",
    paper="phuong2021",
    figure="5.3",
    shows="The transfer risk of linear distillation clearly decreases with kappa, the degree of the polynomial "
    "distribution of the angle between inputs and teacher, for 20 inputs in 1,000 dimensions.",
)
def data_geometry(scale: Scale) -> Plan:
    """How the alignment of inputs with the teacher decides the risk."""
    claims: list[Claim | Check] = [trend, below_corollary, below_theorem, found_by_training]
    sizes = {"dimension": DIMENSION[scale], "held_out": HELD_OUT[scale], "seeds": SETS[scale]}
    experiments = [DistilledDegree(kappa=kappa, **sizes) for kappa in KAPPAS]
    return Plan(experiments, draw, claims, view=degrees)


class DistilledDegree(Experiment, kind="distilled-degree", numerics=2):
    """Risk and angle of students distilled from few inputs of a polynomial task; the same draws for every kappa."""

    kappa: float
    dimension: int
    inputs: int = TRANSFER
    held_out: int
    seeds: Seeds

    def run(self, context: Context) -> Arrays:
        uniform, task = Polynomial(self.dimension, kappa=1.0), Polynomial(self.dimension, kappa=self.kappa)
        x = uniform.points(self.seeds, self.inputs)
        others = uniform.points([0], self.held_out, LAW)[0]
        students = degree(task, tilted(x, task), tilted(others, task))
        shared = {name: Shared(np.array(getattr(students, name))) for name in ("held_out", "corollary", "theorem")}
        return {name: getattr(students, name) for name in ("angle", "risk", "trained")} | shared


@dataclass(frozen=True, eq=False)
class Degree:
    """Students of one kappa: angle with the teacher [S], exact risk [S], share of the students that misjudge each
    held-out input [N], distance of what minimises the loss from w_hat, of |w_hat| [S], bounds.
    """

    kappa: float
    angle: np.ndarray
    risk: np.ndarray
    held_out: np.ndarray
    trained: np.ndarray
    corollary: float
    theorem: float


def degrees(results: Results) -> list[Degree]:
    """Students of every kappa."""
    return [
        Degree(
            r.setting("kappa"), r["angle"], r["risk"], r["held_out"], r["trained"],
            float(r["corollary"]), float(r["theorem"]),
        )
        for r in results
    ]  # fmt: skip


def tilted(x: Tensor, task: Polynomial) -> Tensor:
    """Inputs of the task from those of kappa = 1 drawn with the same numbers, up to rounding: [..., d].

    Their lengths and the directions beside the teacher's are the same, and the angles are in the same order.
    """
    up, aside = x[..., :1], x[..., 1:]
    uniform = torch.atan2(aside.norm(dim=-1, keepdim=True), up.abs())
    a = task.angles(1 - 2 * uniform / math.pi)
    side = torch.nn.functional.normalize(aside, dim=-1)
    return x.norm(dim=-1, keepdim=True) * torch.cat([a.cos() * up.sign(), a.sin() * side], -1)


def degree(task: Polynomial, x: Tensor, held_out: Tensor) -> Degree:
    """Students of one task: transfer sets x [S, n, d], held-out inputs [N, d]."""
    transfer = TransferSet(x, task.teacher)
    w = learned(transfer)
    off = (newton(transfer) - w).norm(dim=1) / w.norm(dim=1)
    return Degree(
        task.kappa,
        unsigned_angle(w, transfer.teacher).numpy(),
        task.risk(w).numpy(),
        _counted(w, task.teacher, held_out).numpy(),
        off.numpy(),
        polynomial_bound(task.kappa, TRANSFER),
        best_bound(task.p, TRANSFER, tighter=True).value,
    )


def _counted(w: Tensor, teacher: Tensor, inputs: Tensor) -> Tensor:
    """Share of the students w [S, d] that class an input differently from the teacher, for each of [N, d]: [N]."""
    students, correct = inputs @ w.mT >= 0, (inputs @ teacher >= 0).unsqueeze(1)
    return (students != correct).to(torch.float64).mean(1)


def draw(degrees: list[Degree]) -> Figure:
    """Risk against kappa, plain and by logarithms with the bounds over it; the angle beside it."""
    figure = Figure(figsize=(9.6, 2.9), layout="constrained")
    axes = figure.subplots(1, 3)
    kappa = np.array([d.kappa for d in degrees])
    risk, error = _mean([d.risk for d in degrees])
    for panel in axes[:2]:
        panel.errorbar(kappa, risk, 2 * error, fmt="o-", color=PALETTE[0], markersize=3, label="exact")
        panel.plot(kappa, [d.held_out.mean() for d in degrees], "x", color=PALETTE[3], markersize=5, label="held out")
        panel.set(xlabel=r"$\kappa$", ylabel="transfer risk")
    axes[0].set(ylim=(0, None), title="Fig. 5.3")
    axes[1].plot(kappa, [d.corollary for d in degrees], ":", color=PALETTE[6], label="Corollary 5.2")
    axes[1].plot(kappa, [d.theorem for d in degrees], "--", color=PALETTE[2], label="Theorem 5.3, tighter")
    axes[1].set(yscale="log", ylim=(1e-8, 3), title="with its bounds")
    angle, error = _mean([np.degrees(d.angle) for d in degrees])
    axes[2].errorbar(kappa, angle, 2 * error, fmt="o-", color=PALETTE[0], markersize=3)
    axes[2].set(xlabel=r"$\kappa$", ylabel="angle with the teacher (degrees)", ylim=(0, 90), title="angle")
    axes[0].legend()
    axes[1].legend(fontsize=6, loc="lower left")
    return figure


def _mean(values: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    stacked = np.stack(values)
    return stacked.mean(1), stacked.std(1, ddof=1) / stacked.shape[1] ** 0.5


trend = Claim(
    "on tasks with higher kappa the student achieves lower risk",
    statistic="rank correlation of risk and kappa, set by set",
    expected="< -0.9",
    values=lambda degrees: {"all": np.array([_rank_correlation(degrees, s) for s in range(len(degrees[0].risk))])},
    reason="a rank correlation of -0.9 allows a few exchanges of neighbours among the values of kappa",
    possible=SIGNED,
    place="Fig. 5.3",
)

below_corollary = Claim(
    "the expected risk is at most (1 + (log n)^kappa) / n^kappa",
    statistic="risk minus that bound",
    expected="< 0",
    values=lambda degrees: {
        f"{d.kappa:g}": Measured(d.risk - d.corollary, baseline=GUESSING - d.corollary) for d in degrees
    },
    reason="the bound of the statement itself; where it is above the 1/2 of guessing, guessing meets it too",
    place="Cor. 5.2",
)

below_theorem = Claim(
    "the expected risk is at most p(beta) + (1 - p(beta)) p(pi/2 - beta)^n",
    statistic="risk minus that bound at its best beta",
    expected="< 0",
    values=lambda degrees: {
        f"{d.kappa:g}": Measured(d.risk - d.theorem, baseline=GUESSING - d.theorem) for d in degrees
    },
    reason="the bound of the statement itself; where it is above the 1/2 of guessing, guessing meets it too",
    place="Thm 5.3",
)

found_by_training = Check(
    "the student learns the teacher's projection onto the span of the data",
    statistic="distance between the minimiser of the loss in that span, by Newton's method, and w_hat, of |w_hat|",
    expected="< 0.000001",
    values=lambda degrees: {f"{d.kappa:g}": d.trained for d in degrees},
    reason="Newton's method stops at a relative error below 1e-6",
)


def _rank_correlation(degrees: list[Degree], s: int) -> float:
    return float(stats.spearmanr([d.kappa for d in degrees], [d.risk[s] for d in degrees]).statistic)
