"""Students in the plane turn until they lie on teachers (Zhu et al. 2021, Fig. 1), by the exact population gradient."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tutelage import draws
from tutelage.lab import Context, Experiment
from tutelage.lab.experiment import Arrays
from tutelage.lab.results import Result
from tutelage.population.expectations import Units
from tutelage.population.flow import PopulationFlow, flow
from tutelage.settings import Seeds
from tutelage.studies.claims import SHARE, Claim
from tutelage.studies.figures import PALETTE
from tutelage.studies.study import Plan, Scale, study

TEACHERS, STUDENTS = 5, 10
SEEDS: dict[Scale, int] = {"smoke": 3, "quick": 64, "paper": 256}
TIMES: dict[Scale, tuple[float, ...]] = {
    "smoke": (0.0, 1.0, 10.0, 50.0),
    "quick": (0.0, 1.0, 100.0, 5_000.0),
    "paper": (0.0, 1.0, 100.0, 5_000.0),
}
ALIGNED = 0.05
"""Radians within which a student counts as lying on a teacher."""
LIVE = 1e-3
"""A student shorter than this share of the mean length of the teachers adds next to nothing, and does not count."""


@study(
    "alignment-2d",
    paper="zhu2021",
    figure="1",
    shows="Weight vectors of five teacher units (dotted) and of the students (solid) in the plane over training: every "
    "student ends on the direction of a teacher.",
)
def alignment_2d(scale: Scale) -> Plan:
    """Students in the plane turn onto teachers."""
    experiment = PlaneFlow(times=TIMES[scale], seeds=SEEDS[scale])
    claims = [on_a_teacher, on_the_line_of_a_teacher, every_teacher, loss_vanishes]
    return Plan([experiment], draw, claims, view=lambda results: PlaneCourse(_course(next(iter(results)))))


class PlaneFlow(Experiment, kind="plane-flow", numerics=1):
    """Population gradient flow of students in the plane, all fan-outs 1.

    Teachers have lengths of 1/2 to 3/2 and random directions; students start from a small Gaussian.
    """

    times: tuple[float, ...]
    teachers: int = TEACHERS
    students: int = STUDENTS
    seeds: Seeds

    @property
    def cost(self) -> float:
        return 0.2 * self.members

    def run(self, context: Context) -> Arrays:
        turn, length = (draws.uniforms(draws.keys(self.seeds, name), self.teachers) for name in ("direction", "length"))
        directions = torch.stack([torch.cos(2 * math.pi * turn), torch.sin(2 * math.pi * turn)], dim=2)
        teacher = Units(directions * (0.5 + length).unsqueeze(2), torch.ones(self.members, self.teachers, 1))
        start = 0.3 * draws.normals(draws.keys(self.seeds, "students"), 2 * self.students).view(-1, self.students, 2)
        students = Units(start, torch.ones(self.members, self.students, 1))
        course = flow(teacher, students, self.times, on_progress=context.progress)
        return {"teacher": course.teacher.w.numpy(), "student": course.w.swapaxes(0, 1).numpy()}


def _course(result: Result) -> PopulationFlow:
    """The flow as it was."""
    teacher, w = torch.from_numpy(result["teacher"]), torch.from_numpy(result["student"]).swapaxes(0, 1).contiguous()
    taught = Units(teacher, torch.ones(*teacher.shape[:2], 1))
    fan_out = torch.ones(*w.shape[:3], 1, dtype=w.dtype)
    return PopulationFlow(taught, result.setting("times"), w, fan_out, taught.activation, taught.slope)


@dataclass(frozen=True)
class PlaneCourse:
    """The course of all members, and the last angle of every student with its nearest teacher: [S, n]."""

    course: PopulationFlow

    @property
    def angles(self) -> np.ndarray:
        return self.course.angles()[-1].amin(2).numpy()

    @property
    def line_angles(self) -> np.ndarray:
        """The same with a teacher or its opposite."""
        angles = self.course.angles()[-1]
        return torch.minimum(angles, math.pi - angles).amin(2).numpy()

    @property
    def live(self) -> np.ndarray:
        lengths = self.course.end.w.norm(dim=2)
        return (lengths > LIVE * self.course.teacher.w.norm(dim=2).mean(1, keepdim=True)).numpy()


def draw(flow: PlaneCourse) -> Figure:
    """Weight vectors of the first two seeds at four times; the paper's last two frames are both of its last epoch."""
    course, rows = flow.course, min(2, flow.course.w.shape[1])
    figure = Figure(figsize=(2.1 * len(course.times) + 0.4, 2.2 * rows + 0.3), layout="constrained")
    axes = figure.subplots(rows, len(course.times), squeeze=False, sharex=True, sharey=True)
    for row in range(rows):
        for column, time in enumerate(course.times):
            panel = axes[row, column]
            for x, y in course.teacher.w[row].tolist():
                panel.plot([0, x], [0, y], ":", color="#000000", linewidth=1.6)
            for k, (x, y) in enumerate(course.w[column, row].tolist()):
                panel.plot([0, x], [0, y], color=PALETTE[k % len(PALETTE)], linewidth=1.2)
            panel.set(aspect="equal", xlim=(-1.6, 1.6), ylim=(-1.6, 1.6))
            if row == 0:
                panel.set_title(f"time {time:g}")
            if row == rows - 1:
                panel.set_xlabel("$w_1$")
        axes[row, 0].set_ylabel(f"seed {row}\n$w_2$")
    lines = [Line2D([], [], linestyle=":", color="#000000", label="teachers"), Line2D([], [], label="students")]
    figure.legend(handles=lines, loc="outside lower center", ncols=2)
    return figure


def _settled(values: np.ndarray) -> dict[str, np.ndarray]:
    return {f"{TEACHERS} teachers, {STUDENTS} students": values}


def _share(chosen: np.ndarray, among: np.ndarray) -> np.ndarray:
    return np.where(among, chosen, False).sum(1) / np.maximum(among.sum(1), 1)


on_a_teacher = Claim(
    "every student ends on the direction of a teacher",
    statistic="share of students (those longer than a thousandth of a teacher) within 0.05 rad of a teacher at the end",
    expected="> 0.95",
    values=lambda flow: _settled(_share(flow.angles < ALIGNED, flow.live)),
    reason="one student in twenty may still be on its way when the flow is stopped",
    possible=SHARE,
    kind="share",
    place="Fig. 1",
)

on_the_line_of_a_teacher = Claim(
    "the same for the line through a teacher (added after the first reading was seen to fail: relu(u) = u + relu(-u), "
    "so a student may end opposite to a teacher, with others making up the linear part)",
    statistic="share of the same students within 0.05 rad of a teacher or of its opposite at the end",
    expected="> 0.95",
    values=lambda flow: _settled(_share(flow.line_angles < ALIGNED, flow.live)),
    reason="one student in twenty may still be on its way when the flow is stopped",
    possible=SHARE,
    kind="share",
    standing="own",
)

every_teacher = Claim(
    "and every teacher is covered by some student",
    statistic="share of teachers with a student within 0.05 rad at the end",
    expected="> 0.95",
    values=lambda flow: _settled((flow.course.angles()[-1].amin(1) < ALIGNED).double().mean(1).numpy()),
    reason="one teacher in twenty may still lack its student when the flow is stopped",
    possible=SHARE,
    kind="share",
)

loss_vanishes = Claim(
    "the loss goes to zero",
    statistic="one where the loss at the end is below a millionth of that at the start, else zero",
    expected="> 0.95",
    values=lambda flow: _settled(vanished(flow)),
    reason="a millionth is read as zero; one flow in twenty may still be on its way when it is stopped",
    possible=SHARE,
    kind="outcome",
    failure="not found",
)


def vanished(flow: PlaneCourse) -> np.ndarray:
    """Whether the loss of a member has come down to a millionth: [S]. A mean of logarithms would let the smallest
    losses make up for flows that stopped elsewhere."""
    losses = flow.course.losses()
    return (losses[-1] < 1e-6 * losses[0]).double().numpy()
