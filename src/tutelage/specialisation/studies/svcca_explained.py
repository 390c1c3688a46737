"""Why SVCCA finds trained networks alike: what its two steps do to specialised and idle students (Tian 2019, section
5.1).
"""

from dataclasses import dataclass

import numpy as np
import torch
from matplotlib.figure import Figure

from tutelage.lab import Context, Experiment, Results, TeacherStudent, TrainedStudents, build
from tutelage.lab.experiment import Arrays
from tutelage.measures import RECOVERED, correlations, second_moments, similarity
from tutelage.measures.similarity import kept_directions
from tutelage.networks import Network, forward
from tutelage.specialisation.studies._two_layer import MEASURES, sweep
from tutelage.studies.claims import DIRECTION, SHARE, SIGNED, Claim, Measured
from tutelage.studies.figures import PALETTE, band, panel_grid
from tutelage.studies.study import Plan, Scale, study

INDICES = ("svcca", "cca", "pwcca", "cka")
WIDTH_FACTORS = (2, 5, 10)
POLARITIES = (0.0, 1.0)


@study(
    "svcca-explained",
    paper="tian2019",
    figure="sec. 5.1",
    shows="No figure: the paper argues that SVCCA works because its SVD step removes the small activations of "
    "unaligned students, and its CCA step merges co-linear students and removes the order of the units.",
)
def svcca_explained(scale: Scale) -> Plan:
    """What SVCCA sees of an over-realised student."""
    record = {"measures": (*MEASURES, *INDICES)}
    trained = [
        s.model_copy(update={"record": s.record.model_copy(update=record)})
        for s in sweep(scale, hidden=10, width_factors=WIDTH_FACTORS, polarities=POLARITIES)
    ]
    experiments = [*trained, *(LayerLikeness(students=students) for students in trained)]
    claims = [svd_drops_the_unaligned, few_directions, cca_merges, more_than_unit_by_unit]
    return Plan(experiments, draw, claims, view=likeness_by_setting)


class LayerLikeness(Experiment, kind="layer-likeness", numerics=1):
    """SVCCA of hidden layers of teachers and trained students, whole and with the best unit per teacher unit alone."""

    students: TeacherStudent

    @property
    def members(self) -> int:
        return self.students.members

    def run(self, context: Context) -> Arrays:
        trained: TrainedStudents = context.result(self.students)
        teacher, students, points = trained.teacher(), trained.weights(), build(self.students)[2].evaluate
        rows = []
        for s in range(self.members):
            rows.append(_one(teacher[s], students[s], points[s : s + 1]))
            context.progress(len(rows) / self.members)
        return {name: np.array([values[name] for values in rows]) for name in rows[0]}


@dataclass(frozen=True)
class LikenessOfStudents:
    """Trained students of one setting, and one number per member under each name, [S], at the end of training."""

    trained: TrainedStudents
    values: dict[str, np.ndarray]

    @property
    def polarity(self) -> float:
        return self.trained.setting("polarity")

    @property
    def width_factor(self) -> float:
        return self.trained.setting("width_factor")

    @property
    def label(self) -> str:
        return f"p = {self.polarity:g}, {self.width_factor:g}x"


VALUES = (
    "svcca", "svcca_of_the_best_alone", "unit_by_unit", "unaligned_units", "unaligned_variance", "teacher_directions",
    "student_directions",
)  # fmt: skip


def likeness_by_setting(results: Results) -> list[LikenessOfStudents]:
    """Trained students with their likeness to the teachers."""
    pairs = zip(results.of(TeacherStudent), results.of(LayerLikeness), strict=True)
    return [LikenessOfStudents(trained, {name: likeness[name] for name in VALUES}) for trained, likeness in pairs]


def _one(teacher: Network, student: Network, points: torch.Tensor) -> dict[str, float]:
    """The numbers of one member."""
    f, g = (forward(network, points).features[1].double() for network in (teacher, student))
    rho = correlations(f, g)[0]
    best = rho.amax(0)
    variance = g.var(1, correction=0)[0]
    left_over = best <= RECOVERED
    moments = second_moments([(f, g)])
    chosen = rho.argmax(1).unique()
    kept = [int(count) for count in kept_directions(moments)]
    return {
        "svcca": similarity(moments, by="svcca").item(),
        "svcca_of_the_best_alone": similarity(f, g[..., chosen], by="svcca").item(),
        "unit_by_unit": best.mean().item(),
        "unaligned_units": float(left_over.sum()),
        "unaligned_variance": (variance[left_over].sum() / variance.sum()).item() if left_over.any() else np.nan,
        "teacher_directions": float(kept[0]),
        "student_directions": float(kept[1]),
    }


def draw(likenesses: list[LikenessOfStudents]) -> Figure:
    """Likeness of teacher's and students' hidden layers over training, index by index."""
    settings = sorted({likeness.polarity for likeness in likenesses})
    width_factors = sorted({likeness.width_factor for likeness in likenesses})
    figure, axes = panel_grid(
        [f"p = {p:g}" for p in settings], [f"{k:g}x" for k in width_factors], "step", "likeness to the teacher"
    )
    for likeness in likenesses:
        report = likeness.trained.report
        place = settings.index(likeness.polarity), width_factors.index(likeness.width_factor)
        for name, colour, style in zip(INDICES, PALETTE, ("-", "--", ":", "-"), strict=False):
            band(axes[place], np.array(report.steps), report[name][:, :, 0], colour, name.upper(), style, spread=False)
        unit_by_unit = report["specialisation"].mean(2)
        band(axes[place], np.array(report.steps), unit_by_unit, "#777777", "unit by unit", "-.", spread=False)
    axes[0, 0].set_xscale("symlog", linthresh=100)
    axes[0, 0].set_ylim(0, 1.03)
    axes[0, 0].legend(loc="lower right")
    return figure


svd_drops_the_unaligned = Claim(
    "the SVD step removes unaligned students, since their activations are small",
    statistic="share of the layer's variance in units with best correlation at most 0.95, at the end (SVCCA drops 1 %)"
    "; members without such units do not count",
    expected="< 0.01",
    values=lambda likenesses: {likeness.label: likeness.values["unaligned_variance"] for likeness in likenesses},
    reason="SVCCA drops the directions of the last hundredth of the variance",
    possible=SHARE,
)

few_directions = Claim(
    "so that SVCCA keeps about as many directions of a student as of its teacher, however many units it has",
    statistic="directions SVCCA keeps of the student's layer over those of the teacher's",
    expected="< 1.5",
    values=lambda likenesses: {
        likeness.label: likeness.values["student_directions"] / likeness.values["teacher_directions"]
        for likeness in likenesses
    },
    reason="half as many again is read as more",
    about="every",
    possible=(0.0, np.inf),
)

cca_merges = Claim(
    "the CCA step merges co-linear students",
    statistic="SVCCA of teacher and student minus SVCCA of the teacher and the best student unit of each teacher unit "
    "alone, in absolute value",
    expected="< 0.05",
    values=lambda likenesses: {
        likeness.label: np.abs(likeness.values["svcca"] - likeness.values["svcca_of_the_best_alone"])
        for likeness in likenesses
    },
    reason="a twentieth of the range of the index",
    possible=(0.0, np.inf),
)


def _untrained(likeness: LikenessOfStudents) -> np.ndarray:
    """The same difference before training: [S]."""
    report = likeness.trained.report
    return report["svcca"][0, :, 0] - report["specialisation"][0].mean(1)


more_than_unit_by_unit = Claim(
    "SVCCA finds networks alike that differ unit by unit",
    statistic="SVCCA minus the mean best correlation of the student's units",
    expected="> 0",
    values=lambda likenesses: {
        likeness.label: Measured(
            likeness.values["svcca"] - likeness.values["unit_by_unit"], baseline=_untrained(likeness)
        )
        for likeness in likenesses
    },
    reason=DIRECTION,
    possible=SIGNED,
    standing="own",
)
