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

PAPER_TIMES: dict[tuple[str, str], dict[str, tuple[float, ...]]] = {
    ("CIFAR", "cpu"): {
        "budget": (0.024, 0.034, 0.043, 0.051, 0.062, 0.067, 0.071, 0.085, 0.093, 0.103, 0.105),
        "anytime": (0.026, 0.043, 0.062, 0.081, 0.099, 0.121, 0.139, 0.164, 0.169, 0.196, 0.219),
    },
    ("CIFAR", "cuda"): {
        "budget": (0.007, 0.011, 0.015, 0.018, 0.022, 0.025, 0.029, 0.032, 0.036, 0.039, 0.041),
        "anytime": (0.007, 0.011, 0.015, 0.019, 0.023, 0.027, 0.032, 0.035, 0.039, 0.043, 0.045),
    },
    ("ImageNet", "cpu"): {
        "budget": (0.159, 0.339, 0.471, 0.559, 0.665),
        "anytime": (0.229, 0.373, 0.519, 0.647, 0.703),
    },
    ("ImageNet", "cuda"): {
        "budget": (0.027, 0.038, 0.048, 0.055, 0.057),
        "anytime": (0.027, 0.038, 0.048, 0.056, 0.059),
    },
}
"""Mean seconds for one image on the CPU and on the GPU of the paper's authors (Tables E.1 and E.2), which are not these
ones, by network and kind of device."""

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
    """Seconds by network: (budget [R, M], anytime [R, M]); devices: the kind on which each was measured."""

    devices: dict[str, str]
    times: dict[str, tuple[np.ndarray, np.ndarray]]


def latencies(results: Results) -> Latencies:
    """The times of all networks."""
    devices = {r.setting("network"): str(r["timed_on"]) for r in results}
    return Latencies(devices, {r.setting("network"): (r["budget"], r["anytime"]) for r in results})


def draw(latencies: Latencies) -> Figure:
    """Median and quartiles of the times here, with the paper's means on its device of the same kind: GPU with GPU."""
    figure = Figure(figsize=(3.4 * len(latencies.times) + 0.4, 3.1), layout="constrained")
    panels = figure.subplots(1, len(latencies.times), squeeze=False)[0]
    for axes, (name, both) in zip(panels, latencies.times.items(), strict=True):
        device = latencies.devices[name]
        paper = PAPER_TIMES.get((name, device), {})
        for mode, values, colour in zip(("budget", "anytime"), both, PALETTE, strict=False):
            low, middle, high = np.quantile(1000 * values, (0.25, 0.5, 0.75), axis=0)
            exits = np.arange(1, values.shape[1] + 1)
            axes.plot(exits, middle, color=colour, marker="o", ms=3, label=f"{mode}, here: median, quartiles")
            axes.fill_between(exits, low, high, color=colour, alpha=0.2, linewidth=0)
            if mode in paper:
                seconds = 1000 * np.array(paper[mode])
                axes.plot(exits, seconds, color=colour, marker="s", ms=2.5, ls="--", label=f"{mode}, paper's: mean")
        kind = {"cpu": "CPU", "cuda": "GPU"}.get(device, device)
        axes.set(title=f"{name} network, one image on a {kind}", xlabel="exit", xticks=exits)
        axes.set_ylim(bottom=0)
    panels[0].set_ylabel("milliseconds")
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
