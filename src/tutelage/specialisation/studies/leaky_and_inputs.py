"""Which of the two-layer findings survive leaky ReLU and other inputs (beyond Tian 2020, section 7)."""

import math

import numpy as np
from matplotlib.figure import Figure

from tutelage.lab import Record, Results, TeacherStudent, TrainedStudents
from tutelage.measures import RECOVERED
from tutelage.specialisation.studies._two_layer import BY_LIKENESS, MEASURES, SIZES, draw_l
from tutelage.studies.claims import MODERATE, SHARE, SIGNED, STRONG, Claim, Measured
from tutelage.studies.figures import panel_grid
from tutelage.studies.intervals import at_step, fan_out_by_likeness, rank_correlations, recovered_share
from tutelage.studies.study import Plan, Scale, study
from tutelage.training import Training
from tutelage.training.inputs import CorrelatedGaussian, Distribution, Gaussian, StudentT, Uniform
from tutelage.training.students import SmallNormal
from tutelage.training.teachers import Levels

STD = 1.5
LAWS: dict[str, Distribution] = {
    "gaussian": Gaussian(std=STD),
    "uniform": Uniform(half_width=STD * math.sqrt(3)),
    "correlated-gaussian": CorrelatedGaussian(std=STD, correlation=0.7),
    "student-t": StudentT(freedom=5, scale=STD * math.sqrt(3 / 5)),
}
"""All of deviation 1.5 per coordinate; Student's t has five degrees of freedom, so its fourth moment is the last."""
ACTIVATIONS = ("relu", "leaky")
SLOPE, UNITS, WIDTH_FACTOR, POLARITY = 0.1, 10, 5, 1.0


@study(
    "leaky-and-inputs",
    paper="tian2020",
    figure="5, repeated",
    shows="No figure: the paper's theory covers leaky ReLU and any inputs; its two-layer experiments are ReLU on "
    "Gaussian inputs.",
)
def leaky_and_inputs(scale: Scale) -> Plan:
    """Two-layer findings repeated for leaky ReLU and other inputs."""
    size = SIZES[scale]
    experiments = [
        TeacherStudent(
            teacher=Levels(
                inputs=size.inputs,
                hidden=UNITS,
                outputs=size.outputs,
                polarity=POLARITY,
                activation=activation,
                slope=SLOPE,
            ),
            student=SmallNormal(width_factor=WIDTH_FACTOR, activation=activation, slope=SLOPE),
            inputs=distribution.model_copy(update={"train": size.train, "evaluate": size.evaluate}),
            training=Training(steps=size.steps),
            record=Record(every=size.epoch, measures=MEASURES),
            seeds=size.seeds,
        )
        for activation in ACTIVATIONS
        for distribution in LAWS.values()
    ]
    return Plan(experiments, draw, [recovered, small_fan_out, strong_first], "unit")


def draw(results: Results) -> Figure:
    """The L-shape of every activation and distribution at the end; the shade is the density of units."""
    figure, axes = panel_grid(list(ACTIVATIONS), list(LAWS), "best correlation", "fan-out")
    for row, activation in enumerate(ACTIVATIONS):
        for column, distribution in enumerate(LAWS):
            draw_l(axes[row, column], _one(results, activation, distribution))
    axes[0, 0].set_xlim(-0.02, 1.03)
    axes[0, 0].set_ylim(bottom=0)
    return figure


def _one(results: Results, activation: str, distribution: str) -> TrainedStudents:
    return next(
        p for p in results if (p.setting("teacher.activation"), p.experiment.inputs.kind) == (activation, distribution)
    )


def _label(result: TrainedStudents) -> str:
    return f"{result.setting('teacher.activation')}, {result.experiment.inputs.kind}"


recovered = Claim(
    "over-realised students recover the teacher's units",
    statistic="share of teacher units with a best correlation above 0.95 at the end",
    expected="> 0.8",
    values=lambda results: {_label(p): Measured(recovered_share(p), baseline=recovered_share(p, 0)) for p in results},
    reason="four of five units",
    possible=SHARE,
    kind="share",
    standing="own",
)

small_fan_out = Claim(
    "the less a student unit resembles a teacher unit, the smaller its fan-out (Theorem 2)",
    statistic=BY_LIKENESS,
    expected="> 0.3",
    values=lambda results: {
        _label(p): fan_out_by_likeness(at_step(p, "specialisation"), at_step(p, "fan_out")) for p in results
    },
    reason=MODERATE,
    possible=SIGNED,
)


def _first_found(result: TrainedStudents) -> np.ndarray:
    """Rank correlation over teacher units of strength and minus the step of recovery; never found counts as last."""
    best, steps = result.report["best_correlation"], np.asarray(result.report.steps)
    recovered = best > RECOVERED
    when = np.where(recovered.any(0), steps[recovered.argmax(0)], 2 * steps[-1])
    return rank_correlations(at_step(result, "strength"), -when)


strong_first = Claim(
    "strong teacher units are found first",
    statistic="rank correlation, over a member's teacher units, of strength and how early correlation 0.95 is reached",
    expected="> 0.5",
    values=lambda results: {_label(p): _first_found(p) for p in results},
    reason=STRONG,
    possible=SIGNED,
)
