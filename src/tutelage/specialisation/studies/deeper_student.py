"""A student deeper than its teacher still matches the teacher's lowest layer (Tian 2019, section 4.4)."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from matplotlib.figure import Figure

from tutelage.lab import Context, Experiment, Results
from tutelage.lab.experiment import Arrays
from tutelage.measures import correlations
from tutelage.networks import Network, forward
from tutelage.settings import Seeds
from tutelage.studies.claims import SIGNED, Claim, Measured
from tutelage.studies.figures import PALETTE, panel_grid
from tutelage.studies.study import Plan, Scale, study
from tutelage.studies.training import train_in
from tutelage.training import Drops, Training
from tutelage.training.inputs import Gaussian, Inputs
from tutelage.training.students import UniformFanIn
from tutelage.training.teachers import Levels

HIDDEN, WIDTH_FACTOR, OUTPUTS = 10, 4, 20
EXTRA = (0, 1, 2)
"""Hidden layers the student has and the teacher lacks."""
SEEDS: dict[Scale, int] = {"smoke": 2, "quick": 6, "paper": 16}
STEPS: dict[Scale, int] = {"smoke": 200, "quick": 20_000, "paper": 100_000}
INPUTS: dict[Scale, int] = {"smoke": 8, "quick": 30, "paper": 100}
SAMPLES: dict[Scale, int] = {"smoke": 500, "quick": 10_000, "paper": 50_000}


@study(
    "deeper-student",
    paper="tian2019",
    figure="sec. 4.4",
    shows="No figure: the lowest layer of a student would match the teacher's even if the student has more layers.",
)
def deeper_student(scale: Scale) -> Plan:
    """A student deeper than its teacher still matches the teacher's lowest layer."""
    steps = STEPS[scale]
    common = {
        "teacher": Levels(inputs=INPUTS[scale], hidden=HIDDEN, outputs=OUTPUTS, standardised=True),
        "inputs": Gaussian(std=1.5, train=SAMPLES[scale], evaluate=2_000),
        "training": Training(steps=steps, batch=32, learning_rate=0.02, schedule=Drops(at=(steps // 2,), factor=0.5)),
        "seeds": SEEDS[scale],
    }
    experiments = [DeeperStudents(extra_layers=extra, **common) for extra in EXTRA]
    return Plan(experiments, draw, [still_matched, lowest_alone], view=matches_by_depth)


class DeeperStudents(Experiment, kind="deeper-students", numerics=1):
    """Students with more hidden layers than their two-layer teachers: how well each layer matches the teacher's one."""

    extra_layers: int
    teacher: Levels
    inputs: Gaussian
    training: Training
    seeds: Seeds
    width_factor: float = WIDTH_FACTOR
    """Width of every hidden layer of the student over that of the teacher."""

    @property
    def cost(self) -> float:
        return 0.002 * self.training.length(self.inputs.train) * (1 + self.extra_layers)

    def run(self, context: Context) -> Arrays:
        teacher = self.teacher.make(self.seeds, self.inputs)
        inputs = self.inputs.draw(teacher, self.seeds)
        widths = (teacher.inputs, *self.teacher.hidden * (1 + self.extra_layers), teacher.outputs)
        shape = Network(tuple(torch.zeros(self.members, a, b) for a, b in pairwise(widths)))
        before = UniformFanIn(width_factor=self.width_factor).build(shape, self.seeds)
        after = train_in(context, teacher, before, inputs, self.training)
        return compared(teacher, before, after, inputs)


@dataclass(frozen=True)
class DepthMatch:
    """Students with so many extra layers: how well each of their hidden layers matches the teacher's one.

    rho [S, hidden layers]: mean over teacher units of the best correlation with a student unit of that layer; at the
    end, and ``before`` training; loss [S]: at the end, relative to the loss of the best constant.
    """

    extra: int
    rho: np.ndarray
    before: np.ndarray
    loss: np.ndarray


def matches_by_depth(results: Results) -> list[DepthMatch]:
    """The match of every layer, for every depth."""
    return [DepthMatch(r.setting("extra_layers"), r["rho"], r["rho_before"], r["relative_loss"]) for r in results]


def compared(teacher: Network, before: Network, after: Network, inputs: Inputs) -> dict[str, np.ndarray]:
    """Correlations of every hidden layer with the teacher's, after and before training, and the relative loss."""
    taught, labels = forward(teacher, inputs.evaluate).features[1:]
    rho = []
    for students in (after, before):
        activity = forward(students, inputs.evaluate)
        layers = [correlations(taught, f).amax(2).mean(1) for f in activity.features[1:-1]]
        rho.append(torch.stack(layers, dim=1).double().numpy())
    power = (labels - labels.mean(1, keepdim=True)).square().sum((1, 2))
    error = (labels - forward(after, inputs.evaluate).outputs).square().sum((1, 2))
    return {"rho": rho[0], "rho_before": rho[1], "relative_loss": (error / power).double().numpy()}


def draw(matches: list[DepthMatch]) -> Figure:
    """Correlation of each student layer with the teacher's hidden layer; a point per seed, dashes before training."""
    titles = [f"{d.extra + 1} hidden layer{'s' if d.extra else ''}" for d in matches]
    figure, axes = panel_grid([""], titles, "student layer", r"$\rho_{mean}$ with the teacher's layer", size=(2.0, 2.4))
    for panel, depth in zip(axes[0], matches, strict=True):
        layers = np.arange(1, depth.rho.shape[1] + 1)
        for row in depth.rho:
            panel.plot(layers, row, "o-", color=PALETTE[0], alpha=0.5, markersize=3, linewidth=0.8)
        panel.plot(layers, depth.before.mean(0), "--", color="#888888", linewidth=1)
        panel.set(xticks=layers, ylim=(0, 1.03))
    axes[0, 0].set_xlim(0.5, max(EXTRA) + 1.5)
    return figure


still_matched = Claim(
    "the lowest layer of the student matches the teacher's, also where the student is deeper",
    statistic="mean over teacher units of the best correlation with a unit of the student's lowest layer, at the end",
    expected="> 0.9",
    values=lambda matches: {f"{d.extra} extra layers": Measured(d.rho[:, 0], baseline=d.before[:, 0]) for d in matches},
    reason="nine tenths of a full match",
    possible=SIGNED,
)

lowest_alone = Claim(
    "the lowest layer matches better than those above it, which may match too",
    statistic="that mean for the lowest layer minus the largest among the layers above it, seed by seed",
    expected="> 0.05",
    values=lambda matches: {
        f"{d.extra} extra layers": Measured(
            d.rho[:, 0] - d.rho[:, 1:].max(1), baseline=d.before[:, 0] - d.before[:, 1:].max(1)
        )
        for d in matches
        if d.extra
    },
    reason="a twentieth of a full match",
)
