"""Data built around the teacher's boundaries generalises from few samples (Tian 2020, Fig. 9)."""

import numpy as np
from matplotlib.figure import Figure

from tutelage.lab import Record, Results, TeacherStudent, TrainedStudents
from tutelage.specialisation.studies._two_layer import SIZES
from tutelage.studies.claims import Claim
from tutelage.studies.figures import PALETTE, panel_grid
from tutelage.studies.intervals import at_step
from tutelage.studies.study import Plan, Scale, fresh_seeds, study
from tutelage.training import Training
from tutelage.training.inputs import Gaussian, TeacherAware
from tutelage.training.students import SmallNormal
from tutelage.training.teachers import Levels

JUDGED_ON_AWARE = "aware, judged on aware points"
LAWS = {
    "teacher-agnostic": Gaussian(std=1.5),
    "teacher-aware": TeacherAware(std=1.5),
    JUDGED_ON_AWARE: TeacherAware(std=1.5, evaluate_aware=True),
    "agnostic set with its aware augmentation": TeacherAware(std=1.5, united=True),
}
"""The paper does not say which points its evaluation loss is taken on, nor whether the Gaussian points that are
augmented stay in the set (as in its Def. 7): all readings are shown, at equal numbers of labels."""

SAMPLES: dict[Scale, tuple[int, ...]] = {
    "smoke": (60, 240),
    "quick": (30, 100, 300, 1_000, 3_000, 10_000),
    "paper": (30, 100, 300, 1_000, 3_000, 10_000, 30_000),
}
SEEDS: dict[Scale, int] = {"smoke": 3, "quick": 8, "paper": 40}
"""At paper scale others than in an earlier run, whose ten members left three verdicts undecided."""
FEW = 3_000  # the claim of better generalisation is made for at most this many samples


@study(
    "teacher-aware-data",
    paper="tian2020",
    figure="9",
    shows="Training and evaluation loss against the number of samples: students fit both kinds of data, but only "
    "points built around the teacher's boundaries generalise from few samples.",
)
def teacher_aware_data(scale: Scale) -> Plan:
    """Teacher-aware against teacher-agnostic data, by number of samples."""
    size = SIZES[scale]
    experiments = [
        TeacherStudent(
            teacher=Levels(inputs=size.inputs, hidden=10, outputs=size.outputs, polarity=0.0),
            student=SmallNormal(width_factor=2),
            inputs=distribution.model_copy(update={"train": samples, "evaluate": size.evaluate}),
            training=Training(steps=size.steps),
            record=Record(measures=("train_loss", "evaluate_loss", "label_power", "rho_mean")),
            seeds=fresh_seeds(scale, SEEDS[scale]),
        )
        for distribution in LAWS.values()
        for samples in SAMPLES[scale]
    ]
    return Plan(
        experiments=experiments,
        figure=draw,
        claims=[both_fit, aware_generalises, aware_generalises_to_its_own, augmented_generalises],
        numbers="member",
    )


def draw(results: Results) -> Figure:
    """Training and evaluation loss at the end against the number of samples, mean and range over seeds."""
    figure, axes = panel_grid([""], ["training", "evaluation"], "training samples", "loss", size=(3.0, 2.9))
    for panel, measure in zip(axes[0], ("train_loss", "evaluate_loss"), strict=True):
        for colour, kind, style in zip(PALETTE, LAWS, ("o-", "s-", "x--", "^-"), strict=False):
            if (measure, kind) == ("train_loss", JUDGED_ON_AWARE):
                continue  # the same students as teacher-aware ones
            x = [p.experiment.inputs.train for p in _of(results, kind)]
            y = np.stack([at_step(p, measure) for p in _of(results, kind)])
            panel.plot(x, np.nanmean(y, 1), style, color=colour, label=kind, markersize=4)
            panel.fill_between(x, np.nanmin(y, 1), np.nanmax(y, 1), color=colour, alpha=0.15, linewidth=0)
        panel.set_xscale("log")
        panel.set_yscale("log")
    figure.legend(*axes[0, 1].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def _of(results: Results, kind: str) -> list[TrainedStudents]:
    """The experiments of one kind of data, by number of samples."""
    distribution = LAWS[kind]
    sizes = {"train": distribution.train, "evaluate": distribution.evaluate}
    return [p for p in results if p.experiment.inputs.model_copy(update=sizes) == distribution]


def _advantage(results: Results, kind: str) -> dict[str, np.ndarray]:
    """log2 of the evaluation loss of agnostic over that of another kind of data, for few samples."""
    return {
        f"{plain.experiment.inputs.train} samples": np.log2(
            at_step(plain, "evaluate_loss") / at_step(aware, "evaluate_loss")
        )
        for plain, aware in zip(_of(results, "teacher-agnostic"), _of(results, kind), strict=True)
        if plain.experiment.inputs.train <= FEW
    }


both_fit = Claim(
    "training loss is low on both kinds of data",
    statistic="training loss at the end over the loss of the best constant on the evaluation points",
    expected="< 0.05",
    values=lambda results: {
        f"{kind}, {p.experiment.inputs.train} samples": at_step(p, "train_loss") / at_step(p, "label_power")
        for kind in LAWS
        if kind != JUDGED_ON_AWARE  # the same students as teacher-aware ones, judged on other points
        for p in _of(results, kind)
    },
    reason="a twentieth of the loss of the best constant is read as low",
    possible=(0.0, np.inf),
    place="Fig. 9",
)

aware_generalises = Claim(
    "with few samples (at most 3,000) teacher-aware data gives a substantially lower loss on Gaussian points",
    statistic="log2 of the evaluation loss with agnostic data over that with aware data, seed by seed",
    expected="> 1",
    values=lambda results: _advantage(results, "teacher-aware"),
    reason="'substantially' is read as half the loss",
    place="Fig. 9",
)

aware_generalises_to_its_own = Claim(
    "the same, with each student judged on fresh points of the kind it learnt from",
    statistic="log2 of the evaluation loss with agnostic data over that with aware data, seed by seed",
    expected="> 1",
    values=lambda results: _advantage(results, JUDGED_ON_AWARE),
    reason="'substantially' is read as half the loss",
)

augmented_generalises = Claim(
    "the same for a Gaussian set united with its teacher-aware augmentation (Def. 7), on Gaussian points and at equal "
    "numbers of labels",
    statistic="log2 of the evaluation loss with agnostic data over that with the augmented set, seed by seed",
    expected="> 1",
    values=lambda results: _advantage(results, "agnostic set with its aware augmentation"),
    reason="'substantially' is read as half the loss",
)
