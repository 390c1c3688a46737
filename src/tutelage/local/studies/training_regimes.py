"""Lazy, mean-field and local training of the same width in the plane (Zhou et al. 2021, Fig. 1)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from matplotlib.figure import Figure
from torch import Tensor

from tutelage.lab import Context, Experiment, Results, Shared
from tutelage.lab.experiment import Arrays
from tutelage.local import LocalSetting, descend, groups, local_students
from tutelage.local.starts import lazy_students, normal_students, plane_teachers
from tutelage.local.studies._curves import PLANE, geometric_steps
from tutelage.settings import Seeds
from tutelage.studies.claims import Claim
from tutelage.studies.figures import PALETTE
from tutelage.studies.study import Plan, Scale, study

RegimeName = Literal["lazy", "mean field", "local"]
SEEDS: dict[Scale, int] = {"smoke": 2, "quick": 16, "paper": 64}
STEPS: dict[Scale, int] = {"smoke": 300, "quick": 20_000, "paper": 20_000}


@study(
    "training-regimes",
    paper="zhou2021",
    figure="1",
    shows="Twenty students and three teachers in the plane: students hardly move in the lazy regime, and end on the "
    "directions of teachers in the mean-field regime and from a local start.",
)
def training_regimes(scale: Scale) -> Plan:
    """Lazy, mean-field and local training in the plane."""
    claims = [lazy_stands, lazy_is_off, mean_field_moves, loss_vanishes, on_teachers]
    experiments = [
        RegimeDescent(regime=regime, steps=STEPS[scale], seeds=SEEDS[scale]) for regime in get_args(RegimeName)
    ]
    return Plan(experiments, draw, claims, view=regimes)


class RegimeDescent(Experiment, kind="regime-descent", numerics=1):
    """Descent from a lazy, mean-field or local start, with unit teachers at 20, 80 and 140 degrees in the plane.

    Gradients are exact, and each regime has its usual rate. alpha: factor of the lazy model; scale: standard deviation
    of the mean-field start.
    """

    regime: RegimeName
    steps: int
    records: int = 100
    students: int = 20
    alpha: float = 10.0
    scale: float = 0.05
    seeds: Seeds

    @property
    def cost(self) -> float:
        return 3e-8 * self.members * self.steps * self.students**2

    def run(self, context: Context) -> Arrays:
        students, top = self._start()
        setting = LocalSetting(plane_teachers(PLANE), students)
        run = descend(setting, geometric_steps(self.steps, self.records), top=top)
        assert run.students is not None
        return {
            "angle": groups(run.end).angle.numpy(),
            "mass": run.end.students.square().sum(2).numpy(),
            "displacement": run.unit_displacement.numpy(),
            "losses": run.losses.numpy().T,
            "first_path": Shared(run.students[:, 0].numpy()),  # of the first member, as drawn: [T, m, 2]
        }

    def _start(self) -> tuple[Tensor, Tensor | None]:
        """Students [S, m, 2], and the factors [m] of the lazy model."""
        if self.regime == "lazy":
            return lazy_students(self.students, 2, self.seeds, self.alpha)
        if self.regime == "mean field":
            return normal_students(self.students, 2, self.seeds, scale=self.scale), None
        return local_students(plane_teachers(PLANE), self.students, self.seeds), None


@dataclass(frozen=True, eq=False)
class RegimeResult:
    """Descent in one regime.

    angles, masses, displacements: angle to the nearest teacher and squared length of every student at the end, and how
    far it moved over its length at the start [S, m]; losses [T, S]; path: of the first member's students [T, m, 2].
    """

    name: str
    angles: np.ndarray
    masses: np.ndarray
    displacements: np.ndarray
    losses: np.ndarray
    path: np.ndarray


def regimes(results: Results) -> list[RegimeResult]:
    """Descent in every regime."""
    return [
        RegimeResult(
            r.setting("regime"),
            r["angle"],
            r["mass"],
            r["displacement"],
            np.ascontiguousarray(r["losses"].T),
            r["first_path"],
        )
        for r in results
    ]


def draw(regimes: Sequence[RegimeResult]) -> Figure:
    """Trajectories of the first seed's students: teachers' directions blue, ways black, ends red.

    Lazy students come in pairs that start, and stay, at the same place with opposite signs.
    """
    figure = Figure(figsize=(7.6, 2.9), layout="constrained")
    for panel, regime in zip(figure.subplots(1, len(regimes)), regimes, strict=True):
        ways = regime.path
        reach = 1.1 * np.abs(ways).max()
        for x, y in plane_teachers(PLANE)[0].tolist():
            panel.axline((0, 0), (x, y), color=PALETTE[0], linewidth=1.2, alpha=0.8)
        panel.plot(ways[:, :, 0], ways[:, :, 1], color="#000000", linewidth=0.8)
        panel.plot(ways[-1, :, 0], ways[-1, :, 1], "o", color=PALETTE[3], markersize=3.5, zorder=3)
        pairs = " in pairs" if regime.name == "lazy" else ""
        title = f"{regime.name}: {ways.shape[1]} students{pairs}"
        panel.set(aspect="equal", xlim=(-reach, reach), ylim=(-reach, reach), title=title, xlabel="$w_1$")
    figure.axes[0].set_ylabel("$w_2$")
    return figure


def _of(
    regimes: Sequence[RegimeResult], names: Sequence[str], value: Callable[[RegimeResult], np.ndarray]
) -> dict[str, np.ndarray]:
    return {r.name: value(r) for r in regimes if r.name in names}


lazy_stands = Claim(
    "in the lazy regime students barely move",
    statistic="median over students of |w_T - w_0| / |w_0|, each seed",
    expected="< 0.01",
    values=lambda regimes: _of(regimes, ["lazy"], lambda r: np.median(r.displacements, axis=1)),
    reason="one hundredth of their length is read as barely",
    possible=(0.0, np.inf),
    place="sec. 1",
)

lazy_is_off = Claim(
    "and so do not end on the directions of teachers",
    statistic="median over students of the angle with the nearest teacher's line at the end, in radians",
    expected="> 0.1",
    values=lambda regimes: _of(regimes, ["lazy"], lambda r: np.median(r.angles, axis=1)),
    reason="twice the 0.05 rad within which students count as aligned elsewhere",
    possible=(0.0, np.inf),
)

mean_field_moves = Claim(
    "in the mean-field regime they move far",
    statistic="median over students of |w_T - w_0| / |w_0|, each seed",
    expected="> 1",
    values=lambda regimes: _of(regimes, ["mean field"], lambda r: np.median(r.displacements, axis=1)),
    reason="further than their own length is read as far",
    possible=(0.0, np.inf),
    place="sec. 1",
)

loss_vanishes = Claim(
    "the loss goes to zero in the mean-field regime and from a local start",
    statistic="log10 of the loss at the end",
    expected="< -6",
    values=lambda regimes: _of(regimes, ["mean field", "local"], lambda r: np.log10(np.maximum(r.losses[-1], 1e-30))),
    reason="a millionth is read as zero",
)

on_teachers = Claim(
    "and students end on the directions of teachers",
    statistic="sum over students of |w|^2 times the squared angle with the nearest teacher's line, at the end",
    expected="< 0.01",
    values=lambda regimes: _of(regimes, ["mean field", "local"], lambda r: (r.masses * r.angles**2).sum(1)),
    reason="a hundredth of a teacher's squared length",
    possible=(0.0, np.inf),
)
