"""Where gradient flow on the population loss ends, counted over many starts (Zhu et al. 2021, section 3)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from matplotlib.figure import Figure

from tutelage import draws
from tutelage.lab import Context, Experiment, Results
from tutelage.lab.experiment import Arrays
from tutelage.population.expectations import Units
from tutelage.population.flow import end_point, flow
from tutelage.population.kernels import pairs
from tutelage.settings import Seeds
from tutelage.studies.claims import DIRECTION, SHARE, SIGNED, Claim
from tutelage.studies.figures import PALETTE, panel_grid
from tutelage.studies.study import Plan, Scale, study

DIMENSION = 3
TEACHERS = (1, 2, 3, 4, 5)
WIDTH_FACTORS = (1, 2)
STARTS: dict[Scale, int] = {"smoke": 4, "quick": 48, "paper": 256}
TIME: dict[Scale, float] = {"smoke": 20.0, "quick": 1_000.0, "paper": 5_000.0}
KINDS = ("global", "local minimum", "saddle", "on its way")
GLOBAL = 1e-6
"""A loss below this share of that at the start counts as zero."""
STILL = 1e-4
"""A gradient below this counts as zero."""
RESTS = 0.01
"""A flow rests if its loss falls by less than this share over the second half of the time. Near an optimum with more
students than teachers the gradient is small long before the loss is: by the gradient alone slow flows would rest."""
ALIGNED = 0.05


@study(
    "local-minima-census",
    paper="zhu2021",
    figure="sec. 3",
    shows="No figure: with one teacher and at most two students every stationary point has all students on the "
    "teacher; the paper conjectures it for any number of students.",
)
def local_minima_census(scale: Scale) -> Plan:
    """Where gradient flow ends, over many starts."""
    claims = [one_teacher, wider_is_better, minima_not_saddles]
    sizes = [(m, k * m) for m in TEACHERS for k in WIDTH_FACTORS]
    experiments = [FlowEnds(teachers=m, students=n, time=TIME[scale], seeds=STARTS[scale]) for m, n in sizes]
    return Plan(experiments, draw, claims, view=censuses)


class FlowEnds(Experiment, kind="flow-ends", numerics=2):
    """Where population gradient flow ends from many starts, all fan-outs 1.

    Teachers of length 1 have random directions, students start from N(0, 0.3^2). What counts as a loss of 0, a
    gradient of 0, a flow that rests and an aligned student are settings.
    """

    teachers: int
    students: int
    time: float
    dimension: int = DIMENSION
    zero_loss: float = GLOBAL
    zero_gradient: float = STILL
    aligned_within: float = ALIGNED
    rests_within: float = RESTS
    seeds: Seeds

    @property
    def cost(self) -> float:
        return 0.02 * self.members * self.teachers * self.students

    def run(self, context: Context) -> Arrays:
        def vectors(name: str, count: int) -> torch.Tensor:
            keys = draws.keys(self.seeds, f"{name} {self.teachers} {self.students}")
            return draws.normals(keys, count * self.dimension).view(self.members, count, self.dimension)

        m, n = self.teachers, self.students
        teacher = Units(torch.nn.functional.normalize(vectors("teacher", m), dim=2), torch.ones(self.members, m, 1))
        students = Units(0.3 * vectors("student", n), torch.ones(self.members, n, 1))
        course = flow(teacher, students, [0.0, self.time / 2, self.time], relative=1e-6, absolute=1e-8)
        end, losses = end_point(teacher, course.end, self.zero_gradient), course.losses().numpy()
        share, fallen = losses[2] / losses[0], 1 - losses[2] / losses[1]
        code = end_kinds(share, fallen, end.kinds, self.zero_loss, self.rests_within)
        angle = pairs(course.end.w, teacher.w).angle
        live = course.end.w.norm(dim=2) > 1e-3

        def share_of(near: torch.Tensor) -> np.ndarray:
            return ((near & live).sum(1) / live.sum(1).clamp_min(1)).double().numpy()

        on_line = share_of(torch.minimum(angle, torch.pi - angle).amin(2) < self.aligned_within)
        aligned = share_of(angle.amin(2) < self.aligned_within)
        return {"end_kind": code, "loss": share, "fallen": fallen, "aligned": aligned, "on_line": on_line}


_CODES = {"minimum": 1, "saddle": 2, "not stationary": 3}


def end_kinds(
    share: np.ndarray, fallen: np.ndarray, kinds: Sequence[str], zero_loss: float = GLOBAL, rests: float = RESTS
) -> np.ndarray:
    """Codes of ``KINDS``, from shares of the start's loss, what fell over the second half, and kinds of points: [S]."""
    codes = np.array([_CODES[kind] for kind in kinds])
    return np.where(share < zero_loss, 0, np.where(fallen < rests, codes, _CODES["not stationary"]))


@dataclass(frozen=True)
class Census:
    """End points for one number of teachers and students: code of ``KINDS`` [S], loss share, share of students on the
    direction of a teacher, and on its line [S]."""

    teachers: int
    students: int
    kind: np.ndarray
    loss: np.ndarray
    aligned: np.ndarray
    on_line: np.ndarray

    @property
    def label(self) -> str:
        names = (("teacher", self.teachers), ("student", self.students))
        return ", ".join(f"{count} {name}{'s' if count > 1 else ''}" for name, count in names)


_ARRAYS = ("end_kind", "loss", "aligned", "on_line")


def censuses(results: Results) -> list[Census]:
    """End points for every number of teachers and students."""
    return [Census(*map(r.setting, ("teachers", "students")), *(r[name] for name in _ARRAYS)) for r in results]


def draw(censuses: list[Census]) -> Figure:
    """Share of each kind of end point against the number of teachers, for each width."""
    figure, axes = panel_grid(
        [""], [f"{k}x students" for k in WIDTH_FACTORS], "teachers", "share of starts", size=(2.8, 2.6)
    )
    for k, panel in zip(WIDTH_FACTORS, axes[0], strict=True):
        chosen = [c for c in censuses if c.students == k * c.teachers]
        floor = np.zeros(len(chosen))
        for code, name in enumerate(KINDS):
            height = np.array([(c.kind == code).mean() for c in chosen])
            colour = PALETTE[(2, 3, 1, 5)[code]]
            panel.bar([c.teachers for c in chosen], height, bottom=floor, color=colour, label=name, width=0.7)
            floor = floor + height
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=len(KINDS))
    return figure


one_teacher = Claim(
    "with one teacher and one or two students every student ends on it (Theorem 3.1, here in three dimensions)",
    statistic="share of the students (those longer than 0.001) within 0.05 rad of the teacher at the end",
    expected=">= 1",
    values=lambda censuses: {c.label: c.aligned for c in censuses if c.teachers == 1},
    reason="the sentence says every student",
    about="every",
    possible=SHARE,
    exceptions=0.05,
    kind="share",
    place="Thm 3.1",
)


def _advantage(censuses: list[Census]) -> dict[str, np.ndarray]:
    by = {(c.teachers, c.students): np.where(c.kind == 3, np.nan, c.kind == 0) for c in censuses}
    return {f"{m} teachers": by[m, 2 * m] - by[m, m] for m in TEACHERS if m > 1}


wider_is_better = Claim(
    "over-realised students reach the global minimum more often (flows whose loss still falls do not count; this was "
    "added after they were seen to be counted as resting elsewhere)",
    statistic="one where twice as many students reach it, less one where as many as teachers do, in pairs of "
    "starts; teachers and students of both are drawn independently",
    expected="> 0",
    values=_advantage,
    reason=DIRECTION,
    possible=SIGNED,
    kind="outcome",
    standing="own",
)

minima_not_saddles = Claim(
    "where the flow does not reach the global minimum it rests in local minima, not in saddles",
    statistic="among end points that are not global, with a gradient below 0.0001 and a loss that fell by less than a "
    "hundredth over the second half of the time: one for a minimum, zero for a saddle",
    expected="> 0.9",
    values=lambda censuses: {c.label: np.where(np.isin(c.kind, (1, 2)), c.kind == 1, np.nan) for c in censuses},
    reason="'not in saddles' is read as at most one in ten",
    possible=SHARE,
    kind="outcome",
    standing="own",
)
