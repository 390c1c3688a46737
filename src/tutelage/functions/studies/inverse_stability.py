r"""Are networks with close functions close in their weights? Two of the questions that Phuong 2021 leaves open in 2.6.

Theorem 2.1 is about equal functions. For close ones there is an example (*close and distant* below): a unit split into
two at a small angle, against the unit itself beside one whose fan-out is small. And trained students say how it is for
networks as they come, with widths that do not grow, for which the theorem speaks, and with widths that do.

Weights are compared up to the order of the units and the scale of each: every hidden unit has incoming weights and bias
of length 1, and the distance is the least over all orders, relative to the length of the teacher's weights.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from tutelage import draws
from tutelage.functions.identifying.conditions import all_of
from tutelage.functions.identifying.construction import construct
from tutelage.functions.identifying.generality import generality
from tutelage.functions.studies._random_relu import random_relu
from tutelage.lab import Context, Experiment, Results
from tutelage.lab.experiment import Arrays
from tutelage.networks import Network, concatenate, outputs
from tutelage.settings import Seeds
from tutelage.studies.claims import DIRECTION, SHARE, SIGNED, Check, Claim, Measured
from tutelage.studies.figures import PALETTE
from tutelage.studies.study import Plan, Scale, fresh_seeds, study
from tutelage.studies.training import train_in
from tutelage.training import Training
from tutelage.training.inputs import Uniform
from tutelage.training.students import UniformFanIn

SEEDS: dict[Scale, int] = {"smoke": 3, "quick": 24, "paper": 128}
STEPS: dict[Scale, int] = {"smoke": 200, "quick": 20_000, "paper": 50_000}
TILTS = (1e-1, 1e-2, 1e-3, 1e-4)
STEADY, GROWING = ((2, 2, 1), (2, 2, 2, 1)), ((2, 4, 1), (2, 4, 4, 1))
LEARNT = 1e-4
"""Of the variance of the teacher's outputs: a student whose mean squared error is below has learnt its function."""
NEAR = 0.1
"""Of the length of the teacher's weights."""
BOX = (-1.0, 1.0)
LEAST = 1e-16
"""What is smaller is drawn here: it is rounding."""


@study(
    "inverse-stability",
    paper="phuong2021",
    figure="sec. 2.6",
    shows="No figure: the paper asks whether networks with close functions may have distant weights, and whether there "
    "is more redundancy where widths grow.",
)
def inverse_stability(scale: Scale) -> Plan:
    """Whether networks with close functions have close weights."""
    seeds = fresh_seeds(scale, SEEDS[scale])
    pairs: list[tuple[Literal["random", "identifiable"], tuple[int, ...]]] = [
        *(("random", widths) for widths in (*STEADY, *GROWING)),
        *(("identifiable", widths) for widths in STEADY),
    ]
    experiments: list[Experiment] = [CloseAndDistant(seeds=seeds)]
    experiments += [
        StudentWeights(teachers=source, widths=widths, steps=STEPS[scale], seeds=seeds) for source, widths in pairs
    ]
    checks: list[Claim | Check] = [close_functions, distant_weights, both_general]
    return Plan(experiments, draw, [*checks, near_when_learnt, fewer_near_where_widths_grow], view=by_teachers)


class CloseAndDistant(Experiment, kind="close-and-distant", numerics=1):
    """Pairs of networks of widths 2, 2, 1 whose functions are close and whose weights are not.

    Arrays [S, tilts]: the largest difference of the outputs on the box, the distance of the weights, and whether both
    networks are general.
    """

    tilts: tuple[float, ...] = TILTS
    seeds: Seeds

    def run(self, context: Context) -> Arrays:
        columns: dict[str, list[np.ndarray]] = {"difference": [], "distance": [], "general": []}
        for done, tilt in enumerate(self.tilts, start=1):
            split, single = close_pair(tilt, self.seeds)
            columns["difference"].append(largest_difference(split, single).numpy())
            columns["distance"].append(weight_distance(single, split).numpy())
            columns["general"].append(
                np.array([_general(split[s]) and _general(single[s]) for s in range(split.members)])
            )
            context.progress(done / len(self.tilts))
        return {name: np.stack(values, 1) for name, values in columns.items()}


def _general(network: Network) -> bool:
    return all_of(generality(network, BOX)) is True


def close_pair(tilt: float, seeds: Sequence[int]) -> tuple[Network, Network]:
    """A unit split into two at a small angle, and the unit beside one whose fan-out is that small.

    On the box the outputs differ by at most 3 times the tilt: half of |u.x| from the split and |v.x + c| from the other
    unit, with unit vectors u and v and |c| below 1/2. Both have one output bias.
    """
    drawn = draws.uniforms(draws.keys(seeds, "close pair"), 5)
    angle, other = 2 * math.pi * drawn[:, 0], 2 * math.pi * drawn[:, 1]
    b, c = drawn[:, 2] - 0.5, drawn[:, 3] - 0.5
    # Without it the output is 0 wherever both units are, and no such network is general.
    top = 0.1 + drawn[:, 4]
    w, v = (torch.stack([a.cos(), a.sin()], 1) for a in (angle, other))
    u = torch.stack([-w[:, 1], w[:, 0]], 1)
    ones = torch.ones_like(b)
    split = _two_units(w, w + tilt * u, b, b, ones / 2, ones / 2, top)
    return split, _two_units(w, v, b, c, ones, tilt * ones, top)


def _two_units(w: Tensor, v: Tensor, b: Tensor, c: Tensor, first: Tensor, second: Tensor, top: Tensor) -> Network:
    above = torch.stack([first, second], 1).unsqueeze(2)
    return Network((torch.stack([w, v], 2), above), (torch.stack([b, c], 1), top.unsqueeze(1)))


def largest_difference(first: Network, second: Network) -> Tensor:
    """The largest difference of the outputs on the box of two networks with two inputs and one hidden layer: [S].

    It is at a corner of the box, or where two of the lines cross at which a unit changes or the box ends.
    """
    normals = torch.cat([first.weights[0], second.weights[0]], 2).mT  # [S, L, 2]
    offsets = torch.cat([net.biases[0] for net in (first, second) if net.biases is not None], 1)
    members = len(normals)
    edges = torch.eye(2, dtype=normals.dtype).repeat(2, 1).expand(members, -1, -1)
    ends = torch.tensor([BOX[0]] * 2 + [BOX[1]] * 2, dtype=normals.dtype).expand(members, -1)
    normals, offsets = torch.cat([normals, edges], 1), torch.cat([offsets, -ends], 1)
    i, j = zip(*itertools.combinations(range(normals.shape[1]), 2), strict=True)
    system, right = torch.stack([normals[:, i], normals[:, j]], 2), -torch.stack([offsets[:, i], offsets[:, j]], 2)
    determinant = system[..., 0, 0] * system[..., 1, 1] - system[..., 0, 1] * system[..., 1, 0]
    safe = torch.where(determinant == 0, 1, determinant)
    x = (right[..., 0] * system[..., 1, 1] - right[..., 1] * system[..., 0, 1]) / safe
    y = (right[..., 1] * system[..., 0, 0] - right[..., 0] * system[..., 1, 0]) / safe
    points = torch.stack([x, y], 2)
    inside = (determinant != 0) & ((points >= BOX[0]) & (points <= BOX[1])).all(2)
    points = torch.where(inside.unsqueeze(2), points, 0)
    return (outputs(first, points) - outputs(second, points)).abs().amax((1, 2))


def scaled(network: Network) -> tuple[list[Tensor], list[Tensor]]:
    """Weights and biases with every hidden unit's incoming weights and bias of length 1, its fan-out times the rest."""
    weights = [w.double().clone() for w in network.weights]
    biases = [
        b.double().clone() for b in (network.biases or [w.new_zeros(len(w), w.shape[2]) for w in network.weights])
    ]
    for layer in range(len(weights) - 1):
        length = torch.cat([weights[layer], biases[layer].unsqueeze(1)], 1).norm(dim=1)
        safe = torch.where(length == 0, 1, length)
        weights[layer], biases[layer] = weights[layer] / safe.unsqueeze(1), biases[layer] / safe
        weights[layer + 1] = weights[layer + 1] * safe.unsqueeze(2)
    return weights, biases


def weight_distance(teacher: Network, students: Network) -> Tensor:
    """Distance of the weights up to the order and scale of hidden units, over the length of the teacher's: [S].

    All orders are tried, so that hidden layers must be narrow.
    """
    taught, learnt = scaled(teacher), scaled(students)
    size = sum((a.flatten(1).square().sum(1) for a in (*taught[0], *taught[1])), torch.tensor(0.0))
    orders = [list(itertools.permutations(range(width))) for width in teacher.widths[1:-1]]
    best = torch.full((teacher.members,), torch.inf, dtype=torch.float64)
    for order in itertools.product(*orders):
        total = torch.zeros_like(best)
        for layer, (w, b) in enumerate(zip(*learnt, strict=True)):
            if layer > 0:
                w = w[:, order[layer - 1]]
            if layer < len(order):
                w, b = w[:, :, order[layer]], b[:, order[layer]]
            total = total + (w - taught[0][layer]).square().sum((1, 2)) + (b - taught[1][layer]).square().sum(1)
        best = torch.minimum(best, total)
    return (best / size).sqrt()


class StudentWeights(Experiment, kind="student-weights", numerics=1):
    """Loss of students over the variance of their teacher, and how far their weights are from its weights.

    Arrays [S, 2]: before and after training on uniform inputs from the box -1 to 1.
    """

    teachers: Literal["random", "identifiable"]
    """Drawn at random, or constructed to meet the sufficient conditions of Theorem 2.1."""
    widths: tuple[int, ...]
    seeds: Seeds
    steps: int
    learning_rate: float = 0.1
    samples: int = 4_000
    evaluate: int = 2_000
    bias: float = 0.5
    """Size of the biases of random teachers."""

    @property
    def cost(self) -> float:
        return 3e-6 * self.members * self.steps

    def run(self, context: Context) -> Arrays:
        teacher = self.teacher()
        before = UniformFanIn().build(teacher, self.seeds)
        inputs = Uniform(train=self.samples, evaluate=self.evaluate).draw(teacher, self.seeds)
        settings = Training(steps=self.steps, learning_rate=self.learning_rate)
        after = train_in(context, teacher, before, inputs, settings, share=0.9)
        labels = outputs(teacher, inputs.evaluate)
        columns: dict[str, list[np.ndarray]] = {"relative_loss": [], "distance": []}
        for networks in (before, after):
            loss = (outputs(networks, inputs.evaluate) - labels).square().mean((1, 2)) / labels.var(1).mean(1)
            columns["relative_loss"].append(loss.numpy())
            columns["distance"].append(weight_distance(teacher, networks).numpy())
        return {name: np.stack(values, 1) for name, values in columns.items()}

    def teacher(self) -> Network:
        """The teachers, one per seed."""
        if self.teachers == "random":
            return random_relu(self.widths, self.bias, self.seeds)
        return concatenate([construct(self.widths, BOX, seed) for seed in self.seeds])


@dataclass(frozen=True, eq=False)
class ByTeachers:
    """Pairs of close networks [S, tilts], and students by (source, widths of the teacher) [S, 2] at start and end."""

    pairs: dict[str, np.ndarray]
    tilts: np.ndarray
    losses: dict[tuple[str, tuple[int, ...]], np.ndarray]
    distances: dict[tuple[str, tuple[int, ...]], np.ndarray]

    def near(self, key: tuple[str, tuple[int, ...]], when: int = 1) -> np.ndarray:
        """One where a student that has learnt is near its teacher's weights, NaN where it has not learnt: [S]."""
        learnt = self.losses[key][:, 1] < LEARNT
        return np.where(learnt, self.distances[key][:, when] < NEAR, np.nan)


def by_teachers(results: Results) -> ByTeachers:
    """The pairs, and the students of every kind of teacher."""
    close, students = results.of(CloseAndDistant).one(), results.of(StudentWeights)
    keyed = {(r.setting("teachers"), tuple(r.setting("widths"))): r for r in students}
    losses, distances = ({key: r[name] for key, r in keyed.items()} for name in ("relative_loss", "distance"))
    pairs = {name: close[name] for name in ("difference", "distance", "general")}
    return ByTeachers(pairs, np.array(close.setting("tilts")), losses, distances)


def _label(key: tuple[str, tuple[int, ...]]) -> str:
    who = {"random": "random teachers", "identifiable": "constructed teachers"}[key[0]]
    return f"{who}, {' '.join(map(str, key[1]))}"


def draw(found: ByTeachers) -> Figure:
    """Close pairs: distance of weights against difference of functions; students: the same, before and after."""
    figure = Figure(figsize=(9.8, 3.2), layout="constrained")
    panels = figure.subplots(1, 3)
    for tilt, difference, distance, colour in zip(
        found.tilts, found.pairs["difference"].T, found.pairs["distance"].T, PALETTE, strict=False
    ):
        panels[0].loglog(difference, distance, ".", color=colour, ms=3, alpha=0.6, label=f"tilt {tilt:g}")
    panels[0].set(xlabel="largest difference of the outputs", ylabel="distance of the weights", title="pairs made so")
    panels[0].legend(loc="lower left")
    for panel, widths, title in zip(panels[1:], (STEADY, GROWING), ("widths do not grow", "widths grow"), strict=True):
        chosen = [key for key in found.losses if key[1] in widths]
        for key, colour in zip(chosen, PALETTE, strict=False):
            loss, distance = (np.maximum(of[key][:, 1], LEAST) for of in (found.losses, found.distances))
            panel.loglog(loss, distance, ".", color=colour, ms=3, alpha=0.6, label=_label(key))
        panel.axvline(LEARNT, color="#888888", lw=0.8, ls=":")
        panel.axhline(NEAR, color="#888888", lw=0.8, ls="--")
        panel.set(xlabel="loss over the teacher's variance", title=f"trained students, {title}")
        panel.legend(loc="lower right" if widths == GROWING else "center", fontsize=6.5)
    panels[0].set_ylim(1e-2, 5)
    for panel in panels[1:]:
        panel.set_ylim(LEAST / 3, 10)
    return figure


close_functions = Check(
    "a unit split in two at a small angle has nearly the function of the unit beside one of small fan-out",
    statistic="largest difference of the outputs on the box, over the tilt",
    expected="<= 3",
    values=lambda e: {f"tilt {t:g}": e.pairs["difference"][:, k] / t for k, t in enumerate(e.tilts)},
    reason="the bound by the triangle inequality: half of 1.5, and 2",
    standing="own",
)

distant_weights = Check(
    "and their weights stay apart",
    statistic="distance of the weights up to order and scale of units, over the length of one network's weights",
    expected=">= 0.2",
    values=lambda e: {f"tilt {t:g}": e.pairs["distance"][:, k] for k, t in enumerate(e.tilts)},
    reason="fan-outs 1/2 and 1/2 against 1 and nearly 0: half of the strongest at least, of a length of 1.8 to 2.1",
    standing="own",
)

both_general = Check(
    "so for general networks close functions do not make close weights: both networks of every pair are general",
    statistic="one where G1 to G3 hold for both networks, else zero",
    expected=">= 1",
    values=lambda e: {f"tilt {t:g}": e.pairs["general"][:, k].astype(float) for k, t in enumerate(e.tilts)},
    reason="the statement is about general networks alone",
    standing="own",
)

near_when_learnt = Claim(
    "a student that has learnt the function of a teacher that meets the sufficient conditions has its weights",
    statistic="one where the distance of the weights is below a tenth of the teacher's, for students with a loss below "
    "1e-4 of the teacher's variance",
    expected="> 0.9",
    values=lambda e: {
        _label(key): Measured(e.near(key), baseline=e.near(key, 0)) for key in e.losses if key[0] == "identifiable"
    },
    reason="the loss is small and not 0, so that one in ten may differ",
    possible=SHARE,
    kind="outcome",
    standing="own",
)

fewer_near_where_widths_grow = Claim(
    "where hidden layers are wider than the inputs, fewer students that have learnt have their teacher's weights",
    statistic="one where the distance is below a tenth with widths that do not grow, less the same with growing ones, "
    "random teachers, seeds of which both students have learnt",
    expected="> 0",
    values=lambda e: {
        f"{' '.join(map(str, steady))} less {' '.join(map(str, growing))}": e.near(("random", steady))
        - e.near(("random", growing))
        for steady, growing in zip(STEADY, GROWING, strict=True)
    },
    reason=DIRECTION,
    possible=SIGNED,
    kind="outcome",
    standing="own",
)
