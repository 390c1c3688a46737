"""One student too many, and the gradient no longer bounds the loss as it did (Zhou et al. 2021, Claim 2 and Fig. 2)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from tutelage.draws import keys, normals, uniforms
from tutelage.lab import Context, Experiment, Results
from tutelage.lab.experiment import Arrays
from tutelage.local import LocalSetting, loss_and_gradient, separated_teachers
from tutelage.local.bounds import KAPPA
from tutelage.local.setting import ineffective
from tutelage.local.starts import opposite_pair
from tutelage.local.studies._curves import powers
from tutelage.settings import Seeds
from tutelage.studies.claims import Check, Claim
from tutelage.studies.figures import PALETTE
from tutelage.studies.study import Plan, Scale, study

DIMENSION = 4
TEACHERS = (1, 2, 3)
SEEDS: dict[Scale, int] = {"smoke": 3, "quick": 32, "paper": 128}
ANGLES = np.geomspace(1e-4, 1e-2, 9)
"""delta, where powers are read off."""
WIDE = np.geomspace(1e-4, 0.8, 25)
"""delta, as drawn."""
BOTH = tuple(np.unique(np.concatenate([ANGLES, WIDE])).tolist())


@study(
    "pl-fails",
    paper="zhou2021",
    figure="2",
    shows="A teacher between two students at the angle delta on either side, whose average is the teacher: the loss is "
    "of order delta^3, while one student at that angle has delta^2.",
)
def pl_fails(scale: Scale) -> Plan:
    """With one student more than teachers the Polyak-Lojasiewicz inequality fails."""
    claims: list[Claim | Check] = [square, cube, constant, kept_by_one, lost_by_two, exponent_1_holds]
    experiments = [
        TiltedStudents(teachers=r, pair=pair, seeds=SEEDS[scale]) for r in TEACHERS for pair in (False, True)
    ]
    return Plan(experiments, draw, claims, view=losses_by_angle)


class TiltedStudents(Experiment, kind="tilted-students", numerics=1):
    """Loss and gradient of students that are perfect but on the first teacher, at small angles with it.

    Teachers are random, of lengths 1/2 to 3/2. pair: two students on the first teacher, one on either side, instead
    of one.
    """

    teachers: int
    pair: bool
    dimension: int = DIMENSION
    angles: tuple[float, ...] = BOTH
    seeds: Seeds

    def run(self, context: Context) -> Arrays:
        teachers = separated_teachers(self.teachers, self.dimension, self.seeds, lengths=(0.5, 1.5))
        settings = [LocalSetting(teachers, students(teachers, delta, self.seeds, self.pair)) for delta in self.angles]
        values = [loss_and_gradient(s) for s in settings]
        return {
            "loss": np.stack([v[0].numpy() for v in values], 1),  # [S, angles]
            "gradient_norm": np.stack([v[1].flatten(1).norm(dim=1).numpy() for v in values], 1),
            "root_of_lengths": (self.teachers * settings[0].longest).sqrt().numpy(),
        }


@dataclass(frozen=True, eq=False)
class LossByAngle:
    """With so many teachers and students: losses, gradient norms [delta, S] at ``angles`` and sqrt(r w_max) [S]."""

    teachers: int
    students: int
    angles: np.ndarray
    loss: np.ndarray
    gradient: np.ndarray
    scale: np.ndarray

    @property
    def label(self) -> str:
        return f"r = {self.teachers}, m = {self.students}"

    @property
    def fitted(self) -> np.ndarray:
        return np.isin(self.angles, ANGLES)

    @property
    def over(self) -> bool:
        return self.students > self.teachers


def losses_by_angle(results: Results) -> list[LossByAngle]:
    """One or two students on the first teacher, for every number of teachers."""
    out = []
    for r in results:
        loss, gradient = (np.ascontiguousarray(r[name].T) for name in ("loss", "gradient_norm"))
        count = r.setting("teachers") + r.setting("pair")
        angles = np.array(r.setting("angles"))
        out.append(LossByAngle(r.setting("teachers"), count, angles, loss, gradient, r["root_of_lengths"]))
    return out


def students(teachers: Tensor, delta: float, seeds: Sequence[int], two: bool) -> Tensor:
    """Perfect students but on the first teacher: one at the angle a delta, or two at a delta and -b delta.

    a and b are between 1/2 and 1, drawn per seed; effective neurons of the two add up to the teacher, so only their
    spikes are left (Zhou et al. 2021, eq. 3). [S, r, d] or [S, r + 1, d].
    """
    first, others = teachers[:, :1], teachers[:, 1:]
    length = first.norm(dim=2, keepdim=True)
    unit = first / length
    d = teachers.shape[2]
    beside = normals(keys(seeds, "local plane"), d).view(-1, 1, d)
    beside = beside - (beside * unit).sum(2, keepdim=True) * unit
    beside = beside / beside.norm(dim=2, keepdim=True)
    a, b = (0.5 + uniforms(keys(seeds, "local tilt"), 2) / 2)[:, :, None, None].mul(delta).unbind(1)
    if not two:
        g = length * (a.cos() * unit + a.sin() * beside)
        return torch.cat([ineffective(g), ineffective(others)], 1)
    left = length * b.sin() / (a + b).sin() * (a.cos() * unit + a.sin() * beside)
    right = length * a.sin() / (a + b).sin() * (b.cos() * unit - b.sin() * beside)
    return torch.cat([ineffective(left), ineffective(right), ineffective(others)], 1)


def draw(curves: Sequence[LossByAngle]) -> Figure:
    """Loss, |grad L|^2 / L, and |grad L| against L, of three teachers: one student each, and one more."""
    figure = Figure(figsize=(8.2, 2.7), layout="constrained")
    against, ratio, both = figure.subplots(1, 3)
    names = {False: "$m = r$: one at $\\delta$", True: "$m = r + 1$: two at $\\pm\\delta$"}
    for curve in (curve for curve in curves if curve.teachers == TEACHERS[-1]):
        colour = PALETTE[3 if curve.over else 0]
        for s in range(min(8, curve.loss.shape[1])):
            label = names[curve.over] if s == 0 else None
            against.loglog(curve.angles, curve.loss[:, s], color=colour, alpha=0.6, linewidth=0.9, label=label)
            ratio.loglog(
                curve.angles, curve.gradient[:, s] ** 2 / curve.loss[:, s], color=colour, alpha=0.6, linewidth=0.9
            )
            both.loglog(curve.loss[:, s], curve.gradient[:, s], color=colour, alpha=0.6, linewidth=0.9)
    line = np.geomspace(1e-14, 1.0, 3)
    for power, style, label in ((1 / 2, ":", "$L^{1/2}$"), (2 / 3, "--", "$L^{2/3}$"), (1, "-.", "$\\kappa L$")):
        height = KAPPA / TEACHERS[-1] ** 0.5 if power == 1 else 1
        both.loglog(line, height * line**power, style, color="#888888", linewidth=1, label=label)
    against.set(xlabel=r"$\delta$", ylabel="$L$")
    ratio.set(xlabel=r"$\delta$", ylabel=r"$|\nabla L|^2 / L$")
    both.set(xlabel="$L$", ylabel=r"$|\nabla L|$")
    against.legend(loc="lower right", fontsize=7)
    both.legend(loc="lower right")
    return figure


def _powers(
    curves: Sequence[LossByAngle], over: bool, value: Callable[[LossByAngle], np.ndarray]
) -> dict[str, np.ndarray]:
    return {
        curve.label: powers(curve.angles[curve.fitted], value(curve)[curve.fitted])
        for curve in curves
        if curve.over == over
    }


def _off(of: dict[str, np.ndarray], wanted: float) -> dict[str, np.ndarray]:
    return {label: np.abs(value - wanted) for label, value in of.items()}


def _loss_powers(curves: Sequence[LossByAngle], over: bool) -> dict[str, np.ndarray]:
    """Of one teacher alone: further teachers have perfect students, which add nothing to the loss."""
    return _powers([curve for curve in curves if curve.teachers == 1], over, lambda curve: curve.loss)


square = Claim(
    "one student at the angle delta has a loss of order delta^2",
    statistic="distance from 2 of the slope of log L against log delta, delta from 0.0001 to 0.01",
    expected="< 0.05",
    values=lambda curves: _off(_loss_powers(curves, False), 2),
    reason="a twentieth of the power, less than the distance to the next one",
    possible=(0.0, np.inf),
)

cube = Claim(
    "two students at the angle delta, whose average is the teacher, have a loss of order delta^3",
    statistic="distance from 3 of the slope of log L against log delta, delta from 0.0001 to 0.01",
    expected="< 0.05",
    values=lambda curves: _off(_loss_powers(curves, True), 3),
    reason="a twentieth of the power, less than the distance to the next one",
    possible=(0.0, np.inf),
    place="Claim 2",
)


def _limits(curves: Sequence[LossByAngle]) -> dict[str, np.ndarray]:
    """L / delta^3 over 2 / (3 pi) - 1 in size at small angles, one value per angle."""
    small = ANGLES[ANGLES <= 2e-3]
    values = [float(loss_and_gradient(opposite_pair(float(x)))[0]) for x in small]
    return {"one teacher": np.abs(np.array(values) / small**3 * 3 * math.pi / 2 - 1)}


constant = Check(
    "the constant of that power, for a teacher of length 1 and equal students, is 2 / (3 pi)",
    statistic="relative distance of L / delta^3 from 2 / (3 pi), one value an angle up to 0.002",
    expected="< 0.01",
    values=_limits,
    reason="one hundredth: the correction at these angles is of the order of the angle",
    standing="own",
)

kept_by_one = Claim(
    "with m = r the squared gradient is of the order of the loss (PL)",
    statistic="size of the slope of log (|grad L|^2 / L) against log delta",
    expected="< 0.05",
    values=lambda curves: _off(_powers(curves, False, lambda curve: curve.gradient**2 / curve.loss), 0),
    reason="a twentieth of the power",
    possible=(0.0, np.inf),
    place="sec. 2",
)

lost_by_two = Claim(
    "with m > r it is of smaller order, so no PL inequality holds",
    statistic="slope of log (|grad L|^2 / L) against log delta",
    expected="> 0.9",
    values=lambda curves: _powers(curves, True, lambda curve: curve.gradient**2 / curve.loss),
    reason="a power of 1 is expected, and nine tenths of it asked for",
    place="Claim 2",
)

exponent_1_holds = Claim(
    "|grad L| >= kappa L holds for both, with the constant of the proof of Theorem 3",
    statistic="least |grad L| sqrt(r w_max) / L over all angles up to 0.8",
    expected="> 0.41",
    values=lambda curves: {curve.label: (curve.gradient * curve.scale / curve.loss).min(0) for curve in curves},
    reason="the constant of the proof",
    about="every",
    possible=(0.0, np.inf),
    place="Thm 3",
)
