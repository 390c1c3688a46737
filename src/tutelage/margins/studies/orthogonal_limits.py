"""How gradient flow nears its limits on orthogonally separable data (Phuong 2021, section 3.3)."""

from dataclasses import dataclass

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from tutelage.lab import Context, Experiment, Results
from tutelage.lab.experiment import Arrays
from tutelage.margins.datasets import LAWS
from tutelage.margins.flow import NONE, MarginFlow, balanced_start, flow
from tutelage.margins.limits import cosines, fit, growth, limits
from tutelage.margins.max_margin import MaxMargins, max_margins
from tutelage.settings import Seeds
from tutelage.studies.claims import DIRECTION, SHARE, Claim
from tutelage.studies.figures import PALETTE
from tutelage.studies.figures.panels import band
from tutelage.studies.study import Plan, Scale, fresh_seeds, study

UNITS, SAMPLES = 20, 24
HALF, LAST = 345.0, 690.0
TIMES = (-4, -3, -2, -1, 0, 0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 80, 120, 200, HALF, 500, LAST)
"""log t of the records; the last is t = 1e300."""
QUANTITIES = ("pace", "share", "smoothed margin", "factor")
SEEDS: dict[Scale, int] = {"smoke": 2, "quick": 20, "paper": 100}


@dataclass(frozen=True)
class Case:
    """A distribution of points and the scale of the start; the paper's distribution wants a smaller one (Lemma 3.1)."""

    name: str
    distribution: str
    dimension: int
    scale: float


CASES = (
    Case("cones, d = 2", "cones", 2, 1e-4),
    Case("cones, d = 3", "cones", 3, 1e-4),
    Case("cones, d = 5", "cones", 5, 1e-4),
    Case("the paper's distribution, d = 3", "orthants", 3, 1e-16),
)


@study(
    "orthogonal-limits",
    paper="phuong2021",
    figure="sec. 3.3",
    shows="No figure: units first turn to the sum of a class and enter a sector they never leave, then to its "
    "max-margin vector; |W|^2 grows like log t, and the smoothed margin has a limit.",
)
def orthogonal_limits(scale: Scale) -> Plan:
    """How gradient flow nears its limits on orthogonally separable data."""
    paces = [like_one_over_log, no_faster, like_the_root, still_closes]
    claims = [grouped, absorbing, first_phase, second_phase, theorem, *paces, sharper]
    experiments = [
        MarginLimits(
            points=case.distribution, dimension=case.dimension, scale=case.scale, seeds=fresh_seeds(scale, SEEDS[scale])
        )
        for case in CASES
    ]
    return Plan(experiments, draw, claims, view=nearings)


class MarginLimits(Experiment, kind="margin-limits", numerics=1):
    """How near the exact flow of logistic loss from a small balanced start comes to each of its limits, over time."""

    points: str
    dimension: int
    scale: float
    samples: int = SAMPLES
    units: int = UNITS
    log_times: tuple[float, ...] = TIMES
    seeds: Seeds

    @property
    def cost(self) -> float:
        return 0.05 * self.members

    def run(self, context: Context) -> Arrays:
        data = LAWS[self.points](self.seeds, count=self.samples, dimension=self.dimension)
        start = balanced_start(self.seeds, self.units, self.dimension, self.scale)
        result = nearing(CASES[0], flow(data, start, self.log_times), max_margins(data))
        out = {name: getattr(result, name).T for name in OVER_TIME}
        out |= {f"off_{name}".replace(" ", "_"): values.T for name, values in result.off.items()}
        return out | {name: getattr(result, name) for name in ("ever_left", "settled", "spans")}


OVER_TIME = ("max_margin", "class_sum", "first", "second", "grouped")


def nearings(results: Results) -> "list[Nearing]":
    """What every case says of the limits."""
    out = []
    for case, r in zip(CASES, results, strict=True):
        over = {name: np.ascontiguousarray(r[name].T) for name in OVER_TIME}
        off = {name: np.ascontiguousarray(r[f"off_{name}".replace(" ", "_")].T) for name in QUANTITIES}
        ends = {name: r[name] for name in ("ever_left", "settled", "spans")}
        out.append(Nearing(case=case, off=off, **over, **ends))
    return out


@dataclass(frozen=True, eq=False)
class Nearing:
    """One case along log t.

    max_margin, class_sum: mean cosines over units that live, weighted by |w_j|^2 [T, S]; first, second: what is left
    of (3.8) and (3.9) [T, S]; off: relative difference of each quantity from its limit, the larger of both classes
    [T, S]; grouped: share of the units in J_0, J_+ or J_- [T, S]; ever_left: share of the units that ever left an
    extremal sector of their sign [S]; settled: log of the time T of Lemma 3.1 [S]; spans: whether supports span the
    space [S].
    """

    case: Case
    max_margin: np.ndarray
    class_sum: np.ndarray
    first: np.ndarray
    second: np.ndarray
    off: dict[str, np.ndarray]
    grouped: np.ndarray
    ever_left: np.ndarray
    settled: np.ndarray
    spans: np.ndarray

    def at_settled(self) -> np.ndarray:
        """Cosine with the class sum less that with the max margin at the first record after T: [S], NaN for none."""
        place = np.searchsorted(TIMES, self.settled)
        there = np.minimum(place, len(TIMES) - 1)
        rows = np.arange(len(place))
        return np.where(place < len(TIMES), (self.class_sum - self.max_margin)[there, rows], np.nan)


def nearing(case: Case, course: MarginFlow, margins: MaxMargins) -> Nearing:
    """What a course says of the limits; quantities of a class without units are NaN."""
    angles = cosines(course.w, course.a, course.data, margins)
    weight = course.w.square().sum(3) * (course.groups != 0)
    means = [((c * weight).sum(2) / weight.sum(2)).numpy() for c in (angles.max_margin, angles.class_sum)]
    residual = fit(course.w, course.a, margins)
    inside = [(course.groups_at(place) != NONE).double().mean(1) for place in range(len(course.log_times))]
    return Nearing(
        case,
        means[0],
        means[1],
        residual.first.numpy(),
        residual.second.numpy(),
        _differences(course, margins),
        torch.stack(inside).numpy(),
        (course.left > 0).double().mean(1).numpy(),
        course.settled().numpy(),
        (margins.positive.spans & margins.negative.spans).numpy(),
    )


def _differences(course: MarginFlow, margins: MaxMargins) -> dict[str, np.ndarray]:
    """|met / limit - 1| of each quantity: [T, S]."""
    goal, plus, minus = limits(margins), growth(course, 1), growth(course, -1)
    residual = fit(course.w, course.a, margins)
    u, z = (c.square().sum(2) * m.norm / 2 for c, m in ((residual.u, margins.positive), (residual.z, margins.negative)))
    both = ((course.groups == 1).any(1) & (course.groups == -1).any(1)).expand_as(plus.norm)

    def off(*pairs: tuple[Tensor, Tensor]) -> np.ndarray:
        worst = torch.stack([(met / wanted - 1).abs() for met, wanted in pairs]).amax(0)
        return torch.where(both, worst, torch.nan).numpy()

    share = plus.norm / (plus.norm + minus.norm).clamp_min(1e-300)
    return {
        "pace": off((plus.pace, goal.pace_plus), (minus.pace, goal.pace_minus)),
        "share": off((share, goal.share), (1 - share, 1 - goal.share)),
        "smoothed margin": off(
            (plus.smoothed_margin, goal.smoothed_plus), (minus.smoothed_margin, goal.smoothed_minus)
        ),
        "factor": off((u, goal.factor), (z, goal.factor)),
    }


def draw(nearings: list[Nearing]) -> Figure:
    """One row per case, against log t: the two phases, what is left of Theorem 3.1, and of the sharper limits."""
    figure = Figure(figsize=(9.6, 2.3 * len(nearings) + 0.4), layout="constrained")
    axes = figure.subplots(len(nearings), 3, sharex="col", squeeze=False)
    log_t = np.array(TIMES, float)
    late = log_t >= 5
    for row, nearing in zip(axes, nearings, strict=True):
        band(row[0], log_t, nearing.class_sum, PALETTE[2], "class sum")
        band(row[0], log_t, nearing.max_margin, PALETTE[3], "max margin")
        row[0].plot(log_t, nearing.grouped.mean(1), ":", color=PALETTE[6], label="share in a group")
        row[0].set(xscale="symlog", ylabel=f"{nearing.case.name}\ncosine, by $|w|^2$", ylim=(None, 1.02))
        _left(row[1], log_t, late, nearing)
        for name, colour in zip(QUANTITIES, (PALETTE[0], PALETTE[1], PALETTE[2], PALETTE[4]), strict=True):
            row[2].plot(log_t[late], np.nanmedian(nearing.off[name], 1)[late], color=colour, label=name)
        guide = 3 * np.nanmedian(nearing.off["pace"][-1]) * LAST / log_t[late]
        row[2].plot(log_t[late], guide, ":", color="#888888", label=r"$1/\log t$")
        row[2].set(xscale="log", yscale="log")
    titles = "two phases", "left of Theorem 3.1, all seeds", "off the sharper limits (median)"
    for panel, last, title in zip(axes[0], axes[-1], titles, strict=True):
        panel.set_title(title)
        panel.legend(fontsize=6, ncols=2 if panel is axes[0, 2] else 1)
        last.set_xlabel("log t")
    return figure


def _left(panel: Axes, log_t: np.ndarray, late: np.ndarray, nearing: Nearing) -> None:
    """What is left of (3.8), one line per seed, those whose supports span the space apart, with both guides."""
    for spanning, colour, name in ((False, PALETTE[0], "supports do not span"), (True, PALETTE[3], "supports span")):
        lines = nearing.first[:, nearing.spans == spanning]
        if lines.size:
            panel.plot(log_t[late], lines[late], color=colour, linewidth=0.4, alpha=0.3)
            panel.plot([], [], color=colour, label=name)
    top = 2 * nearing.first[-1].max()
    for power, style in ((1.0, ":"), (0.5, "-.")):
        name = r"$1/\log t$" if power == 1 else r"$1/\sqrt{\log t}$"
        panel.plot(log_t[late], top * (LAST / log_t[late]) ** power, style, color="#888888", label=name)
    panel.set(xscale="log", yscale="log")


grouped = Claim(
    "from a small start every unit ends inactive or in the extremal sector of its sign (Lemma 3.1)",
    statistic="share of a network's units in J_0, J_+ or J_- at t = 1e300",
    expected=">= 1",
    values=lambda nearings: {nearing.case.name: nearing.grouped[-1] for nearing in nearings},
    reason="the lemma says every unit",
    about="every",
    possible=SHARE,
    exceptions=0.05,
    kind="share",
    place="Lemma 3.1",
)

absorbing = Claim(
    "extremal sectors are never left (Lemma 3.3)",
    statistic="share of a network's units that ever left an extremal sector of their sign",
    expected="<= 0",
    values=lambda nearings: {nearing.case.name: nearing.ever_left for nearing in nearings},
    reason="the lemma says never",
    about="every",
    possible=SHARE,
    exceptions=0.05,
    kind="share",
    place="Lemma 3.3",
)

first_phase = Claim(
    "the first phase turns units to the class sum",
    statistic="cosine with the class sum less that with the max-margin vector, mean over living units by |w|^2, at the "
    "first record after all units are in their groups",
    expected="> 0",
    values=lambda nearings: {nearing.case.name: nearing.at_settled() for nearing in nearings},
    reason=DIRECTION,
    place="sec. 3.3",
)

second_phase = Claim(
    "the second phase turns them to the max-margin vector",
    statistic="cosine with the max-margin vector less that with the class sum, mean over living units by |w|^2, at "
    "t = 1e300",
    expected="> 0",
    values=lambda nearings: {nearing.case.name: (nearing.max_margin - nearing.class_sum)[-1] for nearing in nearings},
    reason=DIRECTION,
    place="sec. 3.3",
)

theorem = Claim(
    "W/|W| tends to u w_+ + z w_-, and a/|a| to u |w_+| - z |w_-| (Theorem 3.1)",
    statistic="norm of what is left of (3.8), and of (3.9), at t = 1e300",
    expected="< 0.1",
    values=lambda nearings: {
        f"{nearing.case.name}, {name}": left[-1]
        for nearing in nearings
        for name, left in (("first layer", nearing.first), ("second layer", nearing.second))
    },
    reason="a tenth of the norm; the approach is logarithmic in time",
    possible=(0.0, np.inf),
    place="Thm 3.1",
)


def _halving(nearings: list[Nearing], spanning: bool) -> dict[str, np.ndarray]:
    """What is left of (3.8) at log t = 690 over that at 345, of members whose supports span the space, or do not."""
    return {
        nearing.case.name: np.where(
            nearing.spans == spanning, nearing.first[-1] / nearing.first[TIMES.index(HALF)], np.nan
        )
        for nearing in nearings
        if (nearing.spans == spanning).sum() > 1
    }


like_one_over_log = Claim(
    "where the support samples of both classes span the space, what is left of the first layer closes like 1/log t",
    statistic="what is left of (3.8) at log t = 690 over that at 345, seed by seed; 1/log t makes it 0.5",
    expected="< 0.6",
    values=lambda nearings: _halving(nearings, True),
    reason="between the 0.5 of 1/log t and the 0.71 of its root",
    possible=(0.0, np.inf),
    standing="own",
)

no_faster = Claim(
    "and no faster than that (added after the bound from above, which a faster approach meets too)",
    statistic="the same; 1/(log t)^2 would make it 0.25",
    expected="> 0.35",
    values=lambda nearings: _halving(nearings, True),
    reason="between the 0.5 of 1/log t and the 0.25 of its square, at the power 1.5",
    possible=(0.0, np.inf),
    standing="own",
)

like_the_root = Claim(
    "where they do not, it closes like the root of that: what W has across the span stays, and |W|^2 grows like log t",
    statistic="the same of seeds whose supports do not span; 1/sqrt(log t) makes it 0.71",
    expected="> 0.6",
    values=lambda nearings: _halving(nearings, False),
    reason="between the 0.5 of 1/log t and the 0.71 of its root",
    possible=(0.0, np.inf),
    standing="own",
)

still_closes = Claim(
    "and no slower than that (added after the bound from below, which what does not close at all meets too)",
    statistic="the same; what stays as it is has 1",
    expected="< 0.84",
    values=lambda nearings: _halving(nearings, False),
    reason="between the 0.71 of 1/sqrt(log t) and the 1 of what does not close, at the power 1/4",
    possible=(0.0, np.inf),
    standing="own",
)

sharper = Claim(
    "|W_+-|^2/log t, the share of |W_+|^2, the smoothed margins and the factors of Corollary 3.1 have the limits that "
    "Lemma B.6 gives",
    statistic="relative difference from the limit at t = 1e300, the larger of both classes",
    expected="< 0.05",
    values=lambda nearings: {
        f"{name}: {nearing.case.name}": nearing.off[name][-1] for nearing in nearings for name in QUANTITIES
    },
    reason="a twentieth of the limit; the approach is logarithmic in time",
    possible=(0.0, np.inf),
    place="Lemma B.6",
)
