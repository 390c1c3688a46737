"""Inference times of every exit, alone and as part of an ensemble, on this machine (Phuong 2021, Tables E.1 and
E.2).
"""

from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import torch
from matplotlib.figure import Figure
from pydantic import PositiveInt
from scipy import stats

from tutelage.exits.inference import exit_times
from tutelage.exits.msdnet import CIFAR, IMAGENET, MSDNet
from tutelage.lab import Context, Experiment, Results, Shared
from tutelage.lab.experiment import Arrays
from tutelage.studies.claims import SIGNED, Claim
from tutelage.studies.figures import PALETTE
from tutelage.studies.study import Plan, Scale, study

THESIS_CPU = {
    "budget": (0.024, 0.034, 0.043, 0.051, 0.062, 0.067, 0.071, 0.085, 0.093, 0.103, 0.105),
    "anytime": (0.026, 0.043, 0.062, 0.081, 0.099, 0.121, 0.139, 0.164, 0.169, 0.196, 0.219),
}
"""Seconds for one image by the CIFAR network on the CPU of the paper's authors (Table E.1), which is not this one."""

NETWORKS = {
    "small": (MSDNet((2, 4), (2, 4), 6, (2, 4, 6), (2, 2), head=8), 16),
    "CIFAR": (CIFAR, 32),
    "ImageNet": (IMAGENET, 224),
}
"""Networks by name, with the side of their images."""
TIMED: dict[Scale, tuple[str, ...]] = {"smoke": ("small",), "quick": ("CIFAR",), "paper": ("CIFAR", "ImageNet")}
REPEATS: dict[Scale, int] = {"smoke": 3, "quick": 30, "paper": 1000}
_AT_A_TIME = 50  # repeats that are kept when the measurement is interrupted


@study(
    "exits-latency",
    paper="phuong2021",
    figure="Tables E.1, E.2",
    shows="Seconds an MSDNet needs for one image up to each exit: the ensemble of all exits so far takes longer than "
    "the last of them alone, and later exits take longer than earlier ones.",
)
def exits_latency(scale: Scale) -> Plan:
    """Inference times of networks with exits on this machine."""
    claims = [later_costs_alone, later_costs_together]
    experiments = [ExitLatency(network=name, repeats=REPEATS[scale]) for name in TIMED[scale]]
    return Plan(experiments, draw, claims, view=latencies)


class ExitLatency(Experiment, kind="exit-latency", numerics=1):
    """Seconds that a network with exits takes for one image on this machine, up to each exit.

    Weights are not trained and batch norms are in evaluation mode: the time does not depend on them.
    """

    network: Literal["small", "CIFAR", "ImageNet"]
    repeats: PositiveInt

    @property
    def members(self) -> int:
        return self.repeats

    @property
    def cost(self) -> float:
        return {"small": 0.02, "CIFAR": 1.5, "ImageNet": 3.0}[self.network] * self.repeats

    def run(self, context: Context) -> Arrays:
        plan, side = NETWORKS[self.network]
        device = context.device
        net = plan.build(1000 if plan.large else 100, seed=None).to(device)
        image = torch.zeros(1, 3, side, side, device=device)

        def measured(count: int) -> Arrays:
            times = exit_times(net, image, count)
            return {"budget": times.budget.numpy(), "anytime": times.anytime.numpy()}

        parts = []
        for first in range(0, self.repeats, _AT_A_TIME):
            work = partial(measured, min(_AT_A_TIME, self.repeats - first))
            parts.append(context.part(f"repeats from {first} on {device.type}", work))
        joined = {name: np.concatenate([part[name] for part in parts]) for name in ("budget", "anytime")}
        return {**joined, "timed_on": Shared(np.array(device.type))}


@dataclass(frozen=True, eq=False)
class Latencies:
    """Seconds by network: (budget [R, M], anytime [R, M]); device: where they were measured."""

    device: str
    times: dict[str, tuple[np.ndarray, np.ndarray]]


def latencies(results: Results) -> Latencies:
    """The times of all networks."""
    devices = dict.fromkeys(str(r["timed_on"]) for r in results)
    return Latencies(" and ".join(devices), {r.setting("network"): (r["budget"], r["anytime"]) for r in results})


def draw(latencies: Latencies) -> Figure:
    """Median and quartiles of the times here; beside them the paper's means on another machine."""
    figure = Figure(figsize=(2.9 * (len(latencies.times) + 1), 2.9), layout="constrained")
    panels = figure.subplots(1, len(latencies.times) + 1)
    for axes, (name, both) in zip(panels, latencies.times.items(), strict=False):
        for mode, values, colour in zip(("budget", "anytime"), both, PALETTE, strict=False):
            low, middle, high = np.quantile(1000 * values, (0.25, 0.5, 0.75), axis=0)
            exits = np.arange(1, values.shape[1] + 1)
            axes.plot(exits, middle, color=colour, marker="o", ms=3, label=mode)
            axes.fill_between(exits, low, high, color=colour, alpha=0.2, linewidth=0)
        axes.set(title=f"here: {name} network, {latencies.device}\nmedian and quartiles", xlabel="exit")
        axes.set_ylim(bottom=0)
    for (mode, seconds), colour in zip(THESIS_CPU.items(), PALETTE, strict=False):
        panels[-1].plot(range(1, 12), 1000 * np.array(seconds), color=colour, marker="o", ms=3, ls="--", label=mode)
    panels[-1].set(title="Phuong 2021 Table E.1: CIFAR network\nanother machine's CPU, means", xlabel="exit")
    panels[-1].set_ylim(bottom=0)
    panels[-1].set_facecolor("#f6f6f6")
    panels[0].set_ylabel("milliseconds, one image")
    panels[0].legend(loc="upper left")
    return figure


def _rank(values: np.ndarray) -> np.ndarray:
    """Rank correlation of the exit with its time, repeat by repeat: [R, M] -> [R]."""
    return np.array([stats.spearmanr(np.arange(values.shape[1]), row).statistic for row in values])


later_costs_alone = Claim(
    "a later exit alone takes longer than an earlier one",
    statistic="rank correlation of the exit with its time in budget mode, repeat by repeat",
    expected="> 0.9",
    values=lambda e: {name: _rank(budget) for name, (budget, _) in e.times.items()},
    reason="a rank correlation of 0.9 allows one exchange of neighbours among five exits",
    possible=SIGNED,
    standing="own",
)

later_costs_together = Claim(
    "a later ensemble takes longer than an earlier one",
    statistic="rank correlation of the exit with its time in anytime mode, repeat by repeat",
    expected="> 0.9",
    values=lambda e: {name: _rank(anytime) for name, (_, anytime) in e.times.items()},
    reason="a rank correlation of 0.9 allows one exchange of neighbours among five exits",
    possible=SIGNED,
    standing="own",
)
