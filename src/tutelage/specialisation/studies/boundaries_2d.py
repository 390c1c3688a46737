"""Boundaries of students in the plane move onto those of the teacher (Tian 2020 and Tian 2019, Fig. 3)."""

from collections.abc import Callable

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tutelage.lab import Record, Results, TeacherStudent, TrainedStudents, build
from tutelage.networks import Network
from tutelage.studies.claims import SHARE, Claim
from tutelage.studies.figures import PALETTE, panel_grid
from tutelage.studies.study import Plan, Scale, study
from tutelage.training import Training
from tutelage.training.inputs import Gaussian
from tutelage.training.students import SmallNormal
from tutelage.training.teachers import Levels

STEPS: dict[Scale, int] = {"smoke": 400, "quick": 40_000, "paper": 200_000}
SEEDS: dict[Scale, int] = {"smoke": 3, "quick": 16, "paper": 128}
FRAMES = (0.0, 0.01, 0.1, 1.0)  # of the training
WINDOW = 3.5
ALIGNED = 0.05  # Definition 3 of Tian 2020 with this epsilon
DASH = 3.0
"""Length of a dash, in widths of the line."""
CUT = 0.01
"""Share of the data that a boundary leaves on either side, at least, if it runs through them."""


@study(
    "boundaries-2d",
    paper="tian2020",
    figure="3",
    shows="Two teacher boundaries (solid) and six student boundaries (dashed) in the plane over training: the fan-out "
    "of students that end on no teacher boundary goes to zero.",
)
def boundaries_2d(scale: Scale) -> Plan:
    """Boundaries in the plane, over training."""
    steps = STEPS[scale]
    experiment = TeacherStudent(
        teacher=Levels(inputs=2, hidden=2, outputs=4, levels=(-1.0, -0.5, 0.0, 0.5, 1.0), bias=-0.5),
        student=SmallNormal(width_factor=3, scale=0.01),
        inputs=Gaussian(std=1.5, train=2_000, evaluate=2_000),
        training=Training(steps=steps, learning_rate=0.02),
        record=Record(
            at=tuple(round(steps * f) for f in FRAMES),
            weights="all",
            measures=("fan_out", "specialisation", "evaluate_loss"),
        ),
        seeds=SEEDS[scale],
    )
    return Plan(
        experiments=[experiment],
        figure=draw,
        claims=[unaligned_vanish, unaligned_in_the_data_vanish, teachers_found],
        numbers="unit",
    )


def draw(results: Results) -> Figure:
    """Boundaries at four moments for the first three seeds; beside the last the fan-out norm of every student.

    The dashes of students take turns, so that students on one line are all seen.
    """
    (result,) = results
    rows, steps = min(3, len(result.experiment.seeds)), result.report.steps
    figure, axes = panel_grid(
        [f"seed {s}" for s in result.experiment.seeds[:rows]],
        [f"step {s:,}" for s in steps],
        "x1",
        "x2",
        size=(2.7, 2.1),
    )
    teacher = result.teacher()
    for column, step in enumerate(steps):
        students, fan_out = result.weights(step), result.report["fan_out"][column]
        for row in range(rows):
            panel = axes[row, column]
            for unit in range(teacher.widths[1]):
                _line(panel, teacher, row, unit, color="#bbbbbb", linewidth=4)
            for unit, colour in zip(range(students.widths[1]), PALETTE, strict=False):
                outside = "" if _distance(students, row, unit) < WINDOW * 2**0.5 else " (outside)"
                label = f"{fan_out[row, unit]:.2f}{outside}"
                dashes = (DASH * unit, (DASH, DASH * (students.widths[1] - 1)))
                _line(panel, students, row, unit, color=colour, linewidth=0.7, alpha=0.6)
                _line(panel, students, row, unit, color=colour, linewidth=2.2, linestyle=dashes)
                panel.plot([], [], color=colour, label=label)
            panel.set(xlim=(-WINDOW, WINDOW), ylim=(-WINDOW, WINDOW), aspect="equal")
        for panel in axes[:, column] if column == len(steps) - 1 else ():
            panel.legend(
                fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=1.2, labelspacing=0.3,
                title="fan-out at the end", title_fontsize=7,
            )  # fmt: skip
    return figure


def _distance(network: Network, member: int, unit: int) -> float:
    """Of the boundary of one unit from the origin."""
    b = network.biases[0][member, unit].abs().item() if network.biases else 0.0
    return b / network.weights[0][member, :, unit].norm().item()


def _line(axes: Axes, network: Network, member: int, unit: int, **style) -> None:
    """The line w.x + b = 0 of one unit, as long as the window."""
    w = network.weights[0][member, :, unit].numpy()
    b = network.biases[0][member, unit].item() if network.biases else 0.0
    foot, along = -b * w / (w @ w), np.array([-w[1], w[0]]) / np.hypot(*w)
    ends = foot + np.outer([-4 * WINDOW, 4 * WINDOW], along)
    axes.plot(ends[:, 0], ends[:, 1], **style)


def alignment(teacher: Network, students: Network) -> tuple[torch.Tensor, torch.Tensor]:
    """sin of the angle and difference of the biases of regular weights (Tian 2020, Def. 3): [S, m, n] each."""
    unit_t, unit_s = (torch.nn.functional.normalize(n.weights[0], dim=1) for n in (teacher, students))
    cosine = torch.bmm(unit_t.mT, unit_s)
    sine = (1 - cosine.square()).clamp_min(0).sqrt()
    bias_t, bias_s = ((n.biases[0] / n.weights[0].norm(dim=1)) for n in (teacher, students))  # type: ignore[index]
    return torch.where(cosine > 0, sine, 1.0), (bias_t.unsqueeze(2) - bias_s.unsqueeze(1)).abs()


def _aligned(result: TrainedStudents) -> np.ndarray:
    """Whether each student unit is aligned with some teacher unit at the end: [S, m, n]."""
    sine, gap = alignment(result.teacher(), result.weights())
    return ((sine <= ALIGNED) & (gap <= ALIGNED)).numpy()


def _left_over(result: TrainedStudents, counted: np.ndarray) -> np.ndarray:
    """Largest fan-out of an unaligned student among the counted ones over the largest of an aligned one, at the end."""
    aligned, fan_out = _aligned(result).any(1), result.report["fan_out"][-1]
    unaligned_max = np.where(~aligned & counted, fan_out, -np.inf).max(1)
    aligned_max = np.where(aligned, fan_out, -np.inf).max(1)
    defined = np.isfinite(unaligned_max) & np.isfinite(aligned_max)
    return np.where(defined, unaligned_max / np.where(defined, aligned_max, 1), np.nan)


def _bends(result: TrainedStudents) -> np.ndarray:
    """Whether a student's boundary cuts the data at the end, with at least a hundredth on either side: [S, n]."""
    return cuts(result.weights(), build(result.experiment)[2].evaluate)


def cuts(students: Network, points: torch.Tensor) -> np.ndarray:
    """Students [S, n] that are active on a share of the points between ``CUT`` and 1 - ``CUT``; points [S, N, d]."""
    inner = torch.bmm(points, students.weights[0])
    bias = 0.0 if students.biases is None else students.biases[0].unsqueeze(1)
    active = (inner + bias > 0).double().mean(1).numpy()
    return (active >= CUT) & (active <= 1 - CUT)


def _over_result(results: Results, statistic: Callable[[TrainedStudents], np.ndarray]) -> dict[str, np.ndarray]:
    """The statistic of the study's one experiment."""
    (result,) = results
    return {"2 teachers, 6 students": statistic(result)}


unaligned_vanish = Claim(
    "the fan-out of students that are aligned with no teacher unit goes to zero (Theorem 2)",
    statistic="largest fan-out norm among unaligned students over the largest among aligned ones (aligned: sine and "
    "bias difference at most 0.05), at the end; members with only one kind of student do not count",
    expected="< 0.1",
    values=lambda results: _over_result(results, lambda p: _left_over(p, np.full_like(_bends(p), True))),
    reason="a tenth of the largest fan-out is read as zero; the sentence speaks of all such students",
    about="every",
    possible=(0.0, np.inf),
    failure="premise not met",
)

unaligned_in_the_data_vanish = Claim(
    "the same for students whose boundary runs through the data, as the theorem asks (students that are active on all "
    "data are linear there, and may keep their fan-out)",
    statistic="the same ratio over unaligned students that are active on 1 % to 99 % of the evaluation points; "
    "members with only one kind of student do not count",
    expected="< 0.1",
    values=lambda results: _over_result(results, lambda p: _left_over(p, _bends(p))),
    reason="a tenth of the largest fan-out is read as zero; the sentence speaks of all such students",
    about="every",
    possible=(0.0, np.inf),
    failure="premise not met",
)

teachers_found = Claim(
    "every teacher boundary is found by some student (Theorem 1)",
    statistic="share of teacher units with an aligned student at the end",
    expected=">= 1",
    values=lambda results: _over_result(results, lambda p: _aligned(p).any(2).mean(1)),
    reason="the sentence says every teacher boundary",
    about="every",
    possible=SHARE,
    kind="share",
    failure="not found",
)
