"""The exact flow says which teacher unit is found when (Tian 2019, section 5), and samples are held against it."""

from dataclasses import dataclass

import numpy as np
import torch
from matplotlib.figure import Figure

from tutelage.lab import Context, Experiment, Record, Results, Shared, TeacherStudent, TrainedStudents
from tutelage.lab.experiment import Arrays
from tutelage.measures import RECOVERED
from tutelage.population.expectations import Units, units_of
from tutelage.population.flow import flow
from tutelage.population.kernels import kernel
from tutelage.specialisation.studies._nearness import spread
from tutelage.studies.claims import SIGNED, STRONG, Claim
from tutelage.studies.figures import panel_grid
from tutelage.studies.figures.panels import strength_bar, strength_colours
from tutelage.studies.intervals import rank_correlations
from tutelage.studies.study import Plan, Scale, study
from tutelage.training import Training
from tutelage.training.inputs import Gaussian
from tutelage.training.students import SmallNormal
from tutelage.training.teachers import Levels

UNITS = 8
POLARITIES = (0.5, 1.0, 2.0)
RATE = 0.01
STEPS: dict[Scale, int] = {"smoke": 1_000, "quick": 40_000, "paper": 200_000}
SEEDS: dict[Scale, int] = {"smoke": 3, "quick": 8, "paper": 32}
FRAMES: dict[Scale, int] = {"smoke": 12, "quick": 60, "paper": 60}


@study(
    "strong-first-theory",
    paper="tian2019",
    figure="sec. 5",
    shows="No figure: in the expected dynamics students first follow the strongest teacher units, and weak ones are "
    "learned after the strong ones are accounted for.",
)
def strong_first_theory(scale: Scale) -> Plan:
    """Strong teacher units first, by the exact flow and from samples."""
    steps, measures = STEPS[scale], ("evaluate_loss", "strength")
    experiments = [
        TeacherStudent(
            teacher=Levels(inputs=20, hidden=UNITS, outputs=10, polarity=polarity, bias=0.0, output_bias=0.0),
            student=SmallNormal(width_factor=4, bias=False),
            inputs=Gaussian(std=1.0, train=10_000, evaluate=1_000),
            training=Training(steps=steps, learning_rate=RATE),
            record=Record(at=spread(steps, FRAMES[scale], first=50), weights="all", measures=measures),
            seeds=SEEDS[scale],
        )
        for polarity in POLARITIES
    ]
    flows = [FlowOfStudents(students=experiment) for experiment in experiments]
    return Plan(flows, draw, [flow_order, sample_order, same_order, same_time], view=recoveries)


class FlowOfStudents(Experiment, kind="flow-of-students", numerics=1):
    """The exact flow of both layers from the very teachers and starts of trained students, beside their training."""

    students: TeacherStudent

    @property
    def members(self) -> int:
        return self.students.members

    @property
    def cost(self) -> float:
        return 2.0 * self.members

    def run(self, context: Context) -> Arrays:
        trained: TrainedStudents = context.result(self.students)
        teacher, start = units_of(trained.teacher()), units_of(trained.weights(0))
        times = RATE * np.asarray(trained.report.steps, float)
        tolerances = {"relative": 1e-5, "absolute": 1e-7}
        course = flow(teacher, start, times.tolist(), both_layers=True, on_progress=context.progress, **tolerances)
        by_flow = np.stack([best_correlations(teacher, course.at(i)) for i in range(len(times))])
        by_samples = np.stack([best_correlations(teacher, units_of(trained.weights(s))) for s in trained.report.steps])
        return {"times": Shared(times), "flow": by_flow.swapaxes(0, 1), "samples": by_samples.swapaxes(0, 1)}


@dataclass(frozen=True)
class RecoveryCourse:
    """One polarity: best correlation of every teacher unit, [T, S, m], in the exact flow and from samples, at the
    times learning rate x steps."""

    polarity: float
    times: np.ndarray
    flow: np.ndarray
    samples: np.ndarray

    @property
    def label(self) -> str:
        return f"p = {self.polarity:g}"


def recoveries(results: Results) -> list[RecoveryCourse]:
    """Best correlations of every polarity."""
    out = []
    for r in results:
        by_flow, by_samples = (np.ascontiguousarray(r[name].swapaxes(0, 1)) for name in ("flow", "samples"))
        out.append(RecoveryCourse(r.setting("polarity"), r["times"], by_flow, by_samples))
    return out


def best_correlations(teacher: Units, students: Units) -> np.ndarray:
    """Largest correlation of each teacher unit's activation with a student unit's, over all of N(0, I): [S, m].

    With unit vectors E[f g] is the kernel, E[f^2] = 1/2 and E[f] = 1/sqrt(2 pi).
    """
    w, v = (torch.nn.functional.normalize(u.w, dim=2) for u in (teacher, students))
    mean = 1 / (2 * torch.pi)
    return ((kernel(w, v) - mean) / (0.5 - mean)).amax(2).numpy()


def recovery_times(times: np.ndarray, best: np.ndarray) -> np.ndarray:
    """First recorded time at which each teacher unit's best correlation is above 0.95: [T], [T, S, m] -> [S, m]."""
    above = best > RECOVERED
    return np.where(above.any(0), times[above.argmax(0)], np.inf)


def draw(courses: list[RecoveryCourse]) -> Figure:
    """Best correlation over time, mean over seeds, one colour per teacher unit; below, times of recovery of both."""
    figure, axes = panel_grid(["", ""], [s.label for s in courses], "", "", size=(2.6, 2.3), sharex="row", sharey="row")
    colours = strength_colours(UNITS)
    for column, course in enumerate(courses):
        above, below = axes[:, column]
        for unit, colour in enumerate(colours):
            above.plot(course.times[1:], course.flow[1:, :, unit].mean(1), color=colour)
            above.plot(course.times[1:], course.samples[1:, :, unit].mean(1), ":", color=colour)
        by_flow, by_samples = (recovery_times(course.times, best) for best in (course.flow, course.samples))
        for unit, colour in enumerate(colours):
            below.scatter(by_flow[:, unit], by_samples[:, unit], 10, color=colour)
        ends = course.times[1], course.times[-1]
        below.plot(ends, ends, "--", color="#999999", linewidth=1)
        above.set(xscale="log", ylim=(0, 1.03), xlabel="learning rate x steps")
        below.set(xscale="log", yscale="log", xlabel="time of recovery, flow", xlim=ends, ylim=ends)
    axes[0, 0].set_ylabel("best correlation\n(flow; dotted: SGD)")
    axes[1, 0].set_ylabel("time of recovery, SGD")
    strength_bar(figure, axes, UNITS)
    return figure


def _order(times: np.ndarray, best: np.ndarray) -> np.ndarray:
    """Rank correlation of a unit's place in strength with its time of recovery; never counts as last: [S]."""
    when = recovery_times(times, best)
    return rank_correlations(np.broadcast_to(np.arange(UNITS, dtype=float), when.shape), when)


flow_order = Claim(
    "in the exact flow the stronger a teacher unit, the sooner it is found",
    statistic="rank correlation, over a member's teacher units, of place in strength (strongest first) and first "
    "recorded time with correlation above 0.95 (never counts as last)",
    expected="> 0.5",
    values=lambda courses: {s.label: _order(s.times, s.flow) for s in courses},
    reason=STRONG,
    possible=SIGNED,
)

sample_order = Claim(
    "and so it is when the same students learn from samples",
    statistic="the same rank correlation, for SGD on samples from the same start",
    expected="> 0.5",
    values=lambda courses: {s.label: _order(s.times, s.samples) for s in courses},
    reason=STRONG,
    possible=SIGNED,
    place="sec. 5.3",
)


def _agreement(course: RecoveryCourse) -> np.ndarray:
    """Rank correlation of the two times of recovery, never counting as last: [S]."""
    late = 2 * course.times[-1]
    both = (np.minimum(recovery_times(course.times, best), late) for best in (course.flow, course.samples))
    return rank_correlations(*both)


same_order = Claim(
    "the flow predicts the order in which SGD finds the units",
    statistic="rank correlation, over a member's teacher units, of the times of recovery in the flow and from samples "
    "(never counts as last)",
    expected="> 0.7",
    values=lambda courses: {s.label: _agreement(s) for s in courses},
    reason="half of the variance of the ranks is a correlation of 0.7",
    possible=SIGNED,
    standing="own",
)


def time_gap(times: np.ndarray, by_flow: np.ndarray, by_samples: np.ndarray) -> np.ndarray:
    """Mean over units found in both of |log2 of the ratio of the times|: [T], [T, S, m] twice -> [S]."""
    first, second = (recovery_times(times, best) for best in (by_flow, by_samples))
    both = np.isfinite(first) & np.isfinite(second) & (first > 0) & (second > 0)
    ratio = np.abs(np.log2(np.where(both, first, 1) / np.where(both, second, 1)))
    count = both.sum(1)
    return np.where(count > 0, (ratio * both).sum(1) / np.maximum(count, 1), np.nan)


same_time = Claim(
    "and the time: what the flow finds at a time, SGD finds at the same learning rate x steps",
    statistic="mean over the units found by both of |log2 of the ratio of the times of recovery|",
    expected="< 0.5",
    values=lambda courses: {s.label: time_gap(s.times, s.flow, s.samples) for s in courses},
    reason="half a factor of two",
    possible=(0.0, np.inf),
    standing="own",
)
