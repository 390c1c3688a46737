"""The two-layer sweep behind most figures of Tian 2020 and Tian 2019: one set of experiments, shared by the studies
that use it.

Settings: 100 inputs, 50 outputs, SGD with learning rate 0.01 and batches of 16, students from N(0, 0.005^2). Inputs
are N(0, 1.5^2) as Tian 2019 says; with the 10 that Tian 2020 prints, this learning rate diverges.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from tutelage.lab import Record, TeacherStudent, TrainedStudents
from tutelage.measures import RECOVERED
from tutelage.studies.claims import Measured
from tutelage.studies.figures import PALETTE
from tutelage.studies.intervals import at_step, fan_out_by_likeness
from tutelage.studies.study import Scale
from tutelage.training import Training
from tutelage.training.inputs import Gaussian
from tutelage.training.students import SmallNormal
from tutelage.training.teachers import Levels

WIDTH_FACTORS = (1, 2, 5, 10)
MEASURES = ("evaluate_loss", "rho_mean", "strength", "best_correlation", "specialisation", "best_teacher", "fan_out")
BY_LIKENESS = (
    "Goodman and Kruskal's gamma, over a member's units, of likeness to a teacher unit and fan-out norm at the end; "
    "likeness in five classes of 1 - rho, with edges at 0.5, 0.3, 0.1 and 0.05, and fan-outs below a thousandth of the "
    "largest as equal, so that rounding orders no units (a rank correlation, taken first, is capped by the ties)"
)
"""The statistic of the L-shape."""
EPOCH = 1000
"""Steps that the papers call an epoch."""


@dataclass(frozen=True)
class TwoLayerSize:
    """What a scale means for the two-layer sweep."""

    seeds: int
    epochs: int
    inputs: int = 100
    outputs: int = 50
    train: int = 10_000
    evaluate: int = 10_000
    epoch: int = EPOCH

    @property
    def steps(self) -> int:
        return self.epochs * self.epoch

    @property
    def early(self) -> int:
        """The step of the dotted lines of Tian 2020, Fig. 7: five epochs."""
        return 5 * self.epoch


SIZES: dict[Scale, TwoLayerSize] = {
    "smoke": TwoLayerSize(seeds=3, epochs=10, inputs=20, outputs=10, train=500, evaluate=500, epoch=50),
    "quick": TwoLayerSize(seeds=8, epochs=20, evaluate=4_000),
    "paper": TwoLayerSize(seeds=32, epochs=100),
}


def two_layer(size: TwoLayerSize, width_factor: float, record: Record, **teacher: Any) -> TeacherStudent:
    """One experiment of the sweep's settings; teacher: fields of its recipe beside the number of inputs."""
    return TeacherStudent(
        teacher=Levels(inputs=size.inputs, **{"outputs": size.outputs} | teacher),
        student=SmallNormal(width_factor=width_factor),
        inputs=Gaussian(std=1.5, train=size.train, evaluate=size.evaluate),
        training=Training(steps=size.steps),
        record=record,
        seeds=size.seeds,
    )


def sweep(scale: Scale, hidden: int, width_factors: Sequence[int], polarities: Sequence[float]) -> list[TeacherStudent]:
    """One experiment for each width_factor and polarity, in that order."""
    size = SIZES[scale]
    record = Record(every=size.epoch, at=tuple(size.epoch * k // 10 for k in (1, 2, 5)), measures=MEASURES)
    return [
        two_layer(size, width_factor, record, hidden=hidden, polarity=polarity)
        for width_factor in width_factors
        for polarity in polarities
    ]


def label(result: TrainedStudents) -> str:
    """How claims name the experiment of a polarity and a width factor."""
    return f"p = {result.setting('polarity'):g}, {result.setting('width_factor'):g}x"


def draw_l(panel: Axes, result: TrainedStudents) -> None:
    """Best correlation against fan-out of every student unit at the end, of all seeds.

    Points are nearly transparent, so that the shade is their density: most units lie on top of one another.
    """
    x, y = at_step(result, "specialisation"), at_step(result, "fan_out")
    panel.scatter(x, y, color=PALETTE[0], s=7, alpha=0.15, linewidths=0, rasterized=True)
    panel.axvline(RECOVERED, color="#999999", linewidth=0.7, linestyle=":")


def by_likeness(result: TrainedStudents) -> Measured:
    """The statistic :data:`BY_LIKENESS` per member; where all units are specialised no order can be seen."""
    best = at_step(result, "specialisation")
    ranks = fan_out_by_likeness(best, at_step(result, "fan_out"))
    return Measured(ranks, at_limit=np.asarray((best > RECOVERED).all(1)))
