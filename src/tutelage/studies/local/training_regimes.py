"""Lazy, mean-field and local training of the same width in the plane (seed 003, Fig. 1)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

from tutelage.figures import PALETTE
from tutelage.studies.claims import Claim
from tutelage.studies.local._slopes import PLANE, geometric_steps
from tutelage.studies.packs import Packs
from tutelage.studies.study import Plan, Scale, study
from tutelage.theory.local import (
    Descent,
    Setting,
    descend,
    groups,
    lazy_students,
    local_students,
    normal_students,
    plane_teachers,
)

STUDENTS, ALPHA, SMALL = 20, 10.0, 0.05
SEEDS: dict[Scale, int] = {"smoke": 2, "quick": 16, "paper": 64}
STEPS: dict[Scale, int] = {"smoke": 300, "quick": 20_000, "paper": 20_000}


@study(
    "training-regimes",
    seed="003",
    figure="1",
    shows="Twenty students and three teachers in the plane: students hardly move in the lazy regime, and end on the "
    "directions of teachers in the mean-field regime and from a local start.",
)
def training_regimes(scale: Scale) -> Plan:
    """Lazy, mean-field and local training in the plane."""
    claims = [lazy_stands, lazy_is_off, mean_field_moves, loss_vanishes, on_teachers]
    return Plan([], draw, claims, table, lambda packs, tell: look(packs, tell, scale))


@dataclass(frozen=True, eq=False)
class Regime:
    """A descent of all seeds, with angles [S, m] to the nearest teacher and masses [S, m] at its end."""

    name: str
    run: Descent

    @property
    def angles(self) -> np.ndarray:
        return groups(self.run.end).angle.numpy()

    @property
    def masses(self) -> np.ndarray:
        return self.run.end.students.square().sum(2).numpy()


def look(packs: Packs, progress: Callable[[float], None], scale: Scale) -> list[Regime]:
    """Unit teachers at 20, 80 and 140 degrees; exact gradients, each regime at its usual rate."""
    seeds, record = range(SEEDS[scale]), geometric_steps(STEPS[scale], 100)
    teachers = plane_teachers(PLANE)
    half, top = lazy_students(STUDENTS, 2, seeds, ALPHA)
    found = [Regime("lazy", descend(Setting(teachers, half), record, top=top))]
    progress(1 / 3)
    found.append(
        Regime("mean field", descend(Setting(teachers, normal_students(STUDENTS, 2, seeds, scale=SMALL)), record))
    )
    progress(2 / 3)
    found.append(Regime("local", descend(Setting(teachers, local_students(teachers, STUDENTS, seeds)), record)))
    progress(1.0)
    return found


def table(found: Sequence[Regime]) -> pa.Table:
    rows = [
        {
            "regime": r.name,
            "seed": s,
            "student": j,
            "angle": r.angles[s, j],
            "mass": r.masses[s, j],
            "displacement": float(r.run.unit_displacement[s, j]),
            "loss": float(r.run.losses[-1, s]),
        }
        for r in found
        for s in range(r.run.end.members)
        for j in range(STUDENTS)
    ]
    return pa.Table.from_pylist(rows)


def draw(found: Sequence[Regime]) -> Figure:
    """Trajectories of the first seed's students: teachers' directions blue, ways black, ends red."""
    figure = Figure(figsize=(7.6, 2.9), layout="constrained")
    for panel, regime in zip(figure.subplots(1, len(found)), found, strict=True):
        assert regime.run.students is not None
        ways = regime.run.students[:, 0].numpy()
        reach = 1.1 * np.abs(ways).max()
        for x, y in regime.run.start.teachers[0].tolist():
            panel.axline((0, 0), (x, y), color=PALETTE[0], linewidth=1.2, alpha=0.8)
        panel.plot(ways[:, :, 0], ways[:, :, 1], color="#000000", linewidth=0.8)
        panel.plot(ways[-1, :, 0], ways[-1, :, 1], "o", color=PALETTE[3], markersize=3.5, zorder=3)
        panel.set(aspect="equal", xlim=(-reach, reach), ylim=(-reach, reach), title=regime.name, xlabel="$w_1$")
    figure.axes[0].set_ylabel("$w_2$")
    return figure


def _of(found: Sequence[Regime], names: Sequence[str], value: Callable[[Regime], np.ndarray]) -> dict[str, np.ndarray]:
    return {r.name: value(r) for r in found if r.name in names}


lazy_stands = Claim(
    "in the lazy regime students barely move",
    statistic="median over students of |w_T - w_0| / |w_0|, each seed",
    expected="< 0.01",
    refuted_by="an interval over seeds above 0.01",
    values=lambda found: _of(found, ["lazy"], lambda r: np.median(r.run.unit_displacement.numpy(), axis=1)),
)

lazy_is_off = Claim(
    "and so do not end on the directions of teachers",
    statistic="median over students of the angle with the nearest teacher's line at the end, in radians",
    expected="> 0.1",
    refuted_by="an interval over seeds below 0.1",
    values=lambda found: _of(found, ["lazy"], lambda r: np.median(r.angles, axis=1)),
)

mean_field_moves = Claim(
    "in the mean-field regime they move far",
    statistic="median over students of |w_T - w_0| / |w_0|, each seed",
    expected="> 1",
    refuted_by="an interval over seeds below 1",
    values=lambda found: _of(found, ["mean field"], lambda r: np.median(r.run.unit_displacement.numpy(), axis=1)),
)

loss_vanishes = Claim(
    "the loss goes to zero in the mean-field regime and from a local start",
    statistic="log10 of the loss at the end",
    expected="< -6",
    refuted_by="an interval over seeds above -6",
    values=lambda found: _of(
        found, ["mean field", "local"], lambda r: np.log10(r.run.losses[-1].clamp_min(1e-30).numpy())
    ),
)

on_teachers = Claim(
    "and students end on the directions of teachers",
    statistic="sum over students of |w|^2 times the squared angle with the nearest teacher's line, at the end",
    expected="< 0.01",
    refuted_by="an interval over seeds above 0.01",
    values=lambda found: _of(found, ["mean field", "local"], lambda r: (r.masses * r.angles**2).sum(1)),
)
