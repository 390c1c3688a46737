"""The lowest layer learns under upper layers that stay random (Tian 2019, section 4.4)."""

import numpy as np
from matplotlib.figure import Figure

from tutelage.lab import Record, Results, TeacherStudent, TrainedStudents
from tutelage.studies.claims import DIRECTION, MOST, SIGNED, Claim, Measured
from tutelage.studies.figures import PALETTE, panel_grid
from tutelage.studies.intervals import above_chance
from tutelage.studies.study import Plan, Scale, study
from tutelage.training import Drops, Training
from tutelage.training.inputs import Gaussian
from tutelage.training.students import UniformFanIn
from tutelage.training.teachers import Levels

HIDDEN = (10, 15)
WIDTH_FACTORS = (1, 4)
UPPER = (2, 3)
SEEDS: dict[Scale, int] = {"smoke": 3, "quick": 8, "paper": 32}
STEPS: dict[Scale, int] = {"smoke": 200, "quick": 20_000, "paper": 100_000}


@study(
    "frozen-upper-layers",
    paper="tian2019",
    figure="sec. 4.4",
    shows="No figure: even under random upper layers, as at the start, the lowest layer can align with the teacher's, "
    "which suggests that networks are trained from below.",
)
def frozen_upper_layers(scale: Scale) -> Plan:
    """Students whose upper layers are frozen at the start, and students that are trained whole."""
    steps, small = STEPS[scale], scale == "smoke"
    experiments = [
        TeacherStudent(
            teacher=Levels(
                inputs=10 if small else 30, hidden=HIDDEN, outputs=20, levels=(-1.0, -0.5, 0.5, 1.0), bias="median",
                standardised=True,
            ),
            student=UniformFanIn(width_factor=factor),
            inputs=Gaussian(std=1.5, train=500 if small else 20_000, evaluate=2_000),
            training=Training(
                steps=steps, batch=32, learning_rate=0.02, schedule=Drops(at=(steps // 2,), factor=0.5), frozen=frozen
            ),
            record=Record(every=max(1, steps // 20), measures=("evaluate_loss", "rho_mean"), weights="none"),
            seeds=SEEDS[scale],
        )
        for factor in WIDTH_FACTORS
        for frozen in (UPPER, ())
    ]  # fmt: skip
    return Plan(experiments, draw, [still_aligns, most_of_the_way, worse_than_whole], numbers="layer")


def _frozen(r: TrainedStudents) -> bool:
    return bool(r.experiment.training.frozen)


def _lowest(r: TrainedStudents, step: int) -> np.ndarray:
    """rho_mean of the lowest layer at a record: [S]."""
    return r.report["rho_mean"][step][:, 0]


def _gain(r: TrainedStudents) -> np.ndarray:
    """How far the lowest layer came on its way from chance to a full match: [S]."""
    return above_chance(_lowest(r, -1), _lowest(r, 0))


def _name(r: TrainedStudents) -> str:
    return f"{r.setting('width_factor'):g}x"


def draw(results: Results) -> Figure:
    """rho_mean of the lowest layer over time, one line per seed; blue: upper layers frozen, grey: all trained."""
    factors = results.values("width_factor")
    titles = [f"{k:g}x" for k in factors]
    figure, axes = panel_grid([""], titles, "step", r"$\rho_{mean}$, lowest layer", size=(2.9, 2.4))
    for panel, k in zip(axes[0], factors, strict=True):
        for r in results.where(width_factor=k):
            colour, label = (PALETTE[0], "upper layers frozen") if _frozen(r) else ("#888888", "all layers trained")
            for s, line in enumerate(r.report["rho_mean"][:, :, 0].T):
                panel.plot(r.report.steps, line, color=colour, lw=0.7, alpha=0.6, label=label if not s else "_")
        panel.set_ylim(0, 1.03)
    axes[0, -1].legend(loc="lower right")
    return figure


still_aligns = Claim(
    "the lowest layer aligns with the teacher's under upper layers that stay random",
    statistic="mean over teacher units of the best correlation in the lowest layer, at the end minus at the start",
    expected="> 0",
    values=lambda results: {_name(r): _lowest(r, -1) - _lowest(r, 0) for r in results if _frozen(r)},
    reason=DIRECTION,
    possible=SIGNED,
)

most_of_the_way = Claim(
    "it comes most of the way to a full match",
    statistic="rise of that mean over the rise to a full match",
    expected="> 0.5",
    values=lambda results: {
        _name(r): Measured(_gain(r), baseline=np.zeros(len(_gain(r)))) for r in results if _frozen(r)
    },
    reason=MOST,
)

worse_than_whole = Claim(
    "and not as far as where the upper layers learn as well",
    statistic="that share where all layers are trained minus where the upper ones are frozen, seed by seed",
    expected="> 0",
    values=lambda results: {f"{k:g}x": _difference(results, k) for k in results.values("width_factor")},
    reason=DIRECTION,
    standing="own",
)


def _difference(results: Results, factor: float) -> np.ndarray:
    by_frozen = {_frozen(r): r for r in results.where(width_factor=factor)}
    return _gain(by_frozen[False]) - _gain(by_frozen[True])
