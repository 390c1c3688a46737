"""Weights recovered from queries: how exact, with how many queries, under how much noise (Phuong 2021, Theorem 2.1)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import pyarrow as pa
import torch
from matplotlib.figure import Figure

from tutelage import draws
from tutelage.functions.identifying.construction import construct
from tutelage.functions.matching.matching import match
from tutelage.functions.querying.reconstruction import identify
from tutelage.functions.studies._random_relu import random_relu
from tutelage.lab import Context, Experiment, Results
from tutelage.lab.experiment import Arrays
from tutelage.networks import Network, outputs
from tutelage.settings import Seeds
from tutelage.studies.claims import SHARE, Claim
from tutelage.studies.figures import PALETTE, panel_grid
from tutelage.studies.study import Plan, Scale, study

SEEDS: dict[Scale, int] = {"smoke": 2, "quick": 8, "paper": 32}
CONSTRUCTED = ((2, 2, 1), (2, 2, 2, 1), (3, 2, 2, 1), (3, 3, 2, 1), (3, 3, 3, 1), (2, 2, 2, 2, 1), (4, 3, 3, 2, 1))
RANDOM = {"smoke": ((8, 6, 1),), "quick": ((20, 10, 1), (10, 15, 15, 1)), "paper": ((20, 10, 1), (10, 15, 15, 1))}
NOISY = (6, 6, 6, 1)
NOISES = (1e-12, 1e-10, 1e-8, 1e-6)
LINES = (8, 32, 128, 512)
SEARCHES = 4
"""Searches, with other seeds, before a network counts as not found."""
BIAS = 0.3
FIRST = 2_000
"""Seeds begin here; those below served to choose the settings of the search."""
LEAST = 1e-16
"""Errors below are shown and counted as this."""


@study(
    "reconstruction",
    paper="phuong2021",
    figure="Thm 2.1",
    shows="No figure: networks exist whose function tells their weights up to order and positive scale of the units; "
    "the proof finds layer after layer from the folds of the function.",
)
def reconstruction(scale: Scale) -> Plan:
    """Weights recovered from queries alone."""
    claims = [exact, typical, proportional, enough_lines]
    return Plan(black_boxes(scale), draw, claims, table, view=by_seed)


def black_boxes(scale: Scale) -> list["WeightRecovery"]:
    """Identifiable networks, random ones, random ones with noise, and random ones with few lines."""
    few, seeds = scale == "smoke", range(FIRST, FIRST + SEEDS[scale])
    made = [
        WeightRecovery(source="identifiable", widths=widths, seeds=seeds) for widths in CONSTRUCTED[: 3 if few else 7]
    ]
    made += [WeightRecovery(source="random", widths=widths, seeds=seeds) for widths in RANDOM[scale]]
    lines = LINES[: 3 if few else 4]
    made += [
        WeightRecovery(source="random", widths=NOISY, noise=noise, lines=lines[-1], seeds=seeds)
        for noise in NOISES[: 2 if few else 4]
    ]
    return made + [WeightRecovery(source="random", widths=NOISY, lines=most, seeds=seeds) for most in lines]


class WeightRecovery(Experiment, kind="weight-recovery", numerics=5):
    """Weights of identifiable or random networks recovered from their values alone.

    error: the largest relative error of a layer, 1 where not all units were found.
    """

    source: Literal["identifiable", "random"]
    widths: tuple[int, ...]
    seeds: Seeds
    noise: float = 0.0
    """Bound of the errors in the answers."""
    lines: int = LINES[-1]
    """Lines to search at most."""
    bias: float = BIAS

    @property
    def cost(self) -> float:
        return 0.02 * self.members * sum(self.widths[1:-1]) ** 2

    def run(self, context: Context) -> Arrays:
        rows = []
        for seed in self.seeds:
            rows.append(context.part(f"seed {seed}", partial(self.recovered, seed)))
            context.progress(len(rows) / self.members)
        return {name: np.array([row[name] for row in rows]) for name in rows[0]}

    def recovered(self, seed: int) -> dict[str, float]:
        """Identify the network of one seed from its values and compare."""
        inside = self.source == "identifiable"
        truth = construct(self.widths, (-1, 1), seed) if inside else random_relu(self.widths, self.bias, [seed])
        box = (-1.0, 1.0) if inside else (-4.0, 4.0)
        ask = answers(truth.to("cpu", torch.float64), self.noise, seed)
        result = identify(
            ask,
            truth.inputs,
            truth.outputs,
            box=box,
            noise=self.noise,
            seed=seed,
            lines=self.lines,
            searches=SEARCHES,
        )
        same = result.network.widths == truth.widths and not result.open_signs
        error = float(match(truth, result.network).residual.max()) if same else 1.0
        return {"error": min(max(error, LEAST), 1.0), "unexplained": result.unexplained, "queries": result.queries}


@dataclass(frozen=True)
class RecoveredNetwork:
    """One black box: error is the largest relative error of a layer, 1 where not all units were found."""

    kind: str
    widths: tuple[int, ...]
    seed: int
    noise: float
    lines: int
    error: float
    unexplained: float
    queries: int

    @property
    def label(self) -> str:
        return f"{self.kind} {'-'.join(map(str, self.widths))}"


def by_seed(results: Results) -> list[RecoveredNetwork]:
    """All black boxes of one seed after those of another."""
    (seeds,) = results.values("seeds")
    return [
        RecoveredNetwork(
            part_of_study(r.experiment), r.setting("widths"), seed, r.setting("noise"), r.setting("lines"),
            *(r[name][s].item() for name in ("error", "unexplained", "queries")),
        )
        for s, seed in enumerate(seeds)
        for r in results
    ]  # fmt: skip


def part_of_study(black_box: WeightRecovery) -> str:
    """Which panel and claims a black box belongs to: identifiable, random, noisy or few lines."""
    if black_box.widths != NOISY:
        return black_box.source
    return "noisy" if black_box.noise else "few lines"


def answers(truth: Network, noise: float, seed: int) -> Callable[[torch.Tensor], torch.Tensor]:
    """A network as a function of points [N, d], with errors uniform within the noise."""
    key, asked = draws.keys([seed], "noise of answers"), [0]

    def ask(points: torch.Tensor) -> torch.Tensor:
        exact = outputs(truth, points)[0]
        if not noise:
            return exact
        unit = draws.uniforms(key, exact.numel(), asked[0])[0].view_as(exact)
        asked[0] += exact.numel()
        return exact + noise * (2 * unit - 1)

    return ask


def table(networks: list[RecoveredNetwork]) -> pa.Table:
    return pa.Table.from_pylist(
        [
            {**{k: v for k, v in vars(network).items() if k != "widths"}, "widths": str(list(network.widths))}
            for network in networks
        ]
    )


def draw(networks: list[RecoveredNetwork]) -> Figure:
    """Errors against queries, noise, and lines."""
    titles = ["exact answers", f"noisy answers, {'-'.join(map(str, NOISY))}", "few lines"]
    figure, axes = panel_grid([""], titles, "", "", size=(3.2, 3.0), sharex=False, sharey=False)
    left, middle, right = axes[0]
    for colour, kind in zip(PALETTE, ("identifiable", "random"), strict=False):
        some = [s for s in networks if s.kind == kind]
        left.scatter([s.queries for s in some], [s.error for s in some], s=12, color=colour, alpha=0.6, label=kind)
    left.set(
        xscale="log",
        yscale="log",
        xlabel="queries",
        xlim=(1e4, 1e7),
        ylabel="largest relative error of a layer (1: not found)",
        ylim=(1e-17, 3),
    )
    left.legend(frameon=False, loc="center right")
    noisy = [s for s in networks if s.kind == "noisy"]
    middle.scatter([s.noise for s in noisy], [s.error for s in noisy], s=12, color=PALETTE[2], alpha=0.6)
    span = [min(s.noise for s in noisy), max(s.noise for s in noisy)]
    middle.plot(span, span, color="#999999", linewidth=0.7, linestyle=":")
    middle.set(xscale="log", yscale="log", xlabel="bound on the noise", ylim=(1e-14, 3))
    few = [s for s in networks if s.kind == "few lines"]
    right.scatter([s.lines for s in few], [s.error for s in few], s=12, color=PALETTE[3], alpha=0.6)
    right.set(xscale="log", yscale="log", xlabel="lines at most", ylim=(1e-17, 3))
    return figure


def _of(
    networks: list[RecoveredNetwork],
    kind: str,
    value: Callable[[RecoveredNetwork], float],
    label: Callable[[RecoveredNetwork], str],
) -> dict[str, np.ndarray]:
    """One array per setting."""
    groups: dict[str, list[float]] = {}
    for network in networks:
        if network.kind == kind:
            groups.setdefault(label(network), []).append(value(network))
    return {name: np.array(values) for name, values in groups.items()}


exact = Claim(
    "weights that the function determines up to order and positive scale (Theorem 2.1) are found from its values alone",
    statistic="log10 of the largest relative error of a layer's weights, as identify finds them",
    expected="< -10",
    values=lambda networks: _of(networks, "identifiable", lambda s: np.log10(s.error), lambda s: s.label),
    reason="1e-10 is far above rounding in double precision and far below the error of a wrong weight",
    about="every",
    place="Thm 2.1",
    failure="not found",
)

typical = Claim(
    "random networks, of which the theorem does not speak, are recovered as well",
    statistic="share of seeds whose weights are found to 1e-9",
    expected="> 0.5",
    values=lambda networks: _of(networks, "random", lambda s: float(s.error < 1e-9), lambda s: s.label),
    reason="'as well' is read as more often than not",
    possible=SHARE,
    kind="outcome",
    standing="own",
    failure="not found",
)

proportional = Claim(
    "noise in the answers spoils the weights in proportion, no more than a hundredfold",
    statistic="log10 of the largest relative error of a layer over the noise",
    expected="< 2",
    values=lambda networks: _of(
        networks, "noisy", lambda s: np.log10(s.error / s.noise), lambda s: f"noise {s.noise:.0e}"
    ),
    reason="the hundredfold of the sentence",
    about="every",
    standing="own",
    failure="not found",
)

enough_lines = Claim(
    "a hundred lines tell the weights of a network with two hidden layers of six units",
    statistic="share of seeds whose weights are found to 1e-9 with at most 128 lines",
    expected="> 0.5",
    values=lambda networks: _of(
        [s for s in networks if s.lines == 128], "few lines", lambda s: float(s.error < 1e-9), lambda s: s.label
    ),
    reason="'tell' is read as more often than not",
    possible=SHARE,
    kind="outcome",
    standing="own",
    failure="not found",
)
