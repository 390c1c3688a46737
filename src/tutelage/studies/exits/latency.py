"""Inference times of every exit, alone and as part of an ensemble, on this machine (seed 004, Tables E.1 and E.2)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import torch
from matplotlib.figure import Figure
from scipy import stats

from tutelage.distillation.exit_inference import exit_times
from tutelage.figures import PALETTE
from tutelage.networks.msdnet import CIFAR, IMAGENET, MSDNet
from tutelage.studies.claims import Claim
from tutelage.studies.study import Plan, Scale, study

THESIS_CPU = {
    "budget": (0.024, 0.034, 0.043, 0.051, 0.062, 0.067, 0.071, 0.085, 0.093, 0.103, 0.105),
    "anytime": (0.026, 0.043, 0.062, 0.081, 0.099, 0.121, 0.139, 0.164, 0.169, 0.196, 0.219),
}
"""Seconds for one image by the CIFAR network on the CPU of the seed's authors (Table E.1), which is not this one."""

SMALL = MSDNet((2, 4), (2, 4), 6, (2, 4, 6), (2, 2), head=8)


@dataclass(frozen=True)
class Size:
    """What a scale means here: networks with the side of their images, and how often each is timed."""

    networks: tuple[tuple[str, MSDNet, int], ...]
    repeats: int


SIZES: dict[Scale, Size] = {
    "smoke": Size((("small", SMALL, 16),), 3),
    "quick": Size((("CIFAR", CIFAR, 32),), 30),
    "paper": Size((("CIFAR", CIFAR, 32), ("ImageNet", IMAGENET, 224)), 1000),
}


@study(
    "exits-latency",
    seed="004",
    figure="Tables E.1, E.2",
    shows="Seconds an MSDNet needs for one image up to each exit: the ensemble of all exits so far takes longer than "
    "the last of them alone, and later exits take longer than earlier ones.",
)
def exits_latency(scale: Scale) -> Plan:
    """Inference times of networks with exits on this machine."""
    claims = [ensemble_costs, later_costs_alone, later_costs_together]
    return Plan([], draw, claims, table, lambda packs, tell: look(SIZES[scale], tell))


@dataclass(frozen=True, eq=False)
class Evidence:
    """Seconds by network: (budget [R, M], anytime [R, M])."""

    device: str
    times: dict[str, tuple[np.ndarray, np.ndarray]]


def look(size: Size, progress: Callable[[float], None]) -> Evidence:
    """Untrained networks with batch norm in evaluation mode: time does not depend on the weights."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    times = {}
    for place, (name, plan, side) in enumerate(size.networks):
        net = plan.build(1000 if plan.large else 100, seed=None).to(device)
        found = exit_times(net, torch.zeros(1, 3, side, side, device=device), size.repeats)
        times[name] = found.budget.numpy(), found.anytime.numpy()
        progress((place + 1) / len(size.networks))
    return Evidence(device, times)


def table(evidence: Evidence) -> pa.Table:
    return pa.Table.from_pylist(
        [
            {"network": name, "device": evidence.device, "mode": mode, "repeat": r, "exit": m + 1, "seconds": row[m]}
            for name, both in evidence.times.items()
            for mode, values in zip(("budget", "anytime"), both, strict=True)
            for r, row in enumerate(values)
            for m in range(len(row))
        ]
    )


def draw(evidence: Evidence) -> Figure:
    """Median and quartiles of the times here; beside them the seed's means on another machine."""
    figure = Figure(figsize=(2.9 * (len(evidence.times) + 1), 2.9), layout="constrained")
    panels = figure.subplots(1, len(evidence.times) + 1)
    for axes, (name, both) in zip(panels, evidence.times.items(), strict=False):
        for mode, values, colour in zip(("budget", "anytime"), both, PALETTE, strict=False):
            low, middle, high = np.quantile(1000 * values, (0.25, 0.5, 0.75), axis=0)
            exits = np.arange(1, values.shape[1] + 1)
            axes.plot(exits, middle, color=colour, marker="o", ms=3, label=mode)
            axes.fill_between(exits, low, high, color=colour, alpha=0.2, linewidth=0)
        axes.set(title=f"here: {name} network, {evidence.device}\nmedian and quartiles", xlabel="exit")
        axes.set_ylim(bottom=0)
    for (mode, seconds), colour in zip(THESIS_CPU.items(), PALETTE, strict=False):
        panels[-1].plot(range(1, 12), 1000 * np.array(seconds), color=colour, marker="o", ms=3, ls="--", label=mode)
    panels[-1].set(title="004 Table E.1: CIFAR network\nanother machine's CPU, means", xlabel="exit")
    panels[-1].set_ylim(bottom=0)
    panels[-1].set_facecolor("#f6f6f6")
    panels[0].set_ylabel("milliseconds, one image")
    panels[0].legend(loc="upper left")
    return figure


def _rank(values: np.ndarray) -> np.ndarray:
    """Rank correlation of the exit with its time, repeat by repeat: [R, M] -> [R]."""
    return np.array([stats.spearmanr(np.arange(values.shape[1]), row).statistic for row in values])


ensemble_costs = Claim(
    "an ensemble takes longer than its last exit alone",
    statistic="time of all exits up to the last over time of the last alone, repeat by repeat",
    expected="> 1",
    refuted_by="an interval over repeats below 1 for that network",
    values=lambda e: {name: anytime[:, -1] / budget[:, -1] for name, (budget, anytime) in e.times.items()},
)

later_costs_alone = Claim(
    "a later exit alone takes longer than an earlier one",
    statistic="rank correlation of the exit with its time in budget mode, repeat by repeat",
    expected="> 0.9",
    refuted_by="an interval over repeats below 0.9 for that network",
    values=lambda e: {name: _rank(budget) for name, (budget, _) in e.times.items()},
)

later_costs_together = Claim(
    "a later ensemble takes longer than an earlier one",
    statistic="rank correlation of the exit with its time in anytime mode, repeat by repeat",
    expected="> 0.9",
    refuted_by="an interval over repeats below 0.9 for that network",
    values=lambda e: {name: _rank(anytime) for name, (_, anytime) in e.times.items()},
)
