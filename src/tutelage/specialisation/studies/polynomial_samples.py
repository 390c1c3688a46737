"""How near students come with how many samples, and where the theorems' bounds sit (Tian 2020, Theorems 3 and 4)."""

import math
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from tutelage.lab import Record, Results, TeacherStudent
from tutelage.specialisation.studies._nearness import BoundaryDistances, nearness_course
from tutelage.studies.claims import DIRECTION, Claim, Measured
from tutelage.studies.figures import PALETTE, panel_grid
from tutelage.studies.study import Plan, Scale, study
from tutelage.training import Training
from tutelage.training.inputs import Distribution, Gaussian, TeacherAware
from tutelage.training.students import SmallNormal
from tutelage.training.teachers import Levels

STEPS: dict[Scale, int] = {"smoke": 1_000, "quick": 50_000, "paper": 300_000}
SEEDS: dict[Scale, int] = {"smoke": 3, "quick": 12, "paper": 32}
SAMPLES = (50, 200, 1_000, 5_000)
SHAPES = ((5, 2), (5, 5), (20, 2), (20, 5))
"""Inputs d and width_factor; the teacher has five units, so K = 5 (1 + width_factor)."""
TEACHER = 5
STD = 1.5
ETA = 2 / (STD * math.sqrt(2 * math.pi))
"""Twice the largest density of a Gaussian: how fast the share of samples in a band grows with its half-width."""
OFFSET = Levels.model_fields["bias"].default
"""Bias of every teacher unit, whose normal has length 1."""


@study(
    "polynomial-samples",
    paper="tian2020",
    figure="Thms 3, 4",
    shows="No figure: with N samples students align within eps, N of order K^(5/2) d^2 / eps for data that know "
    "nothing of the teacher and K^(5/2) d / eps for data placed around its boundaries.",
)
def polynomial_samples(scale: Scale) -> Plan:
    """Alignment against samples, dimension and width, with the theorem's bound."""
    distributions = (Gaussian, TeacherAware)
    experiments = [
        BoundaryDistances(students=_experiment(scale, d, k, distribution(train=n, evaluate=500, std=STD)))
        for distribution in distributions
        for d, k in SHAPES
        for n in SAMPLES
    ]
    claims = [nearer_with_samples, dimension_is_harder, below_the_bound, aware_is_nearer]
    return Plan(experiments, draw, claims, view=curves_by_samples)


def _experiment(scale: Scale, dimension: int, width_factor: int, distribution: Distribution) -> TeacherStudent:
    return TeacherStudent(
        teacher=Levels(inputs=dimension, hidden=TEACHER, outputs=TEACHER, levels=(-1.0, -0.5, 0.0, 0.5, 1.0)),
        student=SmallNormal(width_factor=width_factor, scale=0.1),
        inputs=distribution,
        training=Training(steps=STEPS[scale], learning_rate=0.02),
        record=Record(every=STEPS[scale], measures=("evaluate_loss",)),
        precision="float64",
        seeds=SEEDS[scale],
    )


@dataclass(frozen=True)
class SampleCurve:
    """One distribution, dimension and width_factor: mean distance of a member's teacher units per number of samples."""

    distribution: str
    dimension: int
    width_factor: float
    samples: tuple[int, ...]
    distance: np.ndarray  # [len(samples), S]
    bound: np.ndarray  # [len(samples)], the eps that Theorem 3 or 4 would give

    @property
    def label(self) -> str:
        return f"d = {self.dimension}, {self.width_factor:g}x"

    @property
    def slopes(self) -> np.ndarray:
        """Slope of log distance against log samples, seed by seed: [S]."""
        return np.polyfit(np.log(self.samples), np.log(self.distance), 1)[0]


def band(samples: int, dimension: int, units: int, aware: bool) -> float:
    r"""Half-width eps' of the band around a teacher boundary that holds as many samples as Lemma 6 asks for."""
    gamma = _gamma(dimension, aware)
    return (gamma + 3) * units * (dimension + 1) / (ETA * samples / 2)


def _gamma(dimension: int, aware: bool) -> float:
    return 2.0 if aware else 2 * math.sqrt(dimension)


def promised(samples: int, dimension: int, units: int, aware: bool) -> float:
    r"""The distance, of sine and offset, that the proof of Theorem 3 (4, if aware) reaches with N Gaussian samples.

    The band of half-width eps' around a teacher boundary must hold :math:`(\gamma + 3) K (d + 1)` samples where an
    observer is active, about half of :math:`\eta \varepsilon' N` with :math:`\eta = 2 / (\sigma \sqrt{2\pi})`, the
    largest density of a Gaussian twice. Lemma 6 then promises a sine of at most :math:`M_1 \varepsilon'` and offsets
    that differ by at most :math:`M_2 \varepsilon'`; a distance is the larger of the two, and so is what is promised.

    .. math:: M_1 = (\gamma+3)\eta K, \qquad
        M_2 = 1 + \gamma + (\gamma+3)\eta K\Bigl(|b_j| + \sqrt{\tfrac{(3+\gamma)\mu K}{1+\gamma}}\Bigr)

    with :math:`\gamma = 2 \sqrt d`, or 2 for teacher-aware data, and :math:`\mu = \sigma^2` by Chebyshev's inequality.
    """
    gamma = _gamma(dimension, aware)
    first = (gamma + 3) * ETA * units
    second = 1 + gamma + first * (abs(OFFSET) + math.sqrt((3 + gamma) * STD**2 * units / (1 + gamma)))
    return max(first, second) * band(samples, dimension, units, aware)


def curves_by_samples(results: Results) -> list[SampleCurve]:
    """One curve per distribution, dimension and width_factor."""
    distances = {}
    for result in results:
        students = result.experiment.students
        shape = students.inputs.kind, students.teacher.inputs, students.student.width_factor
        distances[(*shape, students.inputs.train)] = nearness_course(result)[-1].distance.mean(1)
    out = []
    for distribution, dimension, width_factor in dict.fromkeys(key[:3] for key in distances):
        samples = tuple(n for *shape, n in distances if tuple(shape) == (distribution, dimension, width_factor))
        units = round(TEACHER * (1 + width_factor))
        bound = np.array([promised(n, dimension, units, distribution != "gaussian") for n in samples])
        distance = np.stack([distances[distribution, dimension, width_factor, n] for n in samples])
        out.append(SampleCurve(distribution, dimension, width_factor, samples, distance, bound))
    return out


def draw(curves: list[SampleCurve]) -> Figure:
    """Geometric mean of the distance over seeds, by one deviation, and what the theorems promise; above 1, nothing."""
    shapes = list(dict.fromkeys((c.dimension, c.width_factor) for c in curves))
    figure, axes = panel_grid([""], [f"d = {d}, {k:g}x" for d, k in shapes], "samples", "distance to nearest student")
    for c in curves:
        panel = axes[0, shapes.index((c.dimension, c.width_factor))]
        colour = PALETTE[0] if c.distribution == "gaussian" else PALETTE[1]
        name = "Gaussian" if c.distribution == "gaussian" else "teacher-aware"
        log = np.log(c.distance)
        middle, factor = np.exp(log.mean(1)), np.exp(log.std(1))
        reach = np.stack([middle - middle / factor, middle * factor - middle])
        panel.errorbar(c.samples, middle, reach, color=colour, marker="o", markersize=3, label=name)
        panel.plot(c.samples, c.bound, ":", color=colour, label=f"promised, {name}")
        panel.set(xscale="log", yscale="log")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def _gaussian(curves: list[SampleCurve]) -> list[SampleCurve]:
    return [c for c in curves if c.distribution == "gaussian"]


def _harder(curves: list[SampleCurve]) -> dict[str, np.ndarray]:
    by = {(c.dimension, c.width_factor): c for c in _gaussian(curves)}
    low, high = min(d for d, _ in by), max(d for d, _ in by)
    return {
        f"{k:g}x, {n} samples": np.log10(by[high, k].distance[i] / by[low, k].distance[i])
        for k in dict.fromkeys(k for _, k in by)
        for i, n in enumerate(by[low, k].samples)
    }


def _nearer(curves: list[SampleCurve]) -> dict[str, np.ndarray]:
    by = {(c.distribution, c.label): c for c in curves}
    other = next(c.distribution for c in curves if c.distribution != "gaussian")
    return {
        f"{c.label}, {n} samples": np.log10(by[other, c.label].distance[i] / c.distance[i])
        for c in _gaussian(curves)
        for i, n in enumerate(c.samples)
    }


nearer_with_samples = Claim(
    "more samples bring students nearer to the teacher's boundaries",
    statistic="slope of log mean distance against log samples, seed by seed (the theorems promise -1)",
    expected="< -0.3",
    values=lambda curves: {f"{c.distribution}, {c.label}": c.slopes for c in curves},
    reason="a third of the exponent -1 of the theorems tells it from no dependence",
    place="Thm 3",
)

dimension_is_harder = Claim(
    "more dimensions need more samples",
    statistic="log10 of the mean distance at d = 20 over that at d = 5, Gaussian data, seed by seed",
    expected="> 0",
    values=_harder,
    reason=DIRECTION,
    place="Thm 3",
)

below_the_bound = Claim(
    "the distance is below what Theorem 3 promises (a distance above one promises nothing)",
    statistic="log10 of the mean distance over the promised one, both of sine and offset, Gaussian data",
    expected="< 0",
    values=lambda curves: {
        f"{c.label}, {n} samples": Measured(np.log10(c.distance[i] / c.bound[i]), baseline=-np.log10(c.bound[i]))
        for c in _gaussian(curves)
        for i, n in enumerate(c.samples)
    },
    reason="the bound of the theorem itself; where it is above 1, the largest sine there is, it promises nothing",
)

aware_is_nearer = Claim(
    "samples around the teacher's boundaries bring students nearer than as many others (Theorem 4)",
    statistic="log10 of the mean distance with teacher-aware samples over that with Gaussian ones, seed by seed",
    expected="< 0",
    values=_nearer,
    reason=DIRECTION,
)
