r"""Teachers whose strengths are a power of their rank, and the power law of the loss that follows (Ren et al. 2025).

Teacher and students are :math:`\sum_j a_j\, h_3(w_j \cdot x)` with unit vectors, the third Hermite polynomial and
:math:`a_j = j^{-p}`; the teacher's directions are orthonormal, and student j starts at the overlap m_0 with its own.
Third powers of the overlaps between others are small, so every unit is a problem of its own under gradient flow,

.. math:: \dot m_j = 3 a_j^2 m_j^2 (1 - m_j^2), \qquad J = \sum_j a_j^2 (1 - m_j^3)

a sum of sigmoidal transitions at times :math:`t_j \propto a_j^{-2} = j^{2p}`. In between
:math:`J \approx \sum_{j > t^{1/2p}} j^{-2p} \propto t^{-(2p - 1) / 2p}`. Ren et al. 2025 have even links and both
layers learned together, where :math:`t_j \propto 1 / a_j` and the exponent is (2p - 1) / p; fixed fan-outs, which
square the strengths, and the measured times are ours.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
from matplotlib.figure import Figure
from scipy.integrate import solve_ivp
from scipy.special import zeta

from tutelage import draws
from tutelage.lab import Context, Experiment, Results, Shared
from tutelage.lab.experiment import Arrays
from tutelage.settings import Seeds
from tutelage.specialisation.studies._committees import rms_gaps
from tutelage.studies.claims import Claim
from tutelage.studies.figures import PALETTE, error_bars, panel_grid
from tutelage.studies.study import Plan, Scale, study
from tutelage.threads import spread
from tutelage.training.inputs.distributions import normals

DECAYS: dict[Scale, tuple[float, ...]] = {"smoke": (1.0,), "quick": (1.0, 1.5), "paper": (1.0, 1.25, 1.5)}
UNITS: dict[Scale, int] = {"smoke": 4, "quick": 12, "paper": 20}
LEARNED: dict[Scale, int] = {"smoke": 3, "quick": 5, "paper": 8}
"""Rank of the last unit that the training is long enough for."""
DIMENSION: dict[Scale, int] = {"smoke": 8, "quick": 24, "paper": 32}
SEEDS: dict[Scale, int] = {"smoke": 4, "quick": 8, "paper": 12}
RATE = 1e-4
"""At ten times this, tried first at scale quick, the noise of the steps shortens overlaps by as much as the gradient
lengthens them in a quarter of the time: rate d E[delta^2] / 2, with E[delta^2] about 10, against 3 m^2."""
NOISE = 0.5
"""Deviation of the label noise where there is some; the teacher's outputs have about 1.3."""
EMERGED = 0.8
"""A unit has emerged when its overlap with its own teacher is above this."""
_CUBIC = 3  # the third Hermite polynomial among the links of the loop
_SPAN = 1 << 12  # steps whose points are drawn at a time; it decides which numbers they are


@study(
    "strength-scaling",
    paper="ren2025",
    figure="power-law strengths",
    shows="A teacher whose units have power-law strengths is learned unit by unit; each emerges abruptly, and together "
    "they make the loss a power law of the steps.",
)
def strength_scaling(scale: Scale) -> Plan:
    """The loss of graded committees against steps: simulated, and as a sum of transitions."""
    count, first = UNITS[scale], DECAYS[scale][0]
    shape = {"teachers": count, "learned": LEARNED[scale], "dimension": DIMENSION[scale], "seeds": SEEDS[scale]}
    experiments = [GradedCommittee(decay=p, students=count, **shape) for p in DECAYS[scale]]
    experiments.append(GradedCommittee(decay=first, students=count, label_noise=NOISE, **shape))
    experiments.append(GradedCommittee(decay=first, students=LEARNED[scale] // 2, **shape))
    return Plan(experiments, draw, [transitions, in_turn, power_law], view=courses)


class GradedCommittee(Experiment, kind="graded-committee", numerics=1):
    """Students of a teacher with strengths j^-p under online SGD on spheres, and the sum of their transitions.

    Results: exact losses of the simulation (``simulated`` [S, T]), overlaps with the own teacher (``own`` [S, T, K]),
    the loss of the flow of every unit by itself (``flow`` [T]), and the recorded ``times`` [T], rate times steps.
    """

    decay: float
    teachers: int
    students: int
    learned: int
    dimension: int
    rate: float = RATE
    label_noise: float = 0.0
    overlap: float = 0.5
    frames: int = 60
    seeds: Seeds

    @property
    def last(self) -> float:
        """Time at which unit ``learned`` has emerged, and a quarter more."""
        return 1.25 * emergence_time(self.overlap) * self.learned ** (2 * self.decay)

    @property
    def cost(self) -> float:
        """Seconds of one core, roughly."""
        return self.last / self.rate * self.members * self.dimension * (2e-7 + 4e-9 * self.students)

    def run(self, context: Context) -> Arrays:
        from tutelage.specialisation.studies._sphere_loops import sphere_steps

        record = np.unique(np.round(np.geomspace(10, self.last / self.rate, self.frames)).astype(int)).tolist()
        a, w = np.arange(1, self.teachers + 1) ** -self.decay, self._start()
        simulated, own = [self._loss(w, a)], [self._own(w)]
        points, noises = (draws.keys(self.seeds, f"graded {what}") for what in ("points", "noise"))
        d, members, left = self.dimension, self.members, np.zeros(self.members)
        for before, after in pairwise([0, *record]):
            for begin in range(before, after, _SPAN):
                count = min(_SPAN, after - begin)
                keys = [draws.substreams(stream, begin, begin + 1).view(-1) for stream in (points, noises)]
                x = normals(keys[0], count, d, torch.float64).numpy()
                noise = self.label_noise * draws.normals(keys[1], count).numpy()
                spread(sphere_steps, members, w, x, noise, a, self.rate, _CUBIC, 2.0, left, begin)
                context.advance(min(0.99, begin / record[-1]))
            simulated.append(self._loss(w, a))
            own.append(self._own(w))
        times = self.rate * np.array([0, *record])
        return {
            "simulated": np.stack(simulated, 1),
            "own": np.stack(own, 1),
            "flow": Shared(self._flow(times, a)),
            "times": Shared(times),
        }

    def _start(self) -> np.ndarray:
        """Unit vectors [S, K, d] with one overlap with their own axis, and none with those of other teachers."""
        d, k = self.dimension, self.students
        w = draws.normals(draws.keys(self.seeds, "graded students"), k * d).view(-1, k, d).numpy()
        w[:, :, : self.teachers] = 0
        w *= np.sqrt(1 - self.overlap**2) / np.linalg.norm(w, axis=2, keepdims=True)
        w[:, np.arange(k), np.arange(k)] = self.overlap
        return w

    def _own(self, w: np.ndarray) -> np.ndarray:
        return np.diagonal(w[:, :, : self.students], axis1=1, axis2=2).copy()

    def _loss(self, w: np.ndarray, a: np.ndarray) -> np.ndarray:
        """The population loss, from E h_3(u) h_3(v) = (u . v)^3 for unit vectors: [S]."""
        c = a[: self.students]
        between = (w @ w.swapaxes(1, 2)) ** 3
        return (c @ between @ c + a @ a) / 2 - (w[:, :, : self.teachers] ** 3 @ a) @ c

    def _flow(self, times: np.ndarray, a: np.ndarray) -> np.ndarray:
        """The sum of the transitions, and of half the squares of strengths without a student: [T]."""
        m = flow_overlaps(times, a[: self.students], self.overlap)
        return (a[: self.students] ** 2 * (1 - m**3)).sum(1) + (a[self.students :] ** 2).sum() / 2


def flow_overlaps(times: np.ndarray, a: np.ndarray, start: float) -> np.ndarray:
    """Overlaps of units by themselves, one course at the times a_j^2 t: [T], [K] -> [T, K]."""
    scaled = np.outer(times, a**2)
    order = np.unique(scaled)
    course = solve_ivp(
        lambda t, m: 3 * m**2 * (1 - m**2), (0, order[-1]), [start], t_eval=order, rtol=1e-10, atol=1e-12
    )
    return np.interp(scaled, order, course.y[0])


def emergence_time(start: float) -> float:
    """Time after which a unit of strength 1 has emerged: the integral of 1 / (3 m^2 (1 - m^2)), in closed form."""

    def antiderivative(m: float) -> float:
        return float(np.arctanh(m) - 1 / m) / 3

    return antiderivative(EMERGED) - antiderivative(start)


def courses(results: Results) -> list[dict]:
    """One record per experiment: its settings and arrays."""
    names = ("decay", "teachers", "students", "learned", "label_noise", "overlap")
    return [
        {n: r.setting(n) for n in names} | {n: r[n] for n in ("simulated", "own", "flow", "times")} for r in results
    ]


def label(course: dict) -> str:
    noise = f", noise {course['label_noise']:g}" if course["label_noise"] else ""
    width = f", {course['students']} students" if course["students"] < course["teachers"] else ""
    return f"p = {course['decay']:g}{noise}{width}"


def emergence(course: dict) -> np.ndarray:
    """Time at which each of the first students has emerged, the geometric mean of two recorded ones: [S, learned]."""
    above = course["own"][:, :, : course["learned"]] > EMERGED
    after = above.argmax(1)
    times = course["times"]
    middle = np.sqrt(times[np.maximum(after - 1, 1)] * times[np.maximum(after, 1)])
    return np.where(above.any(1), middle, np.inf)


def slope(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Slope of the regression of every row of y on x: [N], [S, N] -> [S]."""
    x = x - x.mean()
    with np.errstate(invalid="ignore"):  # units that never emerge
        return (y - y.mean(1, keepdims=True)) @ x / (x @ x)


def log_slope(times: np.ndarray, losses: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """Slope of log loss against log time at some of the times: [S]."""
    return slope(np.log(times[inside]), np.log(losses[:, inside]))


def window(course: dict) -> np.ndarray:
    """Recorded times from the transition of the second unit to that of the last one that is learned: bool [T]."""
    unit, p = emergence_time(course["overlap"]), course["decay"]
    return (course["times"] >= unit * 2 ** (2 * p)) & (course["times"] <= unit * course["learned"] ** (2 * p))


def of_infinitely_many(course: dict) -> np.ndarray:
    """The simulated loss with the units beyond M, which stay at their start for as long: [S, T]."""
    rest = zeta(2 * course["decay"], course["teachers"] + 1) * (1 - course["overlap"] ** 3)
    return course["simulated"] + rest


def exponent(course: dict) -> float:
    """Exponent of the loss in the time: -(2p - 1) / 2p."""
    return -(2 * course["decay"] - 1) / (2 * course["decay"])


def draw(every: list[dict]) -> Figure:
    """Loss against rate times steps: simulation, sum of transitions, and the power law for infinitely many units."""
    figure, axes = panel_grid(
        [""], [label(c) for c in every], "rate times steps", "loss", size=(2.6, 2.6), sharey="row"
    )
    for panel, c in zip(axes[0], every, strict=True):
        t, late = c["times"], c["times"] > 0
        error_bars(panel, t[late], c["simulated"].T[late], PALETTE[3], "online SGD", "o")
        panel.plot(t[late], c["flow"][late], color=PALETTE[0], label="sum of transitions")
        inside = window(c)
        if c in _full(every) and inside.any():
            total = of_infinitely_many(c).mean(0)
            panel.plot(t[late], total[late], color=PALETTE[1], label="with units beyond M")
            panel.plot(t[inside], total[inside][0] * (t[inside] / t[inside][0]) ** exponent(c), ":", color="#000000")
        panel.set(xscale="log", yscale="log")
    axes[0, 0].legend()
    return figure


def _full(every: Sequence[dict]) -> list[dict]:
    """Courses with a student for every teacher and without noise."""
    return [c for c in every if c["students"] == c["teachers"] and not c["label_noise"]]


transitions = Claim(
    "the loss under online SGD is the sum of the transitions of its units, with noise and with fewer students too",
    statistic="root mean square over times of simulation less sum, over the loss at the start",
    expected="< 0.05",
    values=lambda every: {label(c): rms_gaps(c["simulated"], c["flow"][None]) for c in every},
    reason="a twentieth of the loss at the start",
    possible=(0.0, np.inf),
)

in_turn = Claim(
    "units emerge one after another, at times proportional to the inverse square of their strength",
    statistic="distance of the slope of log time of emergence against log rank from 2p, over 2p",
    expected="< 0.2",
    values=lambda every: {
        label(c): np.abs(slope(np.log(np.arange(1, c["learned"] + 1)), np.log(emergence(c))) / (2 * c["decay"]) - 1)
        for c in _full(every)
    },
    reason="a fifth; times proportional to the inverse strength would be off by a half",
    possible=(0.0, np.inf),
)

power_law = Claim(
    "between the first and the last transition the loss is a power law with the exponent -(2p - 1) / 2p",
    statistic="distance of the slope of log loss, of infinitely many units, against log time from the exponent",
    expected="< 0.1",
    values=lambda every: {
        label(c): np.abs(
            slope(np.log(c["times"][window(c)]), np.log(of_infinitely_many(c)[:, window(c)])) - exponent(c)
        )
        for c in _full(every)
    },
    reason="a fifth of the smallest exponent, 0.5",
    possible=(0.0, np.inf),
)
