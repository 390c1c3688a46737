"""What becomes of the max-margin limit when one of its assumptions is dropped (Phuong 2021, chapter 3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from matplotlib.figure import Figure

from tutelage.errors import TutelageError
from tutelage.functions.pruning.surgery import prune
from tutelage.lab import Context, Experiment, Results
from tutelage.lab.experiment import Arrays
from tutelage.margins.datasets import LAWS, LabelledPoints, cones
from tutelage.margins.flow import NONE, MarginFlow, balanced_start, flow
from tutelage.margins.limits import fit
from tutelage.margins.max_margin import max_margins
from tutelage.settings import Seeds
from tutelage.studies.claims import SHARE, Claim, Measured
from tutelage.studies.figures import PALETTE
from tutelage.studies.figures.panels import band
from tutelage.studies.study import Plan, Scale, fresh_seeds, study

UNITS, DIMENSION, SMALL = 20, 3, 1e-4
TIMES = (0.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 300.0, 690.0)
"""log t of the records; the last is t = 1e300."""
COMMON = 300.0
"""log t at which losses are compared: for a power tail later times are beyond double precision."""
DATA = {"cones": TIMES, "half-spaces": TIMES[: TIMES.index(20.0) + 1], "clashing": (0.0, 2.0, 4.0, 5.0)}
"""Distributions of points and when to look: but on separable points, late times are beyond double precision."""
SCALES_OF_START = (1e-6, 1e-4, 1e-2, 1e-1, 1.0, 3.0, 10.0, 30.0)
LOSSES = ("logistic", "exponential", "polynomial")
WIDTHS = (1, 2, 3, 4, 6, 8, 12, 16)
TOLD = 8
"""The largest width for which a thousand starts can tell a share from 2^-p."""
MERGED = 0.1
"""Units whose directions differ by at most this are merged, and those this much weaker than the strongest left out."""
SEEDS: dict[Scale, int] = {"smoke": 2, "quick": 16, "paper": 64}
STARTS: dict[Scale, int] = {"smoke": 8, "quick": 200, "paper": 1_000}


@study(
    "bias-contrasts",
    paper="phuong2021",
    figure="sec. 3, contrasts",
    shows="No figure: Theorem 3.1 asks for a start near zero, orthogonally separable data and a unit that lives, which "
    "happens with probability 1 - 2^-p; the paper says that the results hold for general losses.",
)
def bias_contrasts(scale: Scale) -> Plan:
    """What becomes of the max-margin limit when one of its assumptions is dropped."""
    claims = [from_near_zero, not_from_afar, two_units, more_elsewhere, not_merely_separable, other_tails]
    claims += [claim(p) for claim in (_alive, _empty) for p in WIDTHS if p <= TOLD]
    flows = [
        FlowContrast(contrast="start", scale=size, seeds=fresh_seeds(scale, SEEDS[scale])) for size in SCALES_OF_START
    ]
    flows += [
        FlowContrast(contrast="data", points=distribution, log_times=t, seeds=fresh_seeds(scale, SEEDS[scale]))
        for distribution, t in DATA.items()
    ]
    early = TIMES[: TIMES.index(COMMON) + 1]
    flows += [
        FlowContrast(contrast="loss", loss=loss, log_times=early, seeds=fresh_seeds(scale, SEEDS[scale]))
        for loss in LOSSES
    ]
    widths = [EmptyGroups(units=units, seeds=fresh_seeds(scale, STARTS[scale])) for units in WIDTHS]
    return Plan([*flows, *widths], draw, claims, view=contrasts)


class FlowContrast(Experiment, kind="flow-contrast", numerics=1):
    """The exact flow from a balanced start, 20 units on 24 points, in a setting that differs in one thing.

    contrast: what it is compared for; the other settings are those of logistic loss on cones from a small start.
    """

    contrast: Literal["start", "data", "loss"]
    points: str = "cones"
    scale: float = SMALL
    loss: str = "logistic"
    dimension: int = DIMENSION
    log_times: tuple[float, ...] = TIMES
    seeds: Seeds

    @property
    def cost(self) -> float:
        """Seconds of one core, roughly, as measured at two sizes."""
        return 0.2 + 0.07 * self.members

    def run(self, context: Context) -> Arrays:
        data = LAWS[self.points](self.seeds, dimension=self.dimension)
        networks = contrast(data, self.seeds, self.log_times, self.scale, self.loss)
        residual = {} if networks.left is None else {"residual": networks.left.T}
        return {"outside": networks.outside, "units_left": networks.units, **residual}


class EmptyGroups(Experiment, kind="empty-groups", numerics=1):
    """Whether one or both of the groups of living units are empty once the first phase is over."""

    units: int
    seeds: Seeds

    @property
    def cost(self) -> float:
        """Seconds of one core, roughly, as measured at two sizes."""
        return 0.2 + 0.009 * self.members

    def run(self, context: Context) -> Arrays:
        groups = width(self.units, self.seeds)
        return {"one_empty": groups.one_empty, "both_empty": groups.both_empty}


@dataclass(frozen=True, eq=False)
class Contrast:
    """Networks of one setting along log t.

    left: of (3.8) [T, S], None where there is no max-margin vector; outside: share of the units in none of J_0, J_+,
    J_- at the end [S]; units: left after merging at the end [S].
    """

    log_times: tuple[float, ...]
    left: np.ndarray | None
    outside: np.ndarray
    units: np.ndarray

    def left_at(self, log_t: float) -> np.ndarray:
        """What is left of (3.8) at one of the records: [S]."""
        assert self.left is not None
        return self.left[self.log_times.index(log_t)]


@dataclass(frozen=True, eq=False)
class GroupsByWidth:
    """Networks of so many units: whether exactly one of J_+ and J_- is empty at the end, and whether both are [S]."""

    units: int
    one_empty: np.ndarray
    both_empty: np.ndarray


@dataclass(frozen=True, eq=False)
class Contrasts:
    """Settings that differ in one thing from logistic loss on cones from a small start."""

    starts: dict[float, Contrast]
    data: dict[str, Contrast]
    losses: dict[str, Contrast]
    widths: list[GroupsByWidth]


def contrasts(results: Results) -> Contrasts:
    """All settings, by what they differ in."""
    by_contrast: dict[str, dict] = {"start": {}, "data": {}, "loss": {}}
    names = {"start": "scale", "data": "points", "loss": "loss"}
    for r in results.of(FlowContrast):
        residual = r.get("residual")
        left = None if residual is None else np.ascontiguousarray(residual.T)
        about = r.setting("contrast")
        networks = Contrast(r.setting("log_times"), left, r["outside"], r["units_left"])
        by_contrast[about][r.setting(names[about])] = networks
    widths = [GroupsByWidth(r.setting("units"), r["one_empty"], r["both_empty"]) for r in results.of(EmptyGroups)]
    return Contrasts(by_contrast["start"], by_contrast["data"], by_contrast["loss"], widths)


def contrast(
    data: LabelledPoints,
    seeds: Sequence[int],
    log_times: tuple[float, ...],
    size: float = SMALL,
    loss: str = "logistic",
) -> Contrast:
    """The flow in one setting."""
    course = flow(data, balanced_start(seeds, UNITS, DIMENSION, size), log_times, loss=loss)
    return Contrast(
        log_times,
        _left(course),
        (course.groups == NONE).double().mean(1).numpy(),
        prune(course.network(), tolerance=MERGED).widths[:, 0].double().numpy(),
    )


def _left(course: MarginFlow) -> np.ndarray | None:
    try:
        margins = max_margins(course.data)
    except TutelageError:
        return None
    return fit(course.w, course.a, margins).first.numpy()


def width(units: int, seeds: Sequence[int]) -> GroupsByWidth:
    """Which groups are empty once the first phase is over."""
    data = cones(seeds, dimension=DIMENSION)
    groups = flow(data, balanced_start(seeds, units, DIMENSION, SMALL), [10.0]).groups
    empty = torch.stack([~(groups == sign).any(1) for sign in (1, -1)]).sum(0)
    return GroupsByWidth(units, (empty == 1).double().numpy(), (empty == 2).double().numpy())


def draw(e: Contrasts) -> Figure:
    """One panel per contrast: the start's scale, the data, the loss, the width."""
    figure = Figure(figsize=(11.2, 2.9), layout="constrained")
    axes = figure.subplots(1, 4)
    sizes = np.array(list(e.starts))
    for values, colour, name in (
        ([c.left_at(TIMES[-1]) for c in e.starts.values()], PALETTE[0], "left of (3.8)"),
        ([c.outside for c in e.starts.values()], PALETTE[1], "units in no group"),
    ):
        band(axes[0], sizes, np.stack(values), colour, name)
    axes[0].set(title="start, at t = 1e300", xlabel=r"$\lambda$", xscale="log", ylim=(0, None))
    counts = np.arange(1, UNITS + 1)
    for place, (distribution, networks) in enumerate(e.data.items()):
        share = [(networks.units == k).mean() for k in counts]
        label = f"{distribution}, log t = {networks.log_times[-1]:g}"
        axes[1].bar(counts + 0.27 * (place - 1), share, 0.27, color=PALETTE[place], label=label)
    most = max(int(networks.units.max()) for networks in e.data.values())
    axes[1].set(title="units left after merging", xlabel="units", ylabel="share of networks", xlim=(0.4, most + 0.6))
    for colour, (loss, networks) in zip(PALETTE, e.losses.items(), strict=False):
        assert networks.left is not None
        band(axes[2], np.array(networks.log_times), networks.left, colour, loss)
    axes[2].set(title="loss, left of (3.8)", xlabel="log t", xscale="symlog", ylim=(0, None))
    widths = np.array(WIDTHS)
    for name, colour, values in (
        ("one group empty", PALETTE[3], [w.one_empty for w in e.widths]),
        ("both empty", PALETTE[0], [w.both_empty for w in e.widths]),
    ):
        axes[3].plot(widths, [v.mean() for v in values], "o", color=colour, markersize=4, label=name)
    axes[3].plot(widths, 2.0 ** (1 - widths), ":", color=PALETTE[3], label=r"$2^{1-p}$")
    axes[3].plot(widths, 2.0**-widths, ":", color=PALETTE[0], label=r"$2^{-p}$")
    axes[3].set(title="width", xlabel="units p", ylabel="share of networks", ylim=(-0.0002, 1.3))
    axes[3].set_yscale("symlog", linthresh=1e-3)
    for panel in axes:
        panel.legend(fontsize=6)
    return figure


def _when_units_die(both_empty: np.ndarray) -> Measured:
    """On cones the class sum pulls some unit of every start, so that none loses all of them: then nothing can be seen.

    The least that is possible meets the claim as well, unless some start does lose them.
    """
    return Measured(both_empty, baseline=None if both_empty.any() else 0.0)


from_near_zero = Claim(
    "from a start near zero the network becomes two max-margin units",
    statistic="what is left of (3.8) on cones at t = 1e300, for this lambda",
    expected="< 0.1",
    values=lambda e: {f"{size:g}": networks.left_at(TIMES[-1]) for size, networks in e.starts.items() if size <= 0.1},
    reason="a tenth of the norm",
    possible=(0.0, np.inf),
    place="Thm 3.1",
)

not_from_afar = Claim(
    "from a large start it does not, by t = 1e300",
    statistic="what is left of (3.8) on cones at t = 1e300, for this lambda",
    expected="> 0.1",
    values=lambda e: {f"{size:g}": networks.left_at(TIMES[-1]) for size, networks in e.starts.items() if size >= 10},
    reason="a tenth of the norm, as for small starts",
    possible=(0.0, np.inf),
    standing="own",
)

two_units = Claim(
    "on orthogonally separable data two units are left",
    statistic="units after merging directions closer than 0.1 and leaving out units below a tenth of the strongest, at "
    "t = 1e300",
    expected="<= 2",
    values=lambda e: {"cones": e.data["cones"].units},
    reason="the sentence says two",
    about="every",
    possible=(0.0, np.inf),
)

more_elsewhere = Claim(
    "on other data more are left in the mean, as units may stay in several extremal sectors",
    statistic="the same for merely linearly separable points at log t = 20, and for points that cannot be fitted at "
    "log t = 5",
    expected="> 2.5",
    values=lambda e: {
        distribution: networks.units for distribution, networks in e.data.items() if distribution != "cones"
    },
    reason="more than two, half way to three",
    possible=(0.0, np.inf),
    place="sec. 3.5",
)

not_merely_separable = Claim(
    "linear separability alone does not lead to the two max-margin units",
    statistic="what is left of (3.8) on half-spaces less what is left on cones, both at log t = 20, seed by seed",
    expected="> 0.1",
    values=lambda e: {"half-spaces": e.data["half-spaces"].left_at(20.0) - e.data["cones"].left_at(20.0)},
    reason="a tenth of the norm",
)

other_tails = Claim(
    "with a power tail units do not come to the max-margin vectors (our own: the paper says that its results hold for "
    "any loss with a bounded Lipschitz derivative of one sign, and this loss has one)",
    statistic="what is left of (3.8) on cones at log t = 300 with this loss less that with logistic loss, seed by seed",
    expected="> 0.05",
    values=lambda e: {"polynomial": e.losses["polynomial"].left_at(COMMON) - e.losses["logistic"].left_at(COMMON)},
    reason="half of the tenth that is read as arrived",
    standing="own",
)


def _width(e: Contrasts, units: int) -> GroupsByWidth:
    return next(w for w in e.widths if w.units == units)


def _alive(units: int) -> Claim:
    return Claim(
        f"all units are inactive with probability at most 2^-p, for p = {units}",
        statistic="one where J_+ and J_- are both empty at log t = 10, else zero, start by start",
        expected=f"<= {2.0**-units}",
        values=lambda e: {f"p = {units}": _when_units_die(_width(e, units).both_empty)},
        reason="the probability of the statement itself",
        possible=SHARE,
        kind="outcome",
    )


def _empty(units: int) -> Claim:
    return Claim(
        f"but one class has no unit more often than that, so that the network is 0 on it, for p = {units}",
        statistic="one where exactly one of J_+ and J_- is empty at log t = 10, else zero, start by start",
        expected=f"> {2.0**-units}",
        values=lambda e: {f"p = {units}": _width(e, units).one_empty},
        reason="the probability that the statement gives to no unit at all",
        possible=SHARE,
        kind="outcome",
        standing="own",
    )
