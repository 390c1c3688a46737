"""Where gradient flow on the population loss ends, counted over many starts (seed 002, section 3)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import torch
from matplotlib.figure import Figure

from tutelage import draws
from tutelage.figures import PALETTE, panel_grid
from tutelage.studies.claims import Claim
from tutelage.studies.packs import Packs
from tutelage.studies.study import Plan, Scale, study
from tutelage.theory.flow import end_point, flow
from tutelage.theory.kernels import pairs
from tutelage.theory.population import Units

DIMENSION = 3
TEACHERS = (1, 2, 3, 4, 5)
MULTIPLES = (1, 2)
STARTS: dict[Scale, int] = {"smoke": 4, "quick": 48, "paper": 256}
TIME: dict[Scale, float] = {"smoke": 20.0, "quick": 1_000.0, "paper": 5_000.0}
KINDS = ("global", "local minimum", "saddle", "on its way")
GLOBAL = 1e-6
"""A loss below this share of that at the start counts as zero."""
STILL = 1e-4
"""A gradient below this counts as zero."""
ALIGNED = 0.05


@study(
    "local-minima-census",
    seed="002",
    figure="sec. 3",
    shows="No figure: with one teacher and at most two students every stationary point has all students on the "
    "teacher; the seed conjectures it for any number of students.",
)
def local_minima_census(scale: Scale) -> Plan:
    """Where gradient flow ends, over many starts."""
    claims = [one_teacher, wider_is_better, minima_not_saddles]
    return Plan([], draw, claims, table, lambda packs, tell: look(packs, tell, scale))


@dataclass(frozen=True)
class Census:
    """End points for one number of teachers and students: code of ``KINDS`` [S], loss share, share of students on the
    line of a teacher [S]."""

    teachers: int
    students: int
    kind: np.ndarray
    loss: np.ndarray
    aligned: np.ndarray

    @property
    def label(self) -> str:
        return f"{self.teachers} teachers, {self.students} students".replace("1 teachers", "1 teacher")


def look(packs: Packs, progress: Callable[[float], None], scale: Scale) -> list[Census]:
    """Teachers of length 1 in random directions, students from N(0, 0.3^2), all fan-outs 1, in three dimensions."""
    found, all_of = [], [(m, k * m) for m in TEACHERS for k in MULTIPLES]
    starts, time = STARTS[scale], TIME[scale]
    levels = {"global": GLOBAL, "still": STILL, "aligned": ALIGNED}
    common = {"what": "local-minima-census", "dimension": DIMENSION, "starts": starts, "time": time, **levels}
    for done, (m, n) in enumerate(all_of, start=1):
        part = packs.kept.part(common | {"teachers": m, "students": n}, partial(_census, m, n, starts, time))
        found.append(Census(m, n, **part))
        progress(done / len(all_of))
    return found


def _census(m: int, n: int, starts: int, time: float) -> dict[str, np.ndarray]:
    """kind, loss and aligned of a :class:`Census`."""

    def vectors(name: str, count: int) -> torch.Tensor:
        drawn = draws.normals(draws.keys(range(starts), f"{name} {m} {n}"), count * DIMENSION)
        return drawn.view(starts, count, DIMENSION)

    teacher = Units(torch.nn.functional.normalize(vectors("teacher", m), dim=2), torch.ones(starts, m, 1))
    students = Units(0.3 * vectors("student", n), torch.ones(starts, n, 1))
    course = flow(teacher, students, [0.0, time], relative=1e-6, absolute=1e-8)
    end, losses = end_point(teacher, course.end, STILL), course.losses()
    share = (losses[1] / losses[0]).numpy()
    code = [
        0 if s < GLOBAL else {"minimum": 1, "saddle": 2, "not stationary": 3}[k]
        for s, k in zip(share, end.kinds, strict=True)
    ]
    angle = pairs(course.end.w, teacher.w).angle
    near = torch.minimum(angle, torch.pi - angle).amin(2) < ALIGNED
    live = course.end.w.norm(dim=2) > 1e-3
    aligned = (near & live).sum(1) / live.sum(1).clamp_min(1)
    return {"kind": np.array(code), "loss": share, "aligned": aligned.double().numpy()}


def table(found: list[Census]) -> pa.Table:
    rows = [
        {
            "teachers": c.teachers,
            "students": c.students,
            "start": s,
            "kind": KINDS[c.kind[s]],
            "loss_share": c.loss[s],
            "aligned": c.aligned[s],
        }
        for c in found
        for s in range(len(c.kind))
    ]
    return pa.Table.from_pylist(rows)


def draw(found: list[Census]) -> Figure:
    """Share of each kind of end point against the number of teachers, for each multiple."""
    figure, axes = panel_grid(
        [""], [f"{k}x students" for k in MULTIPLES], "teachers", "share of starts", size=(2.8, 2.6)
    )
    for k, panel in zip(MULTIPLES, axes[0], strict=True):
        chosen = [c for c in found if c.students == k * c.teachers]
        floor = np.zeros(len(chosen))
        for code, name in enumerate(KINDS):
            height = np.array([(c.kind == code).mean() for c in chosen])
            colour = PALETTE[(2, 3, 1, 5)[code]]
            panel.bar([c.teachers for c in chosen], height, bottom=floor, color=colour, label=name, width=0.7)
            floor = floor + height
    axes[0, 0].legend(loc="lower left", frameon=True, fontsize=7)
    return figure


one_teacher = Claim(
    "with one teacher every student ends on it",
    statistic="share of the students (those longer than 0.001) on the teacher's line, within 0.05 rad, at the end",
    expected="> 0.99",
    refuted_by="an interval over starts below 0.99",
    values=lambda found: {c.label: c.aligned for c in found if c.teachers == 1},
)


def _advantage(found: list[Census]) -> dict[str, np.ndarray]:
    by = {(c.teachers, c.students): (c.kind == 0).astype(float) for c in found}
    return {f"{m} teachers": by[m, 2 * m] - by[m, m] for m in TEACHERS if m > 1}


wider_is_better = Claim(
    "over-realised students reach the global minimum more often",
    statistic="one where twice as many students reach it, less one where as many as teachers do, start by start",
    expected="> 0",
    refuted_by="an interval over starts below 0",
    values=_advantage,
)

minima_not_saddles = Claim(
    "where the flow does not reach the global minimum it rests in local minima, not in saddles",
    statistic="among end points with a gradient below 0.0001 that are not global: one for a minimum, zero for a saddle",
    expected="> 0.9",
    refuted_by="an interval over starts below 0.9",
    values=lambda found: {c.label: np.where(np.isin(c.kind, (1, 2)), c.kind == 1, np.nan) for c in found},
)
