"""Students chase the strongest teacher unit first and shift to weaker ones later (Tian 2019, Fig. 8)."""

import numpy as np
from matplotlib.figure import Figure

from tutelage.lab import Record, Results, TeacherStudent, TrainedStudents
from tutelage.measures import RECOVERED
from tutelage.specialisation.studies._two_layer import SIZES
from tutelage.studies.claims import MOST, SHARE, Claim
from tutelage.studies.figures import PALETTE, panel_grid
from tutelage.studies.intervals import recovery_steps
from tutelage.studies.study import Plan, Scale, study
from tutelage.training import Training
from tutelage.training.inputs import Gaussian
from tutelage.training.students import SmallNormal
from tutelage.training.teachers import Levels

UNITS = 5
WIDTH_FACTOR = 2
SEEDS: dict[Scale, int] = {"smoke": 3, "quick": 16, "paper": 32}
CHASING = 0.5  # a student chases a teacher unit when its correlation with it is the largest and above this


@study(
    "focus-shifting",
    paper="tian2019",
    figure="8",
    shows="Correlation of every student unit (one colour each) with each of five teacher units over training, three "
    "seeds: most students go to unit 0 first, and unit 4 is found late, by a student that chased another before (the "
    "sketch of Fig. 6b).",
)
def focus_shifting(scale: Scale) -> Plan:
    """Winners take all, then the focus shifts to weaker units."""
    size = SIZES[scale]
    epochs = min(10, size.epochs)
    experiment = TeacherStudent(
        teacher=Levels(inputs=size.inputs, hidden=UNITS, outputs=size.outputs, polarity=1.0),
        student=SmallNormal(width_factor=WIDTH_FACTOR),
        inputs=Gaussian(std=1.5, train=size.train, evaluate=size.evaluate),
        training=Training(steps=epochs * size.epoch),
        record=Record(every=size.epoch // 10, measures=("correlation", "best_correlation", "fan_out", "evaluate_loss")),
        seeds=SEEDS[scale],
    )
    return Plan(
        experiments=[experiment],
        figure=draw,
        claims=[strongest_first, strongest_has_most, last_one_shifted],
        numbers="pair",
    )


def draw(results: Results) -> Figure:
    """Correlation of each student with each teacher unit over steps: rows are seeds, columns teacher units."""
    (result,) = results
    rows = min(3, len(result.experiment.seeds))
    figure, axes = panel_grid(
        [f"seed {result.experiment.seeds[i]}" for i in range(rows)],
        [f"teacher unit {j}" for j in range(UNITS)],
        "step (thousands)",
        "correlation",
        size=(1.9, 1.6),
    )
    steps, rho = np.asarray(result.report.steps) / 1000, result.report["correlation"]
    styles = [(colour, style) for style in ("-", "--") for colour in PALETTE]
    for row in range(rows):
        for unit in range(UNITS):
            for student in range(rho.shape[3]):
                colour, style = styles[student % len(styles)]
                axes[row, unit].plot(steps, rho[:, row, unit, student], style, color=colour, linewidth=1)
    axes[0, 0].set_ylim(min(-0.4, np.nanmin(rho[:, :rows]) - 0.05), 1.05)
    return figure


def _order(result: TrainedStudents) -> np.ndarray:
    """One where unit 0 is recovered at an earlier recorded step than the last unit: [S]."""
    steps = np.minimum(recovery_steps(result), result.report.steps[-1] + 1.0)
    return (steps[:, 0] < steps[:, -1]).astype(float)


strongest_first = Claim(
    "the strongest teacher unit is found before the weakest",
    statistic="one where unit 0 is recovered at an earlier recorded step than unit 4, else zero",
    expected="> 0.5",
    values=lambda results: {"p = 1, 2x": _order(next(iter(results)))},
    reason="more often than not",
    possible=SHARE,
    kind="outcome",
    place="Fig. 8",
)


def _share_on_strongest(result: TrainedStudents) -> np.ndarray:
    """Share of students whose best teacher is unit 0 at the step at which unit 0 is recovered."""
    rho, steps = result.report["correlation"], recovery_steps(result)[:, 0]
    when = np.searchsorted(result.report.steps, np.minimum(steps, result.report.steps[-1]))
    best = rho[when, np.arange(rho.shape[1])].argmax(1)
    return np.where(np.isfinite(steps), (best == 0).mean(1), np.nan)


strongest_has_most = Claim(
    "most students go to the strongest teacher unit first",
    statistic="share of student units that resemble unit 0 most, at the step at which unit 0 is recovered; "
    "members that never recover unit 0 do not count",
    expected="> 0.5",
    values=lambda results: {"p = 1, 2x": _share_on_strongest(next(iter(results)))},
    reason=MOST,
    possible=SHARE,
    kind="share",
    place="Fig. 8",
)


def _shifted(result: TrainedStudents) -> np.ndarray:
    """1 where the student that recovers the weakest unit chased another unit before, else 0."""
    rho = result.report["correlation"]
    members = np.arange(rho.shape[1])
    winner = rho[-1, :, -1].argmax(1)
    of_winner = np.take_along_axis(rho, winner[None, :, None, None], axis=3)[..., 0]  # [T, S, m]
    chased = ((of_winner.argmax(2) != UNITS - 1) & (of_winner.max(2) > CHASING)).any(0)
    return np.where(rho[-1, members, -1, winner] > RECOVERED, chased, np.nan)


last_one_shifted = Claim(
    "the weakest teacher unit is found by a student that first chased another one",
    statistic="1 where the student that ends on unit 4 was at some step most like another unit, above 0.5, else 0; "
    "members that never recover unit 4 do not count",
    expected="> 0.5",
    values=lambda results: {"p = 1, 2x": _shifted(next(iter(results)))},
    reason="more often than not",
    possible=SHARE,
    kind="outcome",
    place="Fig. 8",
)
