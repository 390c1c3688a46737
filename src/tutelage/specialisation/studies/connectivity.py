"""Two students of one teacher are joined by a path of low loss, though not by a straight line (Tian 2020, App. E)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from tutelage.functions import Path, connect, loss_along, straight, straight_after_matching
from tutelage.lab import Context, Experiment, Results, TeacherStudent, TrainedStudents
from tutelage.lab.build import build
from tutelage.lab.experiment import Arrays
from tutelage.networks import Network, outputs
from tutelage.specialisation.studies._two_layer import sweep
from tutelage.studies.claims import DIRECTION, Claim
from tutelage.studies.figures import PALETTE, panel_grid
from tutelage.studies.study import Plan, Scale, study
from tutelage.studies.training import train_in
from tutelage.training.inputs import Inputs

WIDTH_FACTORS = (2, 5, 10)
ROADS = ("constructed", "straight", "straight after matching")
COLUMNS = {"constructed": "constructed", "straight": "straight", "straight after matching": "matched"}
"""What the arrays of each road begin with."""
OTHER = 1_000_000  # added to a member's seed for the second student and its batches
STEPS = 8  # places between two knots at which the loss is looked at


@dataclass(frozen=True)
class Crossing:
    """Loss between the two students of every member, on the evaluation points: share and loss [T, S] of each road."""

    width_factor: float
    seeds: tuple[int, ...]
    roads: dict[str, tuple[np.ndarray, np.ndarray]]

    @property
    def label(self) -> str:
        return f"p = 1, {self.width_factor:g}x"

    def peak(self, road: str) -> np.ndarray:
        """The largest loss on a road: [S]."""
        return self.roads[road][1].max(0)

    def end(self) -> np.ndarray:
        """The larger loss of the two students: [S]."""
        return np.maximum(self.roads["straight"][1][0], self.roads["straight"][1][-1])


@study(
    "connectivity",
    paper="tian2020",
    figure="13",
    shows="Two solutions with three units for a teacher of two, and the four pieces of a path between them: blend a "
    "teacher's weights into an idle unit, move the fan-out, free the old unit. Here with trained students.",
)
def connectivity(scale: Scale) -> Plan:
    """Two students are joined by a path of low loss, not by a straight line."""
    experiments = sweep(scale, hidden=10, width_factors=WIDTH_FACTORS, polarities=(1.0,))
    claims = [low_on_the_path, high_on_the_line, matching_helps, matching_is_not_enough]
    return Plan([PathLosses(students=experiment) for experiment in experiments], draw, claims, view=crossings_by_width)


class PathLosses(Experiment, kind="path-losses", numerics=1):
    """Loss on evaluation points along three paths from trained students to second students of the same teachers."""

    students: TeacherStudent
    offset: int = OTHER
    """Added to a member's seed for the start and the batches of its second student."""

    @property
    def members(self) -> int:
        return self.students.members

    @property
    def cost(self) -> float:
        return 1.5 * self.students.cost

    def run(self, context: Context) -> Arrays:
        trained: TrainedStudents = context.result(self.students)
        teacher, _, inputs = build(self.students)
        second = second_students(self.students, self.offset, context)
        return losses_of_paths(trained.weights(), second, teacher, inputs)


def second_students(experiment: TeacherStudent, offset: int, context: Context) -> Network:
    """Students of the same teachers and points with another start and other batches."""
    teacher, _, inputs = build(experiment)
    seeds = tuple(seed + offset for seed in experiment.seeds)
    start = experiment.student.build(teacher, seeds)
    return train_in(
        context, teacher, start, Inputs(inputs.train, inputs.evaluate, seeds), experiment.training, share=0.9
    )


def losses_of_paths(first: Network, second: Network, teacher: Network, inputs: Inputs) -> dict[str, np.ndarray]:
    """Share of the way and loss, [S, T] each, of every road from the first students to the second."""
    labels = outputs(teacher, inputs.evaluate)
    paths: Sequence[Path] = (
        connect(first, second, inputs.train, teacher, excess=None),
        straight(first, second),
        straight_after_matching(first, second, inputs.train),
    )
    out: dict[str, np.ndarray] = {}
    for road, path in zip(ROADS, paths, strict=True):
        share, loss = loss_along(path, inputs.evaluate, labels, STEPS if len(path.knots) > 2 else 5 * STEPS)
        out[f"{COLUMNS[road]}_share"] = share.numpy().swapaxes(0, 1)
        out[f"{COLUMNS[road]}_loss"] = loss.numpy().swapaxes(0, 1)
    return out


def crossings_by_width(results: Results) -> list[Crossing]:
    """Losses between the two students of every member, for every width."""
    out = []
    for result in results:
        roads = {
            road: (_time_first(result[f"{column}_share"]), _time_first(result[f"{column}_loss"]))
            for road, column in COLUMNS.items()
        }
        out.append(Crossing(result.setting("width_factor"), result.setting("seeds"), roads))
    return out


def _time_first(array: np.ndarray) -> np.ndarray:
    """[S, T] -> [T, S]."""
    return np.ascontiguousarray(array.swapaxes(0, 1))


def draw(crossings: list[Crossing]) -> Figure:
    """Loss along the three roads; one thin line per member, a thick one for the median."""
    figure, axes = panel_grid(
        [""],
        [f"{c.width_factor:g}x" for c in crossings],
        "share of the way",
        "loss on evaluation points",
        size=(2.6, 2.6),
    )
    grid = np.linspace(0, 1, 201)
    for panel, crossing in zip(axes[0], crossings, strict=True):
        for colour, road in zip(PALETTE, ROADS, strict=False):
            share, loss = crossing.roads[road]
            lines = [np.interp(grid, x, np.log10(y)) for x, y in zip(share.T, loss.T, strict=True)]
            for line in lines:
                panel.plot(grid, 10**line, color=colour, linewidth=0.5, alpha=0.35)
            panel.plot(grid, 10 ** np.median(lines, axis=0), color=colour, linewidth=2, label=road)
        panel.set_yscale("log")
    axes[0, -1].legend(loc="center left", bbox_to_anchor=(1.02, 0.5))
    return figure


low_on_the_path = Claim(
    "each piece of the constructed path has low loss",
    statistic="largest loss along the path over the larger loss of the two students, on evaluation points",
    expected="< 1.1",
    values=lambda crossings: {c.label: c.peak("constructed") / c.end() for c in crossings},
    reason="a tenth above the higher end is read as low",
    about="every",
    possible=(0.0, np.inf),
    place="App. E, Fig. 13",
)

high_on_the_line = Claim(
    "on the straight line between two solutions the loss is high",
    statistic="log10 of the largest loss along the straight line over the larger loss of the two students",
    expected="> 1",
    values=lambda crossings: {c.label: np.log10(c.peak("straight") / c.end()) for c in crossings},
    reason="tenfold is read as high",
    place="App. E, Fig. 13",
)

matching_helps = Claim(
    "the straight line is lower once the units of one student are put in the order of the other's (not in the paper)",
    statistic="log10 of the largest loss along the straight line over that after matching",
    expected="> 0",
    values=lambda crossings: {c.label: np.log10(c.peak("straight") / c.peak(ROADS[2])) for c in crossings},
    reason=DIRECTION,
    standing="own",
)

matching_is_not_enough = Claim(
    "and still higher than the constructed path (not in the paper)",
    statistic="log10 of the largest loss along the straight line after matching over that along the constructed path",
    expected="> 0",
    values=lambda crossings: {c.label: np.log10(c.peak(ROADS[2]) / c.peak("constructed")) for c in crossings},
    reason=DIRECTION,
    standing="own",
)
