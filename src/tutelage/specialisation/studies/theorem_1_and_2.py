"""Theorems 1 and 2 of Tian 2020 held against trained students, unit by unit."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from tutelage.certificates import Certificate, certify
from tutelage.lab import Context, Experiment, Record, Results, TeacherStudent, TrainedStudents, build
from tutelage.lab.experiment import Arrays
from tutelage.specialisation.studies._nearness import BoundaryDistances, Nearness, nearness_course, spread
from tutelage.studies.claims import MOST, SHARE, SIGNED, STRONG, Claim
from tutelage.studies.figures import PALETTE, panel_grid
from tutelage.studies.intervals import rank_correlations
from tutelage.studies.study import Plan, Scale, study
from tutelage.training import Training
from tutelage.training.inputs import Gaussian
from tutelage.training.students import SmallNormal
from tutelage.training.teachers import Levels

STEPS: dict[Scale, int] = {"smoke": 2_000, "quick": 100_000, "paper": 1_000_000}
SEEDS: dict[Scale, int] = {"smoke": 3, "quick": 16, "paper": 32}
FRAMES = 9
ALIGNED = 0.05
"""Boundaries count as the same within this sine and offset (Tian 2020, Def. 3)."""


@study(
    "theorem-1-and-2",
    paper="tian2020",
    figure="Thms 1, 2",
    shows="No figure: where the gradient vanishes, every observed teacher unit has a student with the same boundary, "
    "and students that share no teacher's boundary and are observed by enough others have no net fan-out.",
)
def theorem_1_and_2(scale: Scale) -> Plan:
    """What Theorems 1 and 2 say of trained students."""
    steps = STEPS[scale]
    experiment = TeacherStudent(
        teacher=Levels(inputs=8, hidden=3, outputs=3, levels=(-1.0, -0.5, 0.0, 0.5, 1.0), bias=-0.3),
        student=SmallNormal(width_factor=4, scale=0.1),
        inputs=Gaussian(std=1.5, train=2_000, evaluate=1_000),
        training=Training(steps=steps, learning_rate=0.02),
        record=Record(at=spread(steps, FRAMES), weights="all", measures=("evaluate_loss",)),
        precision="float64",
        seeds=SEEDS[scale],
    )
    experiments = [BoundaryDistances(students=experiment), CertifiedShares(students=experiment)]
    claims = [aligned, spoken_of, no_net_fan_out, nearer_as_the_gradient_falls]
    return Plan(experiments, draw, claims, view=theorem_values)


class CertifiedShares(Experiment, kind="certified-shares", numerics=1):
    """Shares of trained students' units of which Theorems 1 and 2 speak at the end, and where Theorem 1 is right.

    Any gradient is accepted: each certificate checks by itself whether it is small enough for a conclusion.
    """

    students: TeacherStudent
    alignment: float = ALIGNED

    @property
    def members(self) -> int:
        return self.students.members

    def run(self, context: Context) -> Arrays:
        trained: TrainedStudents = context.result(self.students)
        teacher, students, points = trained.teacher(), trained.weights(), build(self.students)[2].train
        options = {"tolerance": float("inf"), "alignment": self.alignment}
        spoken, right = shares(certify("alignment", teacher, students, points, **options))
        context.progress(0.5)
        net = net_fan_outs(certify("pruning", teacher, students, points, **options))
        strongest = (students.weights[0].norm(dim=1) * students.weights[1].norm(dim=2)).amax(1).numpy()
        return {"spoken_of": spoken, "aligned": right, "net_fan_out": net, "largest_fan_out": strongest}


@dataclass(frozen=True)
class TheoremValues:
    """Distances of students over training, and what both theorems say of them at the end, [S] each.

    spoken_of: share of teacher units that meet all conditions of Theorem 1; aligned: of those the share where it is
    right; net_fan_out: the largest of which Theorem 2 speaks; largest_fan_out: |v_k| |w_k| of the strongest unit.
    """

    seeds: tuple[int, ...]
    course: list[Nearness]
    spoken_of: np.ndarray
    aligned: np.ndarray
    net_fan_out: np.ndarray
    largest_fan_out: np.ndarray


def theorem_values(results: Results) -> TheoremValues:
    """What figure, claims and table read."""
    (near,), (certified,) = results.of(BoundaryDistances), results.of(CertifiedShares)
    names = "spoken_of", "aligned", "net_fan_out", "largest_fan_out"
    return TheoremValues(near.setting("seeds"), nearness_course(near), *(certified[name] for name in names))


def shares(certificates: list[Certificate]) -> tuple[np.ndarray, np.ndarray]:
    """Share of a member's parts of which the theorem speaks, and of those the share where it is right: [S] each."""
    spoken, right = [], []
    for certificate in certificates:
        judged = [v for v in certificate.verdicts if v in ("holds", "fails")]
        spoken.append(len(judged) / len(certificate.verdicts))
        right.append(judged.count("holds") / len(judged) if judged else np.nan)
    return np.array(spoken), np.array(right)


def net_fan_outs(certificates: list[Certificate]) -> np.ndarray:
    """The largest net fan-out of which Theorem 2 speaks, NaN where it speaks of none: [S]."""
    out = []
    for c in certificates:
        values = [part.conclusion.value for part, v in zip(c.parts, c.verdicts, strict=True) if v in ("holds", "fails")]
        out.append(max((value for value in values if value is not None), default=np.nan))
    return np.array(out)


def draw(result: TheoremValues) -> Figure:
    """Distance of every teacher boundary from the nearest student's against the gradient, over training."""
    figure, axes = panel_grid(
        [""],
        ["Theorem 1: teacher units", "Theorem 2: unaligned students"],
        "",
        "",
        size=(3.4, 3.0),
        sharex=False,
        sharey=False,
    )
    left, right = axes[0]
    for at, shade in zip(result.course, np.linspace(0.15, 1, len(result.course)), strict=True):
        gradient = np.broadcast_to(at.gradient[:, None], at.distance.shape)
        left.scatter(gradient, at.distance, s=9, color=PALETTE[0], alpha=shade, linewidths=0)
    left.axhline(ALIGNED, color="#999999", linewidth=0.7, linestyle=":")
    left.set(xscale="log", yscale="log", xlabel="largest gradient on the samples", ylabel="distance to nearest student")
    net, largest = result.net_fan_out, result.largest_fan_out
    right.hist(np.log10(np.maximum(net / largest, 1e-18))[np.isfinite(net)], bins=15, color=PALETTE[3])
    right.axvline(np.log10(ALIGNED), color="#999999", linewidth=0.7, linestyle=":")
    right.set(xlabel="log10 of net fan-out over the largest", ylabel="students (seeds)")
    return figure


def _values(statistic: Callable[[TheoremValues], np.ndarray]) -> Callable[[TheoremValues], dict[str, np.ndarray]]:
    return lambda result: {"3 teachers, 12 students, end of training": statistic(result)}


aligned = Claim(
    "an observed teacher unit that the gradient cannot hide has a student with the same boundary (Theorem 1)",
    statistic="of the teacher units that meet all conditions, the share with a student within sine and offset 0.05",
    expected=">= 1",
    values=_values(lambda result: result.aligned),
    reason="the theorem allows no exception",
    about="every",
    possible=SHARE,
    place="Thm 1",
)

spoken_of = Claim(
    "training brings the gradient down far enough for the theorem to speak of most teacher units",
    statistic="share of teacher units that meet all conditions of Theorem 1",
    expected="> 0.5",
    values=_values(lambda result: result.spoken_of),
    reason=MOST,
    possible=SHARE,
    kind="share",
    standing="own",
    failure="premise not met",
)

no_net_fan_out = Claim(
    "unaligned students with enough independent observers have no net fan-out (Theorem 2)",
    statistic="largest net fan-out of such a group of students over the largest of any student unit; "
    "members without such groups do not count",
    expected="< 0.05",
    values=_values(lambda result: result.net_fan_out / result.largest_fan_out),
    reason="a twentieth of the largest fan-out is read as none; the theorem allows no exception",
    about="every",
    possible=(0.0, np.inf),
    failure="premise not met",
)

nearer_as_the_gradient_falls = Claim(
    "the smaller the gradient, the nearer the students",
    statistic="rank correlation, over recorded steps, of the largest gradient and the mean distance",
    expected="> 0.5",
    values=_values(
        lambda result: rank_correlations(
            np.stack([at.gradient for at in result.course], axis=1),
            np.stack([at.distance.mean(1) for at in result.course], axis=1),
        )
    ),
    reason=STRONG,
    possible=SIGNED,
    standing="own",
)
