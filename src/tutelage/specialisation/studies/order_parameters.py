"""Online SGD in many dimensions follows a few differential equations (Tian 2020, section 2; Saad and Solla 1995)."""

from dataclasses import dataclass

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from tutelage.lab import Context, Experiment, Results, Shared
from tutelage.lab.experiment import Arrays
from tutelage.population.expectations import Units
from tutelage.population.flow import flow
from tutelage.population.fluctuations import fluctuations
from tutelage.population.online_sgd import online_sgd
from tutelage.population.order_parameters import follow_overlaps
from tutelage.population.overlaps import overlaps
from tutelage.settings import Seeds
from tutelage.studies.claims import SIGNED, Claim
from tutelage.studies.figures import PALETTE, panel_grid
from tutelage.studies.study import Plan, Scale, study

DIMENSIONS: dict[Scale, tuple[int, ...]] = {"smoke": (20, 80), "quick": (25, 100, 400), "paper": (100, 400, 1600)}
SEEDS: dict[Scale, int] = {"smoke": 4, "quick": 24, "paper": 48}
LAST: dict[Scale, float] = {"smoke": 5.0, "quick": 20.0, "paper": 20.0}
RATES = {"erf": 1.0, "relu": 0.6}
"""eta per activation: d times the learning rate."""
START = ((0.3, 0.2, 0.5, 0.0), (0.2, 0.3, 0.0, 0.5))
"""Two students, each barely nearer to its own one of two orthonormal teachers; the last two coordinates are theirs."""
FRAMES = 20


@study(
    "order-parameters",
    paper="tian2020",
    figure="sec. 2",
    shows="No figure: the paper sets finite dimensions against the limit of Saad and Solla (1995), where the overlaps "
    "of students and teachers under online SGD follow differential equations.",
)
def order_parameters(scale: Scale) -> Plan:
    """Online SGD against its limit of many dimensions."""
    experiments: list[Experiment] = []
    for activation, rate in RATES.items():
        experiments.append(OverlapLimit(activation=activation, rate=rate, last=LAST[scale]))
        for d in DIMENSIONS[scale]:
            run = OnlineOverlaps(activation=activation, rate=rate, last=LAST[scale], dimension=d, seeds=SEEDS[scale])
            experiments.append(run)
    return Plan(
        experiments, draw, [near, as_a_root, no_bias, more_than_flow, spread_at_most, spread_at_least], view=courses
    )


class OverlapLimit(Experiment, kind="overlap-limit", numerics=2):
    """Overlaps of two students and two teachers in infinitely many dimensions, with and without the term in eta^2, and
    the spread that is expected in d dimensions, times the root of d."""

    activation: str
    rate: float
    last: float
    frames: int = FRAMES

    def run(self, context: Context) -> Arrays:
        times = np.linspace(0, self.last, self.frames + 1)
        teacher, student = _pair(self.activation, len(START[0]), 1)
        limit = follow_overlaps(overlaps(teacher, student), self.rate, times.tolist())
        expected = fluctuations(teacher, student, self.rate, times.tolist())
        course = flow(teacher, student, (self.rate * times).tolist())
        without = course.w @ course.w.mT, course.w @ teacher.w.mT
        return {
            "times": Shared(times),
            "limit": Shared(_seven(limit.q, limit.r.mT)[0]),  # [T, 7]
            "flow": Shared(_seven(*without)[0]),
            "spread": Shared(_seven(expected.q(1), expected.r(1).mT)[0]),
        }


class OnlineOverlaps(Experiment, kind="online-overlaps", numerics=1):
    """Overlaps under online SGD in finitely many dimensions; all members start from the same overlaps."""

    activation: str
    rate: float
    last: float
    dimension: int
    seeds: Seeds
    frames: int = FRAMES

    @property
    def cost(self) -> float:
        """Seconds of one core, roughly, as measured at two sizes."""
        return self.last * self.dimension * (7e-4 + 2.5e-8 * self.members * self.dimension)

    def run(self, context: Context) -> Arrays:
        times = np.linspace(0, self.last, self.frames + 1)
        pair = _pair(self.activation, self.dimension, self.members)
        run = online_sgd(*pair, self.rate, times.tolist(), self.seeds)
        return {"course": _seven(run.q, run.r.mT)}  # [S, T, 7]


@dataclass(frozen=True)
class OverlapCourse:
    """Overlaps (R_11, R_12, R_21, R_22, Q_11, Q_12, Q_22) of one activation over time.

    limit and flow [T, 7]: from the equations with and without the term in eta^2; spread [T, 7]: the expected standard
    deviation times the root of d; simulated [D, T, S, 7].
    """

    activation: str
    times: np.ndarray
    dimensions: tuple[int, ...]
    limit: np.ndarray
    flow: np.ndarray
    spread: np.ndarray
    simulated: np.ndarray

    def gaps(self, theory: np.ndarray) -> np.ndarray:
        """Root mean square over times and overlaps of simulation less theory, per dimension and seed: [D, S]."""
        return np.sqrt(((self.simulated - theory[None, :, None]) ** 2).mean((1, 3)))

    @property
    def label(self) -> str:
        return f"{self.activation}, d = {self.dimensions[-1]}"


NAMES = ("$R_{11}$", "$R_{12}$", "$R_{21}$", "$R_{22}$", "$Q_{11}$", "$Q_{12}$", "$Q_{22}$")


def courses(results: Results) -> list[OverlapCourse]:
    """The course of each activation, all dimensions together."""
    out = []
    for theory in results.of(OverlapLimit):
        runs = results.of(OnlineOverlaps).where(activation=theory.setting("activation"))
        out.append(
            OverlapCourse(
                theory.setting("activation"),
                theory["times"],
                tuple(run.setting("dimension") for run in runs),
                theory["limit"],
                theory["flow"],
                theory["spread"],
                np.stack([np.ascontiguousarray(run["course"].swapaxes(0, 1)) for run in runs]),
            )
        )
    return out


def _pair(activation: str, d: int, members: int) -> tuple[Units, Units]:
    """The teacher and the students in d dimensions; which ones does not matter, since inputs look alike from all."""
    start = torch.tensor(START, dtype=torch.float64)
    w = torch.zeros(members, 2, d, dtype=torch.float64)
    w[..., : start.shape[1]] = start
    teacher = torch.eye(2, d, dtype=torch.float64).unsqueeze(0)
    return Units(teacher, torch.ones(1, 2, 1), activation), Units(w, torch.ones(members, 2, 1), activation)


def _seven(q: Tensor, r: Tensor) -> np.ndarray:
    """The seven overlaps in a row: q and r [T, S, 2, 2] -> [S, T, 7]."""
    students = q.flatten(2)[..., [0, 1, 3]]
    return torch.cat([r.flatten(2), students], 2).swapaxes(0, 1).numpy()


def draw(courses: list[OverlapCourse]) -> Figure:
    """Above: overlaps over time, lines and bands of a standard deviation from the equations, marks from simulations.
    Below: their gap against d."""
    names = [rf"{s.activation}, $\eta$ = {RATES[s.activation]:g}" for s in courses]
    figure, axes = panel_grid(["", ""], names, "", "", size=(3.6, 2.7), sharex=False, sharey="row")
    for column, course in enumerate(courses):
        above, below = axes[:, column]
        for colour, overlap in zip(PALETTE, (0, 1, 4, 5), strict=False):
            above.plot(course.times, course.limit[:, overlap], color=colour, label=NAMES[overlap])
            above.plot(course.times, course.flow[:, overlap], ":", color=colour, linewidth=1)
            wide = course.spread[:, overlap] / course.dimensions[-1] ** 0.5
            mean = course.limit[:, overlap]
            above.fill_between(course.times, mean - wide, mean + wide, color=colour, alpha=0.2, linewidth=0)
            runs = course.simulated[-1, ::2, :, overlap]
            above.errorbar(
                course.times[::2], runs.mean(1), runs.std(1), fmt="o", markersize=3, color=colour, linewidth=1
            )
        above.set_xlabel("steps / $d$")
        gaps, sizes = course.gaps(course.limit), np.array(course.dimensions, float)
        below.errorbar(
            sizes, gaps.mean(1), gaps.std(1), fmt="o-", markersize=4, color=PALETTE[0], label=r"equations with $\eta^2$"
        )
        below.plot(sizes, course.gaps(course.flow).mean(1), "s:", markersize=4, color=PALETTE[3], label="gradient flow")
        below.plot(sizes, gaps.mean(1)[0] * (sizes[0] / sizes) ** 0.5, "--", color="#999999", label=r"$1/\sqrt{d}$")
        below.set(xscale="log", yscale="log", xlabel="dimension $d$", xticks=sizes)
        below.set_xticks(sizes, labels=[f"{d:g}" for d in sizes])
        below.set_xticks([], minor=True)
    axes[0, 0].set_ylabel(f"overlap (marks: $d$ = {courses[0].dimensions[-1]};\ndotted: gradient flow)")
    axes[1, 0].set_ylabel("rms gap from SGD")
    axes[0, 0].legend(ncols=2)
    axes[1, 0].legend()
    return figure


near = Claim(
    "in many dimensions online SGD follows the equations",
    statistic="root mean square over times and overlaps of simulation less equations, at the largest dimension (the "
    "teachers have length 1)",
    expected="< 0.05",
    values=lambda courses: {s.label: s.gaps(s.limit)[-1] for s in courses},
    reason="a twentieth of a teacher's length",
    possible=(0.0, np.inf),
)


def exponents(dimensions: np.ndarray, gaps: np.ndarray) -> np.ndarray:
    """Slope of log gap against log d, seed by seed: [D], [D, S] -> [S]."""
    return np.polyfit(np.log(dimensions), np.log(gaps), 1)[0]


as_a_root = Claim(
    "the gap from the equations closes with the dimension, like 1/sqrt(d)",
    statistic="slope of log gap against log dimension, seed by seed; -0.5 is expected, and half of it is asked for",
    expected="< -0.25",
    values=lambda courses: {s.activation: exponents(np.array(s.dimensions), s.gaps(s.limit)) for s in courses},
    reason="half of the exponent -0.5 of the theory",
)


def common_share(gap: np.ndarray) -> np.ndarray:
    """Share of the squared gap that two seeds have in common, over pairs of seeds: [T, S, 7] -> [S // 2].

    Its mean is the squared bias over bias and variance together: near 0 where the equations are right in the mean.
    """
    first, second = gap[:, 0::2], gap[:, 1::2]
    pairs = second.shape[1]
    first = first[:, :pairs]
    return 2 * (first * second).sum((0, 2)) / (first**2 + second**2).sum((0, 2))


no_bias = Claim(
    "what gap there is comes mostly from the samples: two seeds have less than a quarter of its square in common",
    statistic="share of the squared gap at the largest dimension that two seeds have in common, pair by pair",
    expected="< 0.25",
    values=lambda courses: {s.label: common_share(s.simulated[-1] - s.limit[:, None]) for s in courses},
    reason="a quarter of the squared gap",
    possible=SIGNED,
    standing="own",
)

more_than_flow = Claim(
    "at these rates gradient flow, without the term in eta^2, is another course",
    statistic="log10 of the gap from gradient flow over the gap from the equations, at the largest dimension",
    expected="> 0.3",
    values=lambda courses: {s.label: np.log10(s.gaps(s.flow)[-1] / s.gaps(s.limit)[-1]) for s in courses},
    reason="twice the gap",
    standing="own",
)


def squares(course: OverlapCourse) -> np.ndarray:
    """Mean square over times and overlaps of the gap over the expected deviation, at the largest dimension: [S].

    The start is left out, where all members are the same.
    """
    gap = (course.simulated[-1] - course.limit[:, None])[1:]
    return course.dimensions[-1] * ((gap / course.spread[1:, None]) ** 2).mean((0, 2))


_SPREAD = "the spread over samples is that of the equation for the fluctuations: the mean squared gap in its units is "
spread_at_most = Claim(
    f"{_SPREAD}below 3/2",
    statistic="mean over times and overlaps of the squared gap over the expected variance; 1 is expected",
    expected="< 1.5",
    values=lambda courses: {s.label: squares(s) for s in courses},
    reason="a deviation wrong by a fifth; 1 + O(1/d) is expected",
    possible=(0.0, np.inf),
    standing="own",
)
spread_at_least = Claim(
    f"{_SPREAD}above 1/2",
    statistic="mean over times and overlaps of the squared gap over the expected variance; 1 is expected",
    expected="> 0.5",
    values=lambda courses: {s.label: squares(s) for s in courses},
    reason="a deviation wrong by a quarter; 1 + O(1/d) is expected",
    possible=(0.0, np.inf),
    standing="own",
)
