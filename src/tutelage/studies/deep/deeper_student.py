"""A student deeper than its teacher still matches the teacher's lowest layer (seed 001, section 4.4)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
import pyarrow as pa
import torch
from matplotlib.figure import Figure

from tutelage.figures import PALETTE, panel_grid
from tutelage.inputs import Gaussian, Inputs
from tutelage.measures import correlations
from tutelage.networks import Network, UniformFanIn, forward
from tutelage.studies.claims import Claim
from tutelage.studies.packs import Packs
from tutelage.studies.study import Plan, Scale, study
from tutelage.teachers import Levels
from tutelage.training import Drops, Training, train

HIDDEN, MULTIPLE, OUTPUTS = 10, 4, 20
EXTRA = (0, 1, 2)
"""Hidden layers the student has and the teacher lacks."""
SEEDS: dict[Scale, int] = {"smoke": 2, "quick": 6, "paper": 16}
STEPS: dict[Scale, int] = {"smoke": 200, "quick": 20_000, "paper": 100_000}
INPUTS: dict[Scale, int] = {"smoke": 8, "quick": 30, "paper": 100}
SAMPLES: dict[Scale, int] = {"smoke": 500, "quick": 10_000, "paper": 50_000}


@study(
    "deeper-student",
    seed="001",
    figure="sec. 4.4",
    shows="No figure: the lowest layer of a student would match the teacher's even if the student has more layers.",
)
def deeper_student(scale: Scale) -> Plan:
    """A student deeper than its teacher still matches the teacher's lowest layer."""
    return Plan([], draw, [still_matched, lowest_alone], table, lambda packs, tell: look(packs, tell, scale))


@dataclass(frozen=True)
class Depth:
    """Students with so many extra layers: how well each of their hidden layers matches the teacher's one.

    rho [S, hidden layers]: mean over teacher units of the best correlation with a student unit of that layer; at the
    end, and ``before`` training; loss [S]: at the end, of the best constant's.
    """

    extra: int
    rho: np.ndarray
    before: np.ndarray
    loss: np.ndarray


def look(packs: Packs, progress: Callable[[float], None], scale: Scale) -> list[Depth]:
    """Two-layer teachers with ten units and standardised outputs, students four times as wide in every layer."""
    seeds, steps = range(SEEDS[scale]), STEPS[scale]
    law = Gaussian(std=1.5, train=SAMPLES[scale], evaluate=2_000)
    recipe = Levels(inputs=INPUTS[scale], hidden=HIDDEN, outputs=OUTPUTS, standardised=True)
    teacher = recipe.build(seeds, law)
    inputs = law.draw(teacher, seeds)
    settings = Training(steps=steps, batch=32, learning_rate=0.02, schedule=Drops(at=(steps // 2,), factor=0.5))
    recipes = {"teacher": recipe, "inputs": law, "training": settings}
    plain = {name: one.model_dump(mode="json") for name, one in recipes.items()}
    about = {"what": "deeper-student", "seeds": len(seeds), "multiple": MULTIPLE, **plain}
    found = []
    for done, extra in enumerate(EXTRA):
        share = (done / len(EXTRA), 1 / len(EXTRA) / steps)
        told = [0]

        def tell(more: int, told: list[int] = told, share: tuple[float, float] = share) -> None:
            told[0] += more
            progress(share[0] + told[0] * share[1])

        work = partial(_trained, extra, teacher, inputs, seeds, settings, tell)
        found.append(Depth(extra, **packs.kept.part(about | {"extra": extra}, work)))
        progress((done + 1) / len(EXTRA))
    return found


def _trained(
    extra: int, teacher: Network, inputs: Inputs, seeds: range, settings: Training, tell: Callable[[int], None]
) -> dict[str, np.ndarray]:
    widths = (teacher.inputs, *(HIDDEN,) * (1 + extra), OUTPUTS)
    shape = Network(tuple(torch.zeros(len(seeds), a, b) for a, b in pairwise(widths)))
    students = UniformFanIn(multiple=MULTIPLE).build(shape, seeds)
    after = train(teacher, students, inputs, settings, keep="last", on_progress=tell).students
    return _compared(teacher, students, after, inputs)


def _compared(teacher: Network, before: Network, after: Network, inputs: Inputs) -> dict[str, np.ndarray]:
    """rho, before and loss of a :class:`Depth`."""
    taught, labels = forward(teacher, inputs.evaluate).features[1:]
    rho = []
    for students in (after, before):
        activity = forward(students, inputs.evaluate)
        layers = [correlations(taught, f).amax(2).mean(1) for f in activity.features[1:-1]]
        rho.append(torch.stack(layers, dim=1).double().numpy())
    power = (labels - labels.mean(1, keepdim=True)).square().sum((1, 2))
    error = (labels - forward(after, inputs.evaluate).outputs).square().sum((1, 2))
    return {"rho": rho[0], "before": rho[1], "loss": (error / power).double().numpy()}


def table(found: list[Depth]) -> pa.Table:
    rows = [
        {"extra": d.extra, "member": s, "layer": layer + 1, "rho_mean": d.rho[s, layer], "loss": d.loss[s]}
        for d in found
        for s in range(len(d.rho))
        for layer in range(d.rho.shape[1])
    ]
    return pa.Table.from_pylist(rows)


def draw(found: list[Depth]) -> Figure:
    """Correlation of each student layer with the teacher's hidden layer; a point a seed, dashes before training."""
    titles = [f"{d.extra + 1} hidden layer{'s' if d.extra else ''}" for d in found]
    figure, axes = panel_grid([""], titles, "student layer", r"$\rho_{mean}$ with the teacher's layer", size=(2.0, 2.4))
    for panel, depth in zip(axes[0], found, strict=True):
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
    refuted_by="an interval over seeds below 0.9 for that depth",
    values=lambda found: {f"{d.extra} extra layers": d.rho[:, 0] for d in found},
)

lowest_alone = Claim(
    "it is the lowest layer that matches, not one above it",
    statistic="that mean for the lowest layer minus the largest among the layers above it, seed by seed",
    expected="> 0.05",
    refuted_by="an interval over seeds below 0.05 for that depth",
    values=lambda found: {f"{d.extra} extra layers": d.rho[:, 0] - d.rho[:, 1:].max(1) for d in found if d.extra},
)
