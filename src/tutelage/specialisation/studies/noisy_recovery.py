"""How near a student comes at a given size of its gradient (Tian 2019, Theorem 5)."""

from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from tutelage.lab import Record, Results, TeacherStudent, TrainedStudents
from tutelage.specialisation.studies._nearness import BoundaryDistances, Nearness, nearness_course, spread
from tutelage.studies.claims import MODERATE, SIGNED, Claim
from tutelage.studies.figures import panel_grid
from tutelage.studies.figures.panels import strength_bar, strength_colours
from tutelage.studies.intervals import rank_correlations
from tutelage.studies.study import Plan, Scale, study
from tutelage.training import Training
from tutelage.training.inputs import Gaussian
from tutelage.training.students import SmallNormal
from tutelage.training.teachers import Levels

STEPS: dict[Scale, int] = {"smoke": 2_000, "quick": 100_000, "paper": 1_000_000}
SEEDS: dict[Scale, int] = {"smoke": 3, "quick": 16, "paper": 32}
POLARITIES = (0.5, 1.0)
FRAMES = 13
GRADIENTS = (0.3, 0.1, 0.03, 0.01)
"""Sizes of the gradient at which units of different strength are compared."""
FAR = 0.5
"""The theorem speaks of small angles: distances above this are left out of the fit."""


@study(
    "noisy-recovery",
    paper="tian2019",
    figure="Thm 5",
    shows="No figure: with a gradient of at most eps, a student's angle from its teacher is of order eps^(1 - delta) "
    "over the coefficient alpha, which grows with the teacher's strength.",
)
def noisy_recovery(scale: Scale) -> Plan:
    """Angle from the teacher against the size of the gradient."""
    steps = STEPS[scale]
    trained = [
        TeacherStudent(
            teacher=Levels(inputs=10, hidden=5, outputs=5, polarity=polarity, levels=(-1.0, -0.5, 0.0, 0.5, 1.0)),
            student=SmallNormal(width_factor=3, scale=0.1),
            inputs=Gaussian(std=1.5, train=5_000, evaluate=1_000),
            training=Training(steps=steps, learning_rate=0.02),
            record=Record(at=spread(steps, FRAMES, first=100), weights="all", measures=("evaluate_loss", "strength")),
            precision="float64",
            seeds=SEEDS[scale],
        )
        for polarity in POLARITIES
    ]
    experiments = [*trained, *(BoundaryDistances(students=students) for students in trained)]
    return Plan(experiments, draw, [nearly_linear, stronger_is_nearer], view=recovery_courses)


@dataclass(frozen=True)
class AngleCourse:
    """Trained students of one polarity: distances and gradients at the recorded steps."""

    trained: TrainedStudents
    course: list[Nearness]

    @property
    def polarity(self) -> float:
        return self.trained.setting("polarity")

    @property
    def label(self) -> str:
        return f"p = {self.polarity:g}"

    @property
    def distance(self) -> np.ndarray:
        """[T, S, m]"""
        return np.stack([at.distance for at in self.course])

    @property
    def gradient(self) -> np.ndarray:
        """[T, S]"""
        return np.stack([at.gradient for at in self.course])


def recovery_courses(results: Results) -> list[AngleCourse]:
    """The course of every polarity."""
    pairs = zip(results.of(TeacherStudent), results.of(BoundaryDistances), strict=True)
    return [AngleCourse(trained, nearness_course(distances)) for trained, distances in pairs]


def exponents(distance: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """Slope of log distance against log gradient of every unit over time: [T, S, m], [T, S] -> [S, m].

    Only distances below ``FAR`` count; NaN where fewer than three are left, or the gradient hardly changes.
    """
    x = np.broadcast_to(np.log(gradient)[..., None], distance.shape)
    y, used = np.log(distance), distance < FAR
    count = used.sum(0)
    safe = np.maximum(count, 1)
    mean_x, mean_y = (np.where(used, v, 0).sum(0) / safe for v in (x, y))
    dx, dy = np.where(used, x - mean_x, 0), np.where(used, y - mean_y, 0)
    wide = (dx**2).sum(0)
    return np.where((count >= 3) & (wide > 1e-3), (dx * dy).sum(0) / np.where(wide > 0, wide, 1), np.nan)


def at_gradient(distance: np.ndarray, gradient: np.ndarray, size: float) -> np.ndarray:
    """Distance of every unit where the gradient has first come down to a size: [T, S, m], [T, S] -> [S, m].

    Between two recorded steps it is interpolated by logarithms; NaN where the gradient stays larger, or is smaller
    from the first recorded step on.
    """
    members, below = np.arange(gradient.shape[1]), gradient <= size
    after = below.argmax(0)
    before = np.maximum(after - 1, 0)
    high, low = (np.log(gradient[at, members]) for at in (before, after))
    share = np.clip((high - np.log(size)) / np.where(high > low, high - low, 1.0), 0.0, 1.0)[:, None]
    logs = (1 - share) * np.log(distance[before, members]) + share * np.log(distance[after, members])
    return np.where((below.any(0) & (after > 0))[:, None], np.exp(logs), np.nan)


def draw(courses: list[AngleCourse]) -> Figure:
    """Median over seeds of every unit's distance against the median gradient, over training; dashed: slope one."""
    figure, axes = panel_grid(
        [""], [course.label for course in courses], "largest gradient on the samples", "distance to nearest student",
        size=(3.2, 3.0),
    )  # fmt: skip
    for course, panel in zip(courses, axes[0], strict=True):
        gradient = np.median(course.gradient, axis=1)
        distance = np.median(course.distance, axis=1)
        for j, colour in enumerate(strength_colours(distance.shape[1])):
            panel.plot(gradient, distance[:, j], ".-", color=colour)
        ends = np.array([gradient.min(), gradient.max()])
        panel.plot(ends, 0.3 * ends / ends[1], "--", color="#999999", linewidth=0.8)
        panel.set(xscale="log", yscale="log")
    strength_bar(figure, axes, courses[0].distance.shape[2])
    return figure


nearly_linear = Claim(
    "the angle shrinks nearly in proportion to the gradient, sin theta = O(eps^(1 - delta))",
    statistic="slope of log distance against log largest gradient over training, median over teacher units",
    expected="> 0.8",
    values=lambda courses: {
        course.label: np.nanmedian(exponents(course.distance, course.gradient), axis=1) for course in courses
    },
    reason="the theorem's exponent is 1 - delta for any small delta, which is read as 0.8",
    place="Thm 5",
)

stronger_is_nearer = Claim(
    "at one size of the gradient, strong teacher units are recovered better than weak ones (the factor 1/|alpha|)",
    statistic="rank correlation, over a member's teacher units, of strength and distance where the largest gradient "
    "has first come down to this size (between two recorded steps by logarithms); "
    "members whose gradient stays larger do not count",
    expected="< -0.3",
    values=lambda courses: {
        f"{course.label}, gradient {size:g}": rank_correlations(
            course.trained.report["strength"][-1], at_gradient(course.distance, course.gradient, size)
        )
        for course in courses
        for size in GRADIENTS
    },
    reason=MODERATE,
    possible=SIGNED,
    place="Thm 5",
)
