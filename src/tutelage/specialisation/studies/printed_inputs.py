"""Two-layer students on the inputs that Tian 2020 prints: deviation 10, and uniform on [-1, 1]."""

from matplotlib.figure import Figure

from tutelage.lab import Record, Results, TeacherStudent, TrainedStudents
from tutelage.specialisation.studies._two_layer import BY_LIKENESS, MEASURES, SIZES, WIDTH_FACTORS, by_likeness, draw_l
from tutelage.studies.claims import DIRECTION, MODERATE, SHARE, SIGNED, Claim, Measured, compared
from tutelage.studies.figures import panel_grid
from tutelage.studies.intervals import recovered_share
from tutelage.studies.study import Plan, Scale, study
from tutelage.training import Training
from tutelage.training.inputs import Distribution, Gaussian, Uniform
from tutelage.training.students import SmallNormal
from tutelage.training.teachers import Levels

INPUTS: dict[str, tuple[Distribution, float]] = {
    "N(0, 10^2)": (Gaussian(std=10.0), 0.001),
    "U[-1, 1]": (Uniform(half_width=1.0), 0.01),
}
"""Distribution and learning rate: with inputs of deviation 10 the paper's rate of 0.01 diverges."""
POLARITY, UNITS = 1.0, 10


@study(
    "printed-inputs",
    paper="tian2020",
    figure="5 and 7, inputs as printed",
    shows="Fig. 5 and 7 are about inputs of deviation 10 in Tian 2020 and of 1.5 in Tian 2019; other studies here take "
    "1.5, with which the printed learning rate trains.",
)
def printed_inputs(scale: Scale) -> Plan:
    """The L-shape and what is recovered on the inputs that are printed."""
    size = SIZES[scale]
    experiments = [
        TeacherStudent(
            teacher=Levels(inputs=size.inputs, outputs=size.outputs, hidden=UNITS, polarity=POLARITY),
            student=SmallNormal(width_factor=factor),
            inputs=distribution.model_copy(update={"train": size.train, "evaluate": size.evaluate}),
            training=Training(steps=size.steps, learning_rate=rate),
            record=Record(every=size.epoch, measures=MEASURES),
            seeds=size.seeds,
        )
        for distribution, rate in INPUTS.values()
        for factor in WIDTH_FACTORS
    ]
    return Plan(experiments, draw, [small_fan_out, wide_recover, wider_recover_more], "unit")


def _of(results: Results, name: str, factor: float) -> TrainedStudents:
    kind = INPUTS[name][0].kind
    return next(r for r in results if (r.experiment.inputs.kind, r.setting("width_factor")) == (kind, factor))


def _each(results: Results) -> dict[str, TrainedStudents]:
    return {f"{name}, {k:g}x": _of(results, name, k) for name in INPUTS for k in WIDTH_FACTORS}


def draw(results: Results) -> Figure:
    """Best correlation against fan-out of every student unit at the end, by inputs and width."""
    titles = [f"{k:g}x" for k in WIDTH_FACTORS]
    figure, axes = panel_grid(list(INPUTS), titles, "best correlation", "fan-out", sharey="row")
    for row, name in zip(axes, INPUTS, strict=True):
        for panel, k in zip(row, WIDTH_FACTORS, strict=True):
            draw_l(panel, _of(results, name, k))
        row[0].set_ylim(bottom=0)
    axes[0, 0].set_xlim(-0.02, 1.03)
    return figure


small_fan_out = Claim(
    "the less a student unit resembles a teacher unit, the smaller its fan-out (Theorem 2)",
    statistic=BY_LIKENESS,
    expected="> 0.3",
    values=lambda results: {name: by_likeness(r) for name, r in _each(results).items()},
    reason=MODERATE,
    possible=SIGNED,
    place="Fig. 5",
)

wide_recover = Claim(
    "over-realised students recover the teacher's units",
    statistic="share of teacher units with a best correlation above 0.95 at the end",
    expected="> 0.8",
    values=lambda results: {
        name: Measured(recovered_share(r), baseline=recovered_share(r, 0))
        for name, r in _each(results).items()
        if r.setting("width_factor") >= 5
    },
    reason="four of five units",
    possible=SHARE,
    kind="share",
)

wider_recover_more = Claim(
    "over-realised students recover more teacher units than 1x students",
    statistic="share of units recovered at 10x minus the share at 1x at the end, seed by seed",
    expected="> 0",
    values=lambda results: {
        name: compared(recovered_share(_of(results, name, 10)), recovered_share(_of(results, name, 1)))
        for name in INPUTS
    },
    reason=DIRECTION,
    possible=SIGNED,
    place="sec. 7.1",
)
