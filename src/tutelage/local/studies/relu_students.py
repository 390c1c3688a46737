r"""Why the paper has absolute values: relu students that match no teacher (Zhou et al. 2021, Claim 1 and App. A.1).

With :math:`\mathrm{relu}(t) = (t + |t|)/2` the difference of a relu student and a relu teacher is half of that of
absolute values plus a linear function, and for :math:`x \sim N(0, I)` the two are orthogonal:

.. math:: L_\mathrm{relu}(W) = \tfrac14 L(W) + \tfrac12 \|\beta\|^2, \qquad
    \beta = \tfrac12 \Bigl(\sum_j \|w_j\| w_j - \sum_i w^*_i\Bigr)

A linear term of the student takes the second part away; that is the reduction of App. A.1. Without it the loss is 0
only where both parts are, so that by Theorem 2 every student lies on the *line* of a teacher, but maybe on its other
half.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from matplotlib.figure import Figure
from pydantic import PositiveInt
from torch import Tensor

from tutelage.draws import keys, normals
from tutelage.lab import Context, Experiment, Results, Shared
from tutelage.lab.experiment import Arrays
from tutelage.local import LocalSetting, gradient, loss, separated_teachers
from tutelage.local.setting import effective, ineffective
from tutelage.local.studies._curves import geometric_steps
from tutelage.population.kernels import pairs
from tutelage.settings import Seeds
from tutelage.studies.claims import SHARE, Check, Claim
from tutelage.studies.figures import PALETTE
from tutelage.studies.study import Plan, Scale, fresh_seeds, study

SEEDS: dict[Scale, int] = {"smoke": 3, "quick": 32, "paper": 128}
STEPS: dict[Scale, int] = {"smoke": 30, "quick": 3_000, "paper": 3_000}
SHAPES = (3, 2), (3, 4), (5, 4)
"""Teachers and dimensions."""
ARRIVED = 1e-6
FAR = math.pi / 18
"""Ten degrees, from which on directions do not match."""


@study(
    "relu-students",
    paper="zhou2021",
    figure="Claim 1",
    shows="No figure: a relu student whose units are the opposites of those of a teacher with sum 0 has no loss, and a "
    "linear term of the student turns relu units into absolute values.",
)
def relu_students(scale: Scale) -> Plan:
    """Relu students without loss that match no teacher."""
    experiments = [
        ReluDescent(teachers=r, dimension=d, steps=STEPS[scale], seeds=fresh_seeds(scale, SEEDS[scale]))
        for r, d in SHAPES
    ]
    checks: list[Claim | Check] = [opposite_is_perfect, opposite_is_elsewhere, reduction, kernel_agrees]
    return Plan(experiments, draw, [*checks, descent_stays, on_the_lines], view=by_shape)


class ReluDescent(Experiment, kind="relu-descent", numerics=1):
    """Descent of relu students from near the opposite of a teacher whose units add up to 0."""

    teachers: PositiveInt
    dimension: PositiveInt
    steps: PositiveInt
    spread: float = 0.1
    """Standard deviation of the noise on the start, in units of 1 / sqrt(d)."""
    seeds: Seeds

    @property
    def cost(self) -> float:
        return 1e-4 * self.members * self.steps

    def run(self, context: Context) -> Arrays:
        teachers = balanced_teachers(self.teachers, self.dimension, self.seeds)
        opposite = LocalSetting(teachers, ineffective(-teachers))
        noise = normals(keys(self.seeds, "relu students"), self.teachers * self.dimension).view_as(teachers)
        start = ineffective(-teachers + self.spread / math.sqrt(self.dimension) * noise)
        record = geometric_steps(self.steps, 40)
        losses, end = _descend(opposite.moved(start), record)
        beta = linear_part(opposite.moved(start))
        reduced = relu_loss(opposite.moved(start), -beta)
        quarter = loss(opposite.moved(start)) / 4
        direct = relu_loss(opposite.moved(start))
        return {
            "losses": losses,
            "angles": to_teachers(teachers, end),
            "lines": to_teachers(teachers, end, folded=True),
            "opposite_loss": relu_loss(opposite).numpy(),
            "opposite_angle": to_teachers(teachers, opposite.students).min(1),
            "reduction": (reduced / quarter - 1).abs().numpy(),
            "kernel": (direct / (quarter + beta.square().sum(1) / 2) - 1).abs().numpy(),
            "recorded_steps": Shared(np.array(record)),
        }


def balanced_teachers(r: int, d: int, seeds: Sequence[int]) -> Tensor:
    """Random teachers [S, r, d] that add up to 0: the last is minus the sum of separated unit ones."""
    free = separated_teachers(r - 1, d, seeds)
    return torch.cat([free, -free.sum(1, keepdim=True)], 1)


def linear_part(setting: LocalSetting) -> Tensor:
    """beta of the relu student less the relu teacher: [S, d]."""
    return (effective(setting.students).sum(1) - setting.teachers.sum(1)) / 2


def relu_loss(setting: LocalSetting, slope: Tensor | None = None) -> Tensor:
    r"""Loss of relu students with a linear term slope [S, d], from the kernel of relu: [S].

    .. math:: E\,\mathrm{relu}(a \cdot x)\,\mathrm{relu}(b \cdot x) = \frac{|a||b|}{2\pi}
        (\sin\phi + (\pi - \phi)\cos\phi), \qquad E\,x\,\mathrm{relu}(a \cdot x) = \frac{a}{2}
    """
    g, teachers = effective(setting.students), setting.teachers.expand(setting.members, -1, -1)
    units = torch.cat([g, teachers], 1)
    signs = torch.cat([torch.ones(setting.m), -torch.ones(setting.r)]).to(units.dtype)
    length, angle = units.norm(dim=2), pairs(units, units).angle
    kernel = (angle.sin() + (math.pi - angle) * angle.cos()) / (2 * math.pi)
    gram = kernel * length.unsqueeze(2) * length.unsqueeze(1)
    own = torch.einsum("i,sij,j->s", signs, gram, signs) / 2
    if slope is None:
        return own.clamp_min(0)
    across = ((signs[:, None] * units).sum(1) * slope).sum(1) / 2
    return (own + across + slope.square().sum(1) / 2).clamp_min(0)


def relu_gradient(setting: LocalSetting) -> Tensor:
    r"""The gradient of :math:`\tfrac14 L + \tfrac12 \|\beta\|^2` in the students: [S, m, d]."""
    w = setting.students
    length = w.norm(dim=2, keepdim=True)
    unit = w / torch.where(length == 0, 1, length)
    beta = linear_part(setting).unsqueeze(1)
    # The derivative of g = |w| w is |w| (I + u u^T), and beta has half of every g.
    return gradient(setting) / 4 + length * (beta + (beta * unit).sum(2, keepdim=True) * unit) / 2


def _descend(setting: LocalSetting, record: Sequence[int]) -> tuple[np.ndarray, Tensor]:
    """Losses [S, T] at the recorded steps and the students at the end; a rate stable at the optimum."""
    rate, wanted, losses = (1 / (2 * setting.total))[:, None, None], set(record), []
    for step in range(record[-1] + 1):
        if step in wanted:
            losses.append(loss(setting) / 4 + linear_part(setting).square().sum(1) / 2)
        if step < record[-1]:
            setting = setting.moved(setting.students - rate * relu_gradient(setting))
    return torch.stack(losses, 1).numpy(), setting.students


def to_teachers(teachers: Tensor, students: Tensor, folded: bool = False) -> np.ndarray:
    """Angle of every student to the nearest direction of a teacher, folded: to its line: [S, m]."""
    angle = pairs(students, teachers).angle
    return (torch.minimum(angle, math.pi - angle) if folded else angle).amin(2).numpy()


@dataclass(frozen=True, eq=False)
class Shape:
    """The arrays of one number of teachers and dimensions."""

    label: str
    result: dict[str, np.ndarray]

    @property
    def arrived(self) -> np.ndarray:
        return self.result["losses"][:, -1] <= ARRIVED


NAMES = (
    "losses", "angles", "lines", "opposite_loss", "opposite_angle", "reduction", "kernel", "recorded_steps",
)  # fmt: skip


def by_shape(results: Results) -> list[Shape]:
    """One shape per experiment."""
    return [
        Shape(f"r = {r.setting('teachers')}, d = {r.setting('dimension')}", {name: r[name] for name in NAMES})
        for r in results
    ]


def draw(shapes: Sequence[Shape]) -> Figure:
    """Loss against steps; angles of the students at the end to the nearest teacher, as a direction and as a line."""
    figure = Figure(figsize=(7.4, 3.0), layout="constrained")
    course, ends = figure.subplots(1, 2)
    for shape, colour in zip(shapes, PALETTE, strict=False):
        result = shape.result
        steps = result["recorded_steps"][1:]
        low, middle, high = np.quantile(result["losses"][:, 1:], (0.1, 0.5, 0.9), axis=0)
        course.loglog(steps, middle, color=colour, label=shape.label)
        course.fill_between(steps, np.maximum(low, 1e-30), high, color=colour, alpha=0.2, linewidth=0)
        kept = result["angles"][shape.arrived].ravel(), result["lines"][shape.arrived].ravel()
        ends.plot(*np.degrees(kept), ".", color=colour, ms=3, alpha=0.5)
    course.set(xlabel="steps", ylabel="relu loss", title="from near the opposite of the teacher")
    course.legend(loc="lower left")
    ends.axvline(math.degrees(FAR), color="#888888", lw=0.8, ls="--", label="ten degrees")
    ends.legend(loc="upper right")
    ends.set(
        xlabel="degrees to the nearest teacher direction",
        ylabel="degrees to the nearest teacher line",
        title="students without loss",
        ylim=(-3, 92),
        xlim=(-3, 92),
    )
    return figure


def _each(shapes: Sequence[Shape], name: str) -> dict[str, np.ndarray]:
    return {shape.label: shape.result[name] for shape in shapes}


opposite_is_perfect = Check(
    "a relu student whose units are the opposites of those of a teacher with sum 0 has no loss",
    statistic="its loss, by the kernel of relu",
    expected="<= 1e-14",
    values=lambda shapes: _each(shapes, "opposite_loss"),
    reason="the rounding of a sum of kernels of size 1",
    place="Claim 1",
)

opposite_is_elsewhere = Check(
    "and none of its units has the direction of a teacher",
    statistic="least angle of a student to a teacher, radians",
    expected="> 0",
    values=lambda shapes: _each(shapes, "opposite_angle"),
    reason="an angle above 0 is another direction",
    place="Claim 1",
)

reduction = Check(
    "with the best linear term the relu loss is a quarter of that of absolute values",
    statistic="relative difference of the two, near the opposite of the teacher",
    expected="<= 1e-10",
    values=lambda shapes: _each(shapes, "reduction"),
    reason="rounding: both sides are sums of kernels in which most cancels",
    place="App. A.1",
)

kernel_agrees = Check(
    "without it half the squared length of that term is added",
    statistic="relative difference of the relu loss from a quarter of the other plus |beta|^2 / 2",
    expected="<= 1e-10",
    values=lambda shapes: _each(shapes, "kernel"),
    reason="rounding: both sides are sums of kernels in which most cancels",
    standing="own",
)

descent_stays = Claim(
    "descent from near such a student ends without loss and away from all directions of the teacher",
    statistic="one where the loss is at most 1e-6 at the end and a student is at least ten degrees from the direction "
    "of every teacher, else zero",
    expected="> 0.8",
    values=lambda shapes: {
        shape.label: (shape.arrived & (shape.result["angles"].max(1) >= FAR)).astype(float) for shape in shapes
    },
    reason="four of five is read as what happens",
    possible=SHARE,
    kind="outcome",
    standing="own",
)

on_the_lines = Claim(
    "yet every student without loss is on the line of a teacher: what relu loses is the sign alone",
    statistic="largest angle of a student to the nearest line of a teacher where the loss is at most 1e-6, radians",
    expected="< 0.1",
    values=lambda shapes: {
        shape.label: np.where(shape.arrived, shape.result["lines"].max(1), np.nan) for shape in shapes
    },
    reason="a loss of 1e-6 allows angles of the order of its cube root, 0.01, times the number of units",
    possible=(0.0, math.pi / 2),
    about="every",
    standing="own",
)
