"""The lowest layer of trained deep students, and the boundaries that the theorems count (Tian 2020, Theorem 5)."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from matplotlib.figure import Figure
from pydantic import PositiveInt

from tutelage.certificates.records import Certificate
from tutelage.certificates.registry import certify
from tutelage.lab import Context, Experiment, Results
from tutelage.lab.experiment import Arrays
from tutelage.measures import correlations
from tutelage.networks import Network, forward, outputs
from tutelage.settings import Seeds
from tutelage.studies.claims import DIRECTION, MOST, SHARE, Claim, Measured
from tutelage.studies.figures import PALETTE, panel_grid
from tutelage.studies.intervals import above_chance
from tutelage.studies.study import Plan, Scale, fresh_seeds, study
from tutelage.studies.training import train_in
from tutelage.training import Adam, Cosine, Training
from tutelage.training.inputs import Gaussian
from tutelage.training.students import UniformFanIn
from tutelage.training.teachers import Levels

LAYERS = (1, 2, 3, 4)
"""Hidden layers, of five teacher units each."""
HIDDEN, WIDTH_FACTOR, EPSILON = 5, 2, 0.1
SEEDS: dict[Scale, int] = {"smoke": 3, "quick": 8, "paper": 48}
STEPS: dict[Scale, int] = {"smoke": 300, "quick": 10_000, "paper": 100_000}


@study(
    "deep-lowest-layer",
    paper="tian2020",
    figure="Thm 5",
    shows="No figure: where the gradient is small enough on enough samples, each teacher unit of the lowest layer has "
    "a student unit; how many samples depends on the number Q of flat pieces of all boundaries, exponential in depth.",
)
def deep_lowest_layer(scale: Scale) -> Plan:
    """Theorem 5 on trained deep students of two inputs, where all boundaries can be listed."""
    experiments = [
        DeepBoundaries(
            teacher=Levels(
                inputs=2, hidden=(HIDDEN,) * layers, outputs=HIDDEN, levels=(-1.0, -0.5, 0.5, 1.0), bias="median",
                standardised=True,
            ),
            inputs=Gaussian(std=1.0, train=2_000, evaluate=1_000),
            training=Training(
                steps=STEPS[scale], batch=32, learning_rate=0.003, optimiser=Adam(), schedule=Cosine()
            ),
            seeds=fresh_seeds(scale, SEEDS[scale]),
        )
        for layers in LAYERS
    ]  # fmt: skip
    return Plan(experiments, draw, [exponential, aligned, applies, worse_above], view=by_depth)


class DeepBoundaries(Experiment, kind="deep-boundaries", numerics=2):
    """Trained students of deep teachers with two inputs: the flat pieces of all boundaries of both, the distance of
    every teacher unit of the lowest layer from its nearest student unit, and what the theorems say."""

    teacher: Levels
    inputs: Gaussian
    training: Training
    seeds: Seeds
    width_factor: PositiveInt = WIDTH_FACTOR

    @property
    def cost(self) -> float:
        return 1e-4 * self.training.length(self.inputs.train) * self.members * len(self.teacher.hidden)

    def run(self, context: Context) -> Arrays:
        teacher = self.teacher.make(self.seeds, self.inputs).to(dtype=torch.float64)
        inputs = self.inputs.draw(teacher, self.seeds)
        before = UniformFanIn(width_factor=self.width_factor).build(teacher, self.seeds).to(dtype=torch.float64)
        after = train_in(context, teacher, before, inputs, self.training)
        deep = len(self.teacher.hidden) > 1
        name = "deep-lowest-layer" if deep else "polynomial-samples"
        certificates = {
            when: certify(name, teacher, students, inputs, epsilon=EPSILON)
            for when, students in (("before", before), ("after", after))
        }
        zero = certify("deep-alignment" if deep else "alignment", teacher, after, inputs)
        wanted = outputs(teacher, inputs.train)
        error = (wanted - outputs(after, inputs.train)).square().sum((1, 2))
        power = (wanted - wanted.mean(1, keepdim=True)).square().sum((1, 2))
        return {
            "pieces": np.array(
                [certificate.settings["boundaries"] for certificate in certificates["after"]], dtype=np.int64
            ),
            "pieces_before": np.array(
                [certificate.settings["boundaries"] for certificate in certificates["before"]], dtype=np.int64
            ),
            "distance": distances(certificates["after"]),
            "distance_before": distances(certificates["before"]),
            "applies": np.array([_met(certificate) for certificate in certificates["after"]], dtype=np.float64),
            "applies_at_zero": np.array([_met(certificate) for certificate in zero], dtype=np.float64),
            "loss": (error / power).numpy(),
            "above": upper_matches(teacher, after, inputs.evaluate),
            "above_before": upper_matches(teacher, before, inputs.evaluate),
        }


def distances(certificates: list[Certificate]) -> np.ndarray:
    """Distance of every teacher unit of the lowest layer from the nearest student unit: [S, m]."""
    return np.array([[part.conclusion.value for part in certificate.parts] for certificate in certificates])


def _met(certificate: Certificate) -> bool:
    """Whether the theorem's conditions are met for at least one teacher unit."""
    return any(certificate.verdict_of(part) in ("holds", "fails") for part in certificate.parts)


def upper_matches(teacher: Network, students: Network, points: torch.Tensor) -> np.ndarray:
    """Mean over teacher units of the best correlation, layer by layer: [S, hidden layers]."""
    pairs = zip(forward(teacher, points).features[1:-1], forward(students, points).features[1:-1], strict=True)
    return torch.stack([correlations(a, b).amax(2).mean(1) for a, b in pairs], dim=1).double().numpy()


@dataclass(frozen=True, eq=False)
class DepthBoundaries:
    """One depth: pieces, before and after [S]; distances of teacher units, before and after [S, m]; whether Theorem 5
    and the theorem for zero gradients apply [S]; relative loss [S]; correlations by layer, after and before training
    [S, layers].
    """

    layers: int
    pieces: np.ndarray
    before: np.ndarray
    distance: np.ndarray
    distance_before: np.ndarray
    applies: np.ndarray
    applies_at_zero: np.ndarray
    loss: np.ndarray
    above: np.ndarray
    above_before: np.ndarray

    @property
    def name(self) -> str:
        return f"{self.layers} hidden layer{'s' if self.layers > 1 else ''}"


def by_depth(results: Results) -> list[DepthBoundaries]:
    names = (
        "pieces", "pieces_before", "distance", "distance_before", "applies", "applies_at_zero", "loss", "above",
        "above_before",
    )  # fmt: skip
    return [DepthBoundaries(len(r.experiment.teacher.hidden), *(r[name] for name in names)) for r in results]


def draw(depths: list[DepthBoundaries]) -> Figure:
    """Pieces against depth, with exponential growth through two and three layers; distances in the lowest layer."""
    figure, axes = panel_grid(
        [""], ["boundary pieces Q", "lowest layer", "correlation by layer"], "hidden layers", "",
        size=(2.5, 2.5), sharex=False, sharey=False,
    )  # fmt: skip
    layers = np.array([d.layers for d in depths])
    for d in depths:
        for values, colour, shift, when in (
            (d.before, "#888888", -0.1, "before"),
            (d.pieces, PALETTE[0], 0.1, "after"),
        ):
            label = f"{when} training" if d is depths[0] else "_"
            axes[0, 0].plot([d.layers + shift] * len(values), values, ".", color=colour, ms=3, alpha=0.5, label=label)
        each = np.sort(d.distance.ravel())
        axes[0, 1].plot(np.linspace(d.layers - 0.3, d.layers + 0.3, len(each)), each, ".", color=PALETTE[1], ms=2)
        (line,) = axes[0, 2].plot(np.arange(1, d.layers + 1), d.above.mean(0), "o-", ms=3, label=d.name)
        axes[0, 2].plot(np.arange(1, d.layers + 1), d.above_before.mean(0), "o:", ms=2, color=line.get_color())
    if len(depths) > 2:
        middle = [np.median(d.pieces) for d in depths]
        rate = middle[2] / middle[1]
        line = middle[1] * rate ** (layers[1:] - layers[1])
        axes[0, 0].plot(layers[1:], line, "--", color="#000000", lw=1, label="exponential")
    axes[0, 0].set(yscale="log", xticks=layers)
    axes[0, 1].axhline(EPSILON, color="#888888", ls="--", lw=0.8)
    axes[0, 1].set(ylabel="distance to the nearest student unit", xticks=layers)
    axes[0, 1].set_yscale("symlog", linthresh=1e-4)
    axes[0, 1].set_ylim(-2e-5, 2)
    axes[0, 0].legend(loc="lower right")
    axes[0, 2].set(xlabel="layer", ylim=(0, 1.03), xticks=layers)
    axes[0, 2].plot([], [], "o:", ms=2, color="#888888", label="before training")
    axes[0, 2].legend(loc="lower left")
    return figure


exponential = Claim(
    "the number of boundary pieces is exponential in the depth",
    statistic="ln of Q at 4 over Q at 3 hidden layers minus ln of Q at 3 over Q at 2, seed by seed",
    expected="> -0.1",
    values=lambda depths: {"trained": _curvature(depths, "pieces"), "before training": _curvature(depths, "before")},
    reason="0 for exponential growth; growth like the square of the depth gives -0.24, and -0.1 lies between the two",
)

aligned = Claim(
    "most teacher units of the lowest layer have a student unit after training",
    statistic="share of the teacher units of the lowest layer with a student unit within 0.1 (sine and bias)",
    expected="> 0.5",
    values=lambda depths: {
        d.name: Measured((d.distance < EPSILON).mean(1), baseline=(d.distance_before < EPSILON).mean(1)) for d in depths
    },
    reason=MOST,
    possible=SHARE,
    kind="share",
)

applies = Claim(
    "the theorems apply to such students",
    statistic="1 where the conditions of a theorem are met for some teacher unit of the member, else 0",
    expected="> 0.5",
    values=lambda depths: {
        f"{d.name}, {name}": values
        for d in depths
        for name, values in (("small gradient", d.applies), ("zero gradient", d.applies_at_zero))
    },
    reason=MOST,
    possible=SHARE,
    kind="outcome",
    standing="own",
    failure="premise not met",
)

worse_above = Claim(
    "the lowest layer converges better than the layers above it",
    statistic="mean best correlation, counted from that of untrained students, of the lowest layer minus that of the "
    "highest hidden layer, seed by seed",
    expected="> 0",
    values=lambda depths: {d.name: _ahead(d) for d in depths if d.layers > 1},
    reason=DIRECTION,
)


def _ahead(d: DepthBoundaries) -> np.ndarray:
    """How much further the lowest layer has come than the highest, on the way from chance to 1: [S]."""
    beyond = above_chance(d.above, d.above_before)
    return beyond[:, 0] - beyond[:, -1]


def _curvature(depths: list[DepthBoundaries], which: str) -> np.ndarray:
    """Second difference of ln Q over the last three depths: [S]."""
    logs = [np.log(getattr(d, which)) for d in depths[-3:]]
    first, second = (b - a for a, b in pairwise(logs))
    return second - first
