"""Where the samples of Theorem 3 of Tian 2020 are enough to promise something: few units in two dimensions."""

from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from tutelage.lab import Record, Results, TeacherStudent
from tutelage.specialisation.studies._nearness import BoundaryDistances, nearness_course
from tutelage.specialisation.studies.polynomial_samples import STD, promised
from tutelage.studies.claims import Check, Claim, Measured
from tutelage.studies.figures import PALETTE, panel_grid
from tutelage.studies.study import Plan, Scale, study
from tutelage.training import Training
from tutelage.training.inputs import Gaussian
from tutelage.training.students import SmallNormal
from tutelage.training.teachers import Levels

DIMENSION = 2
SHAPES = ((1, 1), (1, 2), (2, 1))
"""Teacher units and width factor: K is 2, 3 and 4."""
SAMPLES: dict[Scale, tuple[int, ...]] = {
    "smoke": (4_000, 8_000),
    "quick": (4_000, 20_000),
    "paper": (4_000, 20_000, 100_000),
}
STEPS: dict[Scale, int] = {"smoke": 500, "quick": 20_000, "paper": 200_000}
SEEDS: dict[Scale, int] = {"smoke": 3, "quick": 12, "paper": 48}


@study(
    "small-bounds",
    paper="tian2020",
    figure="Thm 3, small K",
    shows="No figure: with N of order K^(5/2) d^2 / eps samples and a small gradient students align within eps. With "
    "two to four units in two dimensions a few thousand samples make that eps smaller than 1.",
)
def small_bounds(scale: Scale) -> Plan:
    """Distance of students from teachers against a promise that is below 1."""
    experiments = [
        BoundaryDistances(
            students=TeacherStudent(
                teacher=Levels(inputs=DIMENSION, hidden=units, outputs=4, levels=(-1.0, -0.5, 0.5, 1.0)),
                student=SmallNormal(width_factor=factor, scale=0.1),
                inputs=Gaussian(train=samples, evaluate=500, std=STD),
                training=Training(steps=STEPS[scale], learning_rate=0.02),
                record=Record(at=(1,), measures=("evaluate_loss",), weights="all"),  # step 1: as good as untrained
                precision="float64",
                seeds=SEEDS[scale],
            )
        )
        for units, factor in SHAPES
        for samples in SAMPLES[scale]
    ]
    return Plan(experiments, draw, [promises, kept], view=outcomes)


@dataclass(frozen=True, eq=False)
class SmallBound:
    """So many units of teacher and student and samples: largest distance of a teacher unit from its nearest student
    unit, before and after training [S], the promised one, and the largest gradient of a sample after training [S]."""

    units: int
    samples: int
    before: np.ndarray
    distance: np.ndarray
    bound: float
    gradient: np.ndarray

    @property
    def name(self) -> str:
        return f"K = {self.units}, {self.samples:,} samples"


def outcomes(results: Results) -> list[SmallBound]:
    out = []
    for r in results:
        students = r.experiment.students
        units = round(students.teacher.hidden[0] * (1 + students.student.width_factor))
        samples = students.inputs.train
        course = nearness_course(r)
        ends = (course[0].distance.max(1), course[-1].distance.max(1))
        bound = promised(samples, DIMENSION, units, aware=False)
        out.append(SmallBound(units, samples, *ends, bound, course[-1].gradient))
    return out


def draw(bounds: list[SmallBound]) -> Figure:
    """Distances before (grey) and after training, one dot per seed, and the promise, against samples."""
    counts = list(dict.fromkeys(b.units for b in bounds))
    figure, axes = panel_grid([""], [f"K = {k}" for k in counts], "samples", "distance to nearest student", (2.4, 2.4))
    for b in bounds:
        panel = axes[0, counts.index(b.units)]
        for values, colour, shift in ((b.before, "#888888", 0.9), (b.distance, PALETTE[0], 1.1)):
            panel.plot([b.samples * shift] * len(values), values, ".", color=colour, ms=3, alpha=0.5)
    for panel, k in zip(axes[0], counts, strict=True):
        chosen = [b for b in bounds if b.units == k]
        panel.plot([b.samples for b in chosen], [b.bound for b in chosen], "k:", label="promised")
        panel.set(xscale="log", yscale="log")
    axes[0, 0].legend()
    return figure


promises = Check(
    "the theorem promises something here",
    statistic="the distance, larger of sine and offset, that its proof reaches with so many samples (Lemma 6)",
    expected="< 1",
    values=lambda bounds: {b.name: b.bound for b in bounds},
    reason="a sine is at most 1",
    standing="own",
)

kept = Claim(
    "and students with a gradient below the promised distance keep the promise (the theorem asks for less)",
    statistic="1 where all teacher units of the member have a student unit within the promised distance, else 0; only "
    "of members whose largest gradient of a sample is at most that distance",
    expected="> 0.9",
    values=lambda bounds: {
        b.name: Measured(
            (b.distance < b.bound).astype(float),
            baseline=(b.before < b.bound).astype(float),
            premise=b.gradient <= b.bound,
        )
        for b in bounds
    },
    reason="nine members in ten; students that have learnt nothing are the baseline",
    possible=(0.0, 1.0),
    kind="outcome",
)
