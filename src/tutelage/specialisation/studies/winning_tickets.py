"""What the start decides: winning tickets, twins, idle units that start anew (Tian 2019, sections 5.3 and 7)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from matplotlib.figure import Figure
from pydantic import NonNegativeInt, PositiveFloat
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from tutelage import draws
from tutelage.lab import Context, Experiment, Results
from tutelage.lab.experiment import Arrays
from tutelage.measures import RECOVERED, correlations
from tutelage.networks import Network, forward
from tutelage.settings import Seeds
from tutelage.studies.claims import DIRECTION, MOST, SHARE, SIGNED, Claim, compared
from tutelage.studies.figures import PALETTE, panel_grid
from tutelage.studies.study import Plan, Scale, study
from tutelage.studies.training import train_in
from tutelage.training import Training
from tutelage.training.inputs import Gaussian, Inputs
from tutelage.training.students import SmallNormal
from tutelage.training.teachers import Levels

UNITS, WIDE, POLARITY = 20, 5, 1.0
SEEDS: dict[Scale, int] = {"smoke": 3, "quick": 8, "paper": 32}
STEPS: dict[Scale, int] = {"smoke": 400, "quick": 20_000, "paper": 100_000}
INPUTS: dict[Scale, int] = {"smoke": 20, "quick": 100, "paper": 100}
EARLY = 20
"""Tickets are also taken after a twentieth of the training: five of the hundred epochs of the paper's figures."""
NUDGES = (1e-6, 1e-3, 1e-1)
"""Size of the change between twins at the start, relative to the weights."""
Way = Literal["wide", "fresh", "winners", "drawn"]


@study(
    "winning-tickets",
    paper="tian2019",
    figure="secs. 5.3, 7",
    shows="No figure: small changes of the start lead to huge differences, so the units that will win cannot be found "
    "at the start, only after the symmetry is broken; idle units that start anew find teacher units that were missed.",
)
def winning_tickets(scale: Scale) -> Plan:
    """What the start decides, and when."""
    common = {
        "teacher": Levels(inputs=INPUTS[scale], hidden=UNITS, outputs=INPUTS[scale] // 2, polarity=POLARITY),
        "inputs": Gaussian(std=1.5, train=10_000 if scale != "smoke" else 500, evaluate=2_000),
        "training": Training(steps=STEPS[scale]),
        "seeds": SEEDS[scale],
    }
    early = STEPS[scale] // EARLY
    experiments: list[Experiment] = [
        Tickets(way="wide", **common),
        Tickets(way="fresh", **common),
        *(Tickets(way=way, taken_at=step, **common) for way in ("winners", "drawn") for step in (0, early)),
        *(Twins(nudge=nudge, **common) for nudge in NUDGES),
        *(FreshIdleUnits(anew=anew, **common) for anew in (False, True)),
    ]
    claims = [not_at_the_start, after_the_symmetry_broke, as_good_as_the_whole, sensitive, idle_start_anew]
    return Plan(experiments, draw, claims, view=outcomes)


class _Trained(Experiment):
    """What the three experiments share: a two-layer teacher and how its students are trained."""

    teacher: Levels
    inputs: Gaussian
    training: Training
    seeds: Seeds

    @property
    def cost(self) -> float:
        return 2e-5 * WIDE * self.training.length(self.inputs.train) * self.members

    def _task(self) -> tuple[Network, Inputs]:
        teacher = self.teacher.make(self.seeds, self.inputs)
        return teacher, self.inputs.draw(teacher, self.seeds)

    def _students(self, teacher: Network, factor: float, stream: int = 0) -> Network:
        """Students of that width; other streams are other draws."""
        seeds = [seed + 1_000_003 * stream for seed in self.seeds]
        return SmallNormal(width_factor=factor).build(teacher, seeds)


class Tickets(_Trained, kind="winning-tickets", numerics=1):
    """Students as wide as the teacher, made of units of a wider one, trained to the end.

    way: the wide student itself; a fresh one of the teacher's width; the wide student's winners, one per teacher unit,
    with the weights they had at step ``taken_at``; or as many of its units drawn at random.
    """

    way: Way
    taken_at: NonNegativeInt = 0

    def run(self, context: Context) -> Arrays:
        teacher, inputs = self._task()
        wide = self._students(teacher, WIDE)
        if self.way == "fresh":
            start = self._students(teacher, 1, stream=1)
        elif self.way == "wide":
            start = wide
        else:
            end = train_in(context, teacher, wide, inputs, self.training, 0.5)
            then = wide if not self.taken_at else train_in(
                context, teacher, wide, inputs, self.training.model_copy(update={"steps": self.taken_at}), 0.5
            )  # fmt: skip
            rho = unit_correlations(teacher, end, inputs)
            start = chosen_units(then, winners(rho) if self.way == "winners" else drawn_units(rho, self.seeds))
        end = train_in(context, teacher, start, inputs, self.training)
        return {"best": unit_correlations(teacher, end, inputs).amax(2).double().numpy()}


class Twins(_Trained, kind="twin-students", numerics=1):
    """Pairs of students as wide as the teacher whose starts differ by a small change: which teacher unit each of their
    units follows at the end, -1 for none."""

    nudge: PositiveFloat

    def run(self, context: Context) -> Arrays:
        teacher, inputs = self._task()
        first = self._students(teacher, 1)
        other = self._students(teacher, 1, stream=2)
        weights = tuple(a + self.nudge * b for a, b in zip(first.weights, other.weights, strict=True))
        second = Network(weights, first.biases, first.activation, first.slope)
        followed = []
        for students in (first, second):
            best = unit_correlations(teacher, train_in(context, teacher, students, inputs, self.training, 0.5), inputs)
            followed.append(torch.where(best.amax(1) > RECOVERED, best.argmax(1), -1).numpy())
        return {"first": followed[0], "second": followed[1]}


class FreshIdleUnits(_Trained, kind="fresh-idle-units", numerics=1):
    """Students of twice the teacher's width; half-way the units that follow no teacher unit start anew, or nothing
    happens. Then the second half of the training."""

    anew: bool

    def run(self, context: Context) -> Arrays:
        teacher, inputs = self._task()
        half = self.training.model_copy(update={"steps": self.training.length(self.inputs.train) // 2})
        now = train_in(context, teacher, self._students(teacher, 2), inputs, half, 0.5)
        if self.anew:
            idle = unit_correlations(teacher, now, inputs).amax(1) <= RECOVERED  # [S, n]
            now = replaced_units(now, self._students(teacher, 2, stream=3), idle)
        end = train_in(context, teacher, now, inputs, half, 0.5)
        return {"best": unit_correlations(teacher, end, inputs).amax(2).double().numpy()}


def unit_correlations(teacher: Network, students: Network, inputs: Inputs) -> Tensor:
    """Correlations of all pairs of hidden units on the evaluation points: [S, m, n]."""
    return correlations(*(forward(network, inputs.evaluate).features[1] for network in (teacher, students)))


def winners(rho: Tensor) -> Tensor:
    """For every teacher unit the student unit that follows it, all different, of largest total correlation: [S, m]."""
    return torch.stack([torch.as_tensor(linear_sum_assignment(-matrix.numpy())[1]) for matrix in rho])


def drawn_units(rho: Tensor, seeds: Sequence[int]) -> Tensor:
    """As many units as the teacher has, without regard to what they become: [S, m]."""
    order = draws.permutations(draws.keys(seeds, "ticket-draw"), rho.shape[2], 0)
    return order[:, : rho.shape[1]]


def chosen_units(students: Network, units: Tensor) -> Network:
    """Two-layer students that consist of some of their hidden units: units [S, m]."""
    first, second = students.weights
    weights = (
        first.gather(2, units[:, None].expand(-1, first.shape[1], -1)),
        second.gather(1, units[..., None].expand(-1, -1, second.shape[2])),
    )
    biases = None if students.biases is None else (students.biases[0].gather(1, units), students.biases[1])
    return Network(weights, biases, students.activation, students.slope)


def replaced_units(students: Network, others: Network, which: Tensor) -> Network:
    """Students whose units ``which`` [S, n] are those of other students of the same shape."""
    weights = (
        torch.where(which[:, None], others.weights[0], students.weights[0]),
        torch.where(which[..., None], others.weights[1], students.weights[1]),
    )
    biases = students.biases
    if biases is not None and others.biases is not None:
        biases = torch.where(which, others.biases[0], biases[0]), biases[1]
    return Network(weights, biases, students.activation, students.slope)


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Best correlation of every teacher unit [S, m], by way and step of the ticket, and with idle units left or made
    anew; by nudge the share of units that follow another teacher unit than their twin [S]."""

    tickets: dict[tuple[str, int], np.ndarray]
    idle: dict[bool, np.ndarray]
    parted: dict[float, np.ndarray]

    @property
    def early(self) -> int:
        return max(step for _, step in self.tickets)

    def recovered(self, way: Way, step: int = 0) -> np.ndarray:
        """Share of teacher units recovered: [S]."""
        return (self.tickets[way, step] > RECOVERED).mean(1)


def outcomes(results: Results) -> Outcomes:
    """The results by experiment."""

    def of(kind: str) -> list:
        return [r for r in results if r.experiment.kind == kind]

    return Outcomes(
        {(r.setting("way"), r.setting("taken_at")): r["best"] for r in of("winning-tickets")},
        {r.setting("anew"): r["best"] for r in of("fresh-idle-units")},
        {r.setting("nudge"): parted(r["first"], r["second"]) for r in of("twin-students")},
    )


def parted(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Among the units of which one twin follows a teacher unit, the share in which the other does not follow the same
    one: [S, n] twice -> [S]; NaN where no unit follows any."""
    either = (first >= 0) | (second >= 0)
    return np.where(either.any(1), ((first != second) & either).sum(1) / np.maximum(either.sum(1), 1), np.nan)


def draw(outcomes: Outcomes) -> Figure:
    """Recovered shares of the kinds of start (one dot per seed, a bar for the mean); how far twins part."""
    bars: dict[str, np.ndarray] = {
        "wide": outcomes.recovered("wide"),
        "fresh": outcomes.recovered("fresh"),
        "winners, start": outcomes.recovered("winners"),
        "drawn, start": outcomes.recovered("drawn"),
        "winners, early": outcomes.recovered("winners", outcomes.early),
        "drawn, early": outcomes.recovered("drawn", outcomes.early),
        "2x, idle left": (outcomes.idle[False] > RECOVERED).mean(1),
        "2x, idle anew": (outcomes.idle[True] > RECOVERED).mean(1),
    }
    figure, axes = panel_grid(
        [""], ["teacher units recovered", "twins"], "", "", size=(3.6, 2.8), sharex=False, sharey=False
    )
    for place, values in enumerate(bars.values()):
        spread = np.linspace(-0.25, 0.25, len(values))
        axes[0, 0].plot(place + spread, values, ".", color=PALETTE[0], ms=3, alpha=0.5)
        axes[0, 0].plot([place - 0.35, place + 0.35], [values.mean()] * 2, color="#000000", lw=1.5)
    axes[0, 0].set_xticks(range(len(bars)), list(bars), rotation=40, ha="right")
    axes[0, 0].set(ylabel="share recovered", ylim=(-0.03, 1.03))
    for nudge, values in outcomes.parted.items():
        axes[0, 1].plot([nudge] * len(values), values, ".", color=PALETTE[1], ms=3, alpha=0.5)
        axes[0, 1].plot(nudge, np.nanmean(values), "_", color="#000000", ms=16, mew=1.5)
    axes[0, 1].set(
        xscale="log", xlabel="change of the start, relative", ylabel="share of units that part", ylim=(-0.03, 1.03)
    )
    return figure


def _both(first: Callable[[Outcomes], np.ndarray], second: Callable[[Outcomes], np.ndarray]) -> Callable:
    return lambda outcomes: {f"{UNITS} teacher units": compared(first(outcomes), second(outcomes))}


not_at_the_start = Claim(
    "winning units cannot be found at the start: with their initial weights they do as badly as a fresh student",
    statistic="share of teacher units recovered by the winners from their initial weights minus by fresh students",
    expected="< 0.1",
    values=_both(lambda outcomes: outcomes.recovered("winners"), lambda outcomes: outcomes.recovered("fresh")),
    reason="0.1 is two of the twenty units; a ticket that wins has all of them",
    possible=SIGNED,
)

after_the_symmetry_broke = Claim(
    "after the symmetry is broken they can: with the weights of a twentieth of the training they do better",
    statistic="share recovered by the winners from their early weights minus from their initial ones, seed by seed",
    expected="> 0",
    values=_both(
        lambda outcomes: outcomes.recovered("winners", outcomes.early), lambda outcomes: outcomes.recovered("winners")
    ),
    reason=DIRECTION,
    possible=SIGNED,
)

as_good_as_the_whole = Claim(
    "trained alone from there they are as good as the whole student",
    statistic="share recovered by the winners from their early weights minus by the wide student, seed by seed",
    expected="> -0.1",
    values=_both(
        lambda outcomes: outcomes.recovered("winners", outcomes.early), lambda outcomes: outcomes.recovered("wide")
    ),
    reason="'comparable' is read as at most two of the twenty units fewer",
    possible=SIGNED,
)

sensitive = Claim(
    "small changes of the start usually lead to huge differences in what is learnt (the paper says that they could)",
    statistic="share of the units that follow another teacher unit than their twin, or none",
    expected="> 0.5",
    values=lambda outcomes: {f"a change of {nudge:g}": values for nudge, values in outcomes.parted.items()},
    reason=MOST,
    possible=SHARE,
    standing="own",
)

idle_start_anew = Claim(
    "idle units that start anew half-way find teacher units that would have been missed",
    statistic="share of teacher units recovered with idle units made anew minus with them left, seed by seed",
    expected="> 0",
    values=_both(
        lambda outcomes: (outcomes.idle[True] > RECOVERED).mean(1),
        lambda outcomes: (outcomes.idle[False] > RECOVERED).mean(1),
    ),
    reason=DIRECTION,
    possible=SIGNED,
)
