"""Where deep linear students end, against what is guaranteed (Phuong 2021, Theorem 5.2)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from tutelage.distillation import Isotropic, TransferSet, balanced_start, guaranteed, learned, limit
from tutelage.distillation.flows import settle
from tutelage.lab import Context, Experiment, Results
from tutelage.lab.experiment import Arrays
from tutelage.settings import Seeds
from tutelage.studies.claims import DIRECTION, SHARE, Check, Claim
from tutelage.studies.figures import PALETTE
from tutelage.studies.study import Plan, Scale, study

TASK = Isotropic(20)
FEW, MANY = 8, 100
"""Inputs per set: fewer than dimensions, and more."""
LAYERS: dict[Scale, tuple[int, ...]] = {"smoke": (2,), "quick": (2, 3, 4), "paper": (2, 3, 4)}
SIZES: dict[Scale, tuple[float, ...]] = {
    "smoke": (0.1, 0.01),
    "quick": (0.1, 0.01, 0.001),
    "paper": (0.1, 0.01, 0.001, 0.0001),
}
"""Lengths of w(0)."""
TOLERANCE = 1e-6
"""A flow is followed until it is this near to its limit."""
SETS: dict[Scale, int] = {"smoke": 2, "quick": 16, "paper": 64}
STARTS: dict[Scale, int] = {"smoke": 20, "quick": 1_000, "paper": 4_000}
"""Sets of inputs for the sentence about signs, each with EACH starts: exceptions are as rare as starts are short."""
EACH = 10


@study(
    "deep-linear-limits",
    paper="phuong2021",
    figure="Thm 5.2",
    shows="No figure: deep linear students that start balanced and close enough to 0 end within eps of the teacher's "
    "projection onto the span of the data, and at the teacher itself for n >= d.",
)
def deep_linear_limits(scale: Scale) -> Plan:
    """Where deep linear students end, against what is guaranteed."""
    claims: list[Claim | Check] = [within, at_limit, at_teacher, smaller_is_closer, deeper_is_farther, a_sign_will_do]
    sizes = SIZES[scale]
    depths: list[Experiment] = [DeepLinearEnds(layers=l, starts=sizes, seeds=SETS[scale]) for l in LAYERS[scale]]
    signs = [StartSigns(start=size, seeds=STARTS[scale]) for size in sizes]
    return Plan([*depths, *signs], draw, claims, view=ends_of)


class DeepLinearEnds(Experiment, kind="deep-linear-ends", numerics=1):
    """Where the flow of deep linear students of one depth ends, from balanced starts of several lengths."""

    layers: int
    starts: tuple[float, ...]
    seeds: Seeds

    def run(self, context: Context) -> Arrays:
        ends = depth(self.layers, self.starts, self.seeds)
        return {name: np.stack([getattr(end, name) for end in ends], 1) for name in ENDS}


class StartSigns(Experiment, kind="start-signs", numerics=2):
    """Share of a set's random starts of this length of which neither sign has less loss than 0."""

    start: float
    each: int = EACH
    """Starts per set."""
    seeds: Seeds

    def run(self, context: Context) -> Arrays:
        transfer, stride = TASK.transfer(self.seeds, FEW), 1 + max(self.seeds)
        starts = ([seed + k * stride for seed in self.seeds] for k in range(self.each))
        balanced = [balanced_start(transfer, seeds, 2, self.start) for seeds in starts]
        return {"shortened": np.mean([(start.scale < start.asked).numpy() for start in balanced], axis=0)}


ENDS = ("reached", "predicted", "eps", "off", "many", "took")


@dataclass(frozen=True, eq=False)
class End:
    """Students of one depth from starts of one length: distances from w_hat, of |w_hat| [S].

    reached: where the flow ended; predicted: of the exact limit; eps: guaranteed, infinite where |w(0)| >= |w_hat|;
    off: between the end of the flow and the exact limit, of |w_hat|; many: distance from the teacher for n >= d, of
    |w_*|; took: the time the flow was followed for.
    """

    layers: int
    scale: float
    reached: np.ndarray
    predicted: np.ndarray
    eps: np.ndarray
    off: np.ndarray
    many: np.ndarray
    took: np.ndarray


@dataclass(frozen=True, eq=False)
class DeepEnds:
    """Ends of all settings; shortened: for each length, share of a set's starts without a sign of less loss [S]."""

    ends: list[End]
    shortened: dict[float, np.ndarray]


def ends_of(results: Results) -> DeepEnds:
    """The flow of the product from balanced starts, for both numbers of inputs."""
    ends = [
        End(r.setting("layers"), size, *(np.ascontiguousarray(r[name][:, place]) for name in ENDS))
        for r in results.of(DeepLinearEnds)
        for place, size in enumerate(r.setting("starts"))
    ]
    return DeepEnds(ends, {r.setting("start"): r["shortened"] for r in results.of(StartSigns)})


def depth(layers: int, sizes: Sequence[float], seeds: Sequence[int]) -> list[End]:
    """Follow the flow of one depth to its end from starts of every length, the same sets for each, all at once."""
    few, start, w, took = _settled(FEW, layers, sizes, seeds)
    many, _, whole, _ = _settled(MANY, layers, sizes, seeds)
    goal, last = learned(few), limit(few, start, layers)
    length = goal.norm(dim=1)
    values = (
        (w - goal).norm(dim=1) / length,
        (last - goal).norm(dim=1) / length,
        guaranteed(start.norm(dim=1), length, layers) / length,
        (w - last).norm(dim=1) / length,
        (whole - many.teacher).norm(dim=1) / many.teacher.norm(dim=1),
        took,
    )
    parts = (value.numpy().reshape(len(sizes), -1) for value in values)
    return [End(layers, size, *of_size) for size, *of_size in zip(sizes, *parts, strict=True)]


def _settled(
    count: int, layers: int, sizes: Sequence[float], seeds: Sequence[int]
) -> tuple[TransferSet, Tensor, Tensor, Tensor]:
    """Sets repeated for every length, starts, ends [sizes S, d] and times [sizes S]."""
    once = TASK.transfer(seeds, count)
    start = torch.cat([balanced_start(once, seeds, layers, size).w for size in sizes])
    sets = once[list(range(len(seeds))) * len(sizes)]
    return sets, start, *settle(sets, start, layers, tolerance=TOLERANCE, relative=TOLERANCE / 1000)


def draw(e: DeepEnds) -> Figure:
    """Distance from w_hat against the length of the start; then every student against its guarantee."""
    figure = Figure(figsize=(7.4, 3.0), layout="constrained")
    left, right = figure.subplots(1, 2)
    for colour, layers in zip(PALETTE, sorted({end.layers for end in e.ends}), strict=False):
        ends = [end for end in e.ends if end.layers == layers]
        sizes = [end.scale for end in ends]
        left.plot(sizes, [end.reached.mean() for end in ends], "o", color=colour, markersize=4, label=f"$L$ = {layers}")
        left.plot(sizes, [end.predicted.mean() for end in ends], "-", color=colour, linewidth=1)
        left.plot(sizes, [np.median(end.eps) for end in ends], ":", color=colour)
        reached, eps = (np.concatenate([getattr(end, name) for end in ends]) for name in ("reached", "eps"))
        right.plot(eps, reached, ".", color=colour, markersize=3)
    left.plot([], [], "-", color="#888888", linewidth=1, label="exact limit")
    left.plot([], [], ":", color="#888888", label="guaranteed (median)")
    left.set(
        xscale="log", yscale="log", xlabel="$|w(0)|$", ylabel=r"$|w - \hat w| / |\hat w|$", title="$n$ = 8, $d$ = 20"
    )
    left.legend(fontsize=7)
    line = np.array([5e-3, 2.0])
    right.plot(line, line, "-", color="#888888", linewidth=1)
    right.set(
        xscale="log", yscale="log", xlabel=r"guaranteed $\epsilon / |\hat w|$", ylabel="reached", title="each set"
    )
    return figure


def _name(end: End) -> str:
    return f"L = {end.layers}, |w(0)| = {end.scale:g}"


within = Claim(
    "for n < d the student ends within eps of the teacher's projection",
    statistic="distance of the end of the flow from w_hat over the least eps of Theorem 5.2",
    expected="<= 1",
    values=lambda e: {_name(end): end.reached / end.eps for end in e.ends},
    reason="the radius of the theorem itself",
    about="every",
    possible=(0.0, np.inf),
    place="Thm 5.2",
)

at_limit = Check(
    "the rate of growth of the orthogonal part can be precisely characterised: the end is known exactly",
    statistic="distance of the end of the flow from the limit that the conserved quantity (D.32) gives, of |w_hat|",
    expected="< 0.00001",
    values=lambda e: {_name(end): end.off for end in e.ends},
    reason="the tolerance of the integrated flow",
    standing="own",
)

at_teacher = Check(
    "for n >= d the student learns to mimic the teacher perfectly",
    statistic="distance of the end of the flow from the teacher, of |w_*|",
    expected="< 0.00001",
    values=lambda e: {_name(end): end.many for end in e.ends},
    reason="the tolerance of the integrated flow",
    place="Thm 5.2",
)

smaller_is_closer = Claim(
    "the orthogonal part is controlled by how close to zero the student starts",
    statistic="distance from w_hat after a start ten times as long, over that after this one, less 1",
    expected="> 0",
    values=lambda e: {_name(b): a.reached / b.reached - 1 for a, b in pairwise(e.ends) if a.layers == b.layers},
    reason=DIRECTION,
    place="sec. 5.3",
)

deeper_is_farther = Claim(
    "with more layers the orthogonal part grows more during optimisation",
    statistic="distance from w_hat with one layer more minus that with these, of |w_hat|, set by set",
    expected="> 0",
    values=lambda e: {
        _name(a): b.reached - a.reached
        for a in e.ends
        for b in e.ends
        if b.layers == a.layers + 1 and b.scale == a.scale
    },
    reason=DIRECTION,
)

a_sign_will_do = Claim(
    "for any near-zero start, either w_0 or -w_0 has less loss than 0",
    statistic=f"share of {EACH} starts on one set of inputs of which neither sign has less loss than 0",
    expected="<= 0",
    values=lambda e: {f"|w(0)| = {size:g}": share for size, share in e.shortened.items()},
    reason="the sentence says any start",
    about="every",
    possible=SHARE,
    exceptions=0.01,
    kind="share",
    place="sec. 5.3, after Thm 5.2",
)
