"""How often are networks identifiable by their function? The question that 004 leaves open in section 2.6.

The domain is the box from -1 to 1. A wider one, of half-width s, is the same question at biases smaller by s: scaling
inputs and all biases alike scales the network and changes none of the conditions.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tutelage.figures import PALETTE
from tutelage.geometry.identifying.conditions import all_of
from tutelage.geometry.identifying.construction import construct
from tutelage.geometry.identifying.generality import generality
from tutelage.geometry.identifying.identifiability import identifiability
from tutelage.inputs import Uniform
from tutelage.networks import Network, UniformFanIn, concatenate, outputs
from tutelage.studies.claims import Claim
from tutelage.studies.functions._random_relu import random_relu
from tutelage.studies.packs import Packs
from tutelage.studies.study import Plan, Scale, study
from tutelage.training import train

SEEDS: dict[Scale, int] = {"smoke": 3, "quick": 48, "paper": 400}
STEPS: dict[Scale, int] = {"smoke": 200, "quick": 20_000, "paper": 100_000}
WIDTHS = (2, 3, 4)
DEPTHS = (1, 2, 3)
BIASES = (0.0, 0.1, 0.3, 1.0, 3.0)
TAUGHT = ((2, 2, 1), (2, 2, 2, 1))
TEACHER_BIAS = 0.5
LEARNT = 1e-4
"""Of the variance of the teacher's outputs: a student whose mean squared error is below has learnt its function."""
BOX = (-1.0, 1.0)


@study(
    "how-often-identifiable",
    seed="004",
    figure="sec. 2.6",
    shows="No figure: the seed shows that identifiable networks exist, and leaves open whether typical ones are among "
    "them.",
)
def how_often_identifiable(scale: Scale) -> Plan:
    """How often a network is determined by its function."""
    claims = [general, not_without_biases, closed_without_biases, rarer_with_depth, seldom, learnt_alike, by_training]
    return Plan([], draw, claims, table, lambda packs, tell: look(packs, tell, scale))


@dataclass(frozen=True)
class Seen:
    """Networks of one kind, one value a seed: bool [S] each, and for students the loss over the teacher's variance.

    kind: random, or students at the start or the end of training, of random or identifiable teachers.
    """

    kind: str
    widths: tuple[int, ...]
    bias: float
    values: dict[str, np.ndarray]

    @property
    def hidden(self) -> int:
        return len(self.widths) - 2

    @property
    def shape(self) -> tuple[int, int]:
        """Width and number of hidden layers."""
        return self.widths[0], self.hidden

    @property
    def label(self) -> str:
        if self.kind != "random":
            return f"{self.kind} {self.widths}"
        return f"width {self.widths[0]}, {self.hidden} hidden, biases {self.bias:g}"


def look(packs: Packs, progress: Callable[[float], None], scale: Scale) -> list[Seen]:
    """Random networks of constant width, and students of random and of identifiable teachers."""
    seeds = range(SEEDS[scale])
    grid = [(width, hidden, bias) for width in WIDTHS for hidden in DEPTHS for bias in BIASES]
    found = []
    for done, (width, hidden, bias) in enumerate(grid):
        widths = (width,) * (hidden + 1) + (1,)
        found.append(Seen("random", widths, bias, judged(random_relu(widths, bias, seeds))))
        progress(done / (len(grid) + 4))
    for done, widths in enumerate(TAUGHT):
        made = concatenate([construct(widths, BOX, seed) for seed in seeds])
        for kind, teacher in (("random", random_relu(widths, TEACHER_BIAS, seeds)), ("identifiable", made)):
            found += taught(kind, teacher, seeds, STEPS[scale])
        progress((len(grid) + 2 * (done + 1)) / (len(grid) + 4))
    return found


def judged(networks: Network) -> dict[str, np.ndarray]:
    """Which members are general, transparent, and meet all conditions of the theorem: bool [S] each.

    The folds of those that are not transparent are not looked at, since the theorem does not speak of them.
    """
    rows = []
    for member in range(networks.members):
        one = networks[member]
        record = identifiability(one, BOX, stop=True)
        is_general = all_of(generality(one, BOX))
        rows.append((is_general is True, record["transparent"].holds is True, record.holds is True))
    columns = np.array(rows, dtype=bool).T
    return dict(zip(("general", "transparent", "identifiable"), columns, strict=True))


def taught(kind: str, teacher: Network, seeds: range, steps: int) -> list[Seen]:
    """Students of their teachers' widths before and after training on uniform inputs from the box."""
    students = UniformFanIn().build(teacher, seeds)
    inputs = Uniform(train=4_000, evaluate=2_000).draw(teacher, seeds)
    run = train(teacher, students, inputs, steps=steps, learning_rate=0.1)
    labels = outputs(teacher, inputs.evaluate)
    known = judged(teacher)["identifiable"]
    out = []
    for when, networks in (("start", students), ("end", run.students)):
        loss = (outputs(networks, inputs.evaluate) - labels).square().mean((1, 2)) / labels.var(1).mean(1)
        values = judged(networks) | {"loss": loss.numpy(), "teacher_identifiable": known}
        out.append(Seen(f"students of {kind} teachers, {when},", teacher.widths, TEACHER_BIAS, values))
    return out


def table(found: list[Seen]) -> pa.Table:
    blank = {"loss": None, "teacher_identifiable": None}
    rows = [
        {"kind": seen.kind.rstrip(","), "widths": str(list(seen.widths)), "bias": seen.bias, "seed": s}
        | blank
        | {name: values[s].item() for name, values in seen.values.items()}
        for seen in found
        for s in range(len(seen.values["general"]))
    ]
    return pa.Table.from_pylist(rows)


# ----------------------------------------------------------------------------------------------------------------
# The figure


def draw(found: list[Seen]) -> Figure:
    """Shares of random networks that are transparent and identifiable, by biases; students before and after."""
    figure = Figure(figsize=(10.2, 4.4), layout="constrained")
    axes = figure.subplots(2, len(WIDTHS) + 1, sharey=True)
    for column, width in enumerate(WIDTHS):
        for row, name in enumerate(("transparent", "identifiable")):
            for hidden, colour, mark in zip(DEPTHS, PALETTE, "osD", strict=False):
                own = [s for s in found if s.kind == "random" and s.shape == (width, hidden)]
                _shares(axes[row, column], [s.values[name] for s in own], colour, mark, f"{hidden} hidden layers")
            axes[row, column].set_xticks(range(len(BIASES)), [f"{b:g}" for b in BIASES])
        axes[0, column].set_title(f"random, width {width}")
        axes[1, column].set_xlabel("size of biases")
    for row, name in enumerate(("transparent", "identifiable")):
        axes[row, 0].set_ylabel(f"share {name}")
        _students(axes[row, -1], found, name)
    axes[0, -1].set_title("students, start and end")
    axes[0, 0].legend(["1 hidden layer", "2 hidden layers", "3 hidden layers"], loc="upper left")
    axes[0, 0].set_ylim(-0.03, 1.03)
    return figure


def _shares(panel: Axes, values: list[np.ndarray], colour: str, mark: str, label: str) -> None:
    """Shares with their standard errors."""
    share = np.array([v.mean() for v in values])
    error = np.array([v.std() / len(v) ** 0.5 for v in values])
    panel.errorbar(range(len(share)), share, error, color=colour, marker=mark, markersize=4, label=label)


def _students(panel: Axes, found: list[Seen], name: str) -> None:
    """Shares at the start and at the end of training; the two kinds of teacher are drawn a little apart."""
    for aside, colour, kind in zip((-0.04, 0.04), PALETTE[3:], ("random", "identifiable"), strict=False):
        for style, mark, widths in zip(("-", "--"), "os", TAUGHT, strict=True):
            own = [s.values[name] for s in found if s.kind.startswith(f"students of {kind}") and s.widths == widths]
            share, error = [v.mean() for v in own], [v.std() / len(v) ** 0.5 for v in own]
            label = f"{kind} teachers, {len(widths) - 2} hidden"
            at = [aside, 1 + aside]
            panel.errorbar(at, share, error, color=colour, linestyle=style, marker=mark, markersize=4, label=label)
    panel.set_xticks([0, 1], ["start", "end"])
    panel.set_xlim(-0.3, 1.3)
    if name == "identifiable":
        panel.legend(loc="upper left", fontsize=6.5, handlelength=3.2)


# ----------------------------------------------------------------------------------------------------------------
# The claims


def _random(found: list[Seen], name: str, chosen: Callable[[Seen], bool]) -> dict[str, np.ndarray]:
    return {s.label: s.values[name] for s in found if s.kind == "random" and chosen(s)}


general = Claim(
    "almost all networks are general (Lemmas A.10 to A.12)",
    statistic="share of random networks, weights and biases from normal laws of four sizes, for which G1 to G3 hold",
    expected="> 0.99",
    refuted_by="an interval over seeds below 0.99",
    values=lambda found: {
        f"width {width}, {hidden} hidden": np.mean(
            [s.values["general"] for s in found if s.kind == "random" and s.bias > 0 and s.shape == (width, hidden)], 0
        )
        for width in WIDTHS
        for hidden in DEPTHS
    },
)

not_without_biases = Claim(
    "networks without biases are not among them: where one unit of a layer is active alone, all above are multiples",
    statistic="share of random networks without biases for which G1 to G3 hold",
    expected="< 0.01",
    refuted_by="an interval over seeds above 0.01",
    values=lambda found: _random(found, "general", lambda s: s.bias == 0),
)

closed_without_biases = Claim(
    "nor are they transparent, if no layer is wider than the inputs: some inputs are negative for all units",
    statistic="share of random networks without biases that are transparent",
    expected="< 0.01",
    refuted_by="an interval over seeds above 0.01",
    values=lambda found: _random(found, "transparent", lambda s: s.bias == 0),
)

seldom = Claim(
    "networks as they come have poorly connected dependency graphs, so that they are hard to identify (section 2.6)",
    statistic="share of random networks of two or more hidden layers that meet all conditions of Theorem 2.1",
    expected="< 0.1",
    refuted_by="an interval over seeds above 0.1",
    values=lambda found: _random(found, "identifiable", lambda s: s.hidden > 1 and s.bias > 0),
)

rarer_with_depth = Claim(
    "transparent networks become rare as depth grows",
    statistic="share of the networks that are transparent with one hidden layer and stay so with two more above it",
    expected="< 0.5",
    refuted_by="an interval over seeds above 0.5",
    values=lambda found: {
        f"width {deep.widths[0]}, biases {deep.bias:g}": np.where(
            flat.values["transparent"], deep.values["transparent"], np.nan
        )
        for deep in found
        for flat in found
        if deep.kind == flat.kind == "random" and deep.bias == flat.bias > 0
        and deep.widths[0] == flat.widths[0] and (deep.hidden, flat.hidden) == (3, 1)
    },
)  # fmt: skip

learnt_alike = Claim(
    "identifiability is a property of the function: a student that has learnt its teacher's shares it",
    statistic="share of the students with a loss below 1e-4 of the teacher's variance that are identifiable exactly if "
    "their teacher is",
    expected="> 0.9",
    refuted_by="an interval over seeds below 0.9; students that have not learnt the function do not count",
    values=lambda found: {
        s.label: np.where(
            s.values["loss"] < LEARNT, s.values["identifiable"] == s.values["teacher_identifiable"], np.nan
        )
        for s in found
        if s.kind.endswith("end,")
    },
)

by_training = Claim(
    "students of identifiable teachers become identifiable by training",
    statistic="identifiable at the end minus identifiable at the start, seed by seed",
    expected="> 0",
    refuted_by="an interval over seeds below 0",
    values=lambda found: {
        f"{end.widths}": end.values["identifiable"] * 1.0 - start.values["identifiable"]
        for start in found
        for end in found
        if start.kind == "students of identifiable teachers, start,"
        and end.kind == "students of identifiable teachers, end," and start.widths == end.widths
    },
)  # fmt: skip
