"""How often are networks identifiable by their function? The question that Phuong 2021 leaves open in section 2.6.

The domain is the box from -1 to 1. A wider one, of half-width s, is the same question at biases smaller by s: scaling
inputs and all biases alike scales the network and changes none of the conditions.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tutelage.functions.identifying.conditions import all_of
from tutelage.functions.identifying.construction import construct
from tutelage.functions.identifying.generality import generality
from tutelage.functions.identifying.identifiability import identifiability
from tutelage.functions.studies._random_relu import random_relu
from tutelage.lab import Context, Experiment, Results
from tutelage.lab.experiment import Arrays
from tutelage.networks import Network, concatenate, outputs
from tutelage.settings import Seeds
from tutelage.studies.claims import DIRECTION, SHARE, SIGNED, Claim, Measured
from tutelage.studies.figures import PALETTE
from tutelage.studies.study import Plan, Scale, study
from tutelage.studies.training import train_in
from tutelage.training import Training
from tutelage.training.inputs import Uniform
from tutelage.training.students import UniformFanIn

SEEDS: dict[Scale, int] = {"smoke": 3, "quick": 48, "paper": 400}
STEPS: dict[Scale, int] = {"smoke": 200, "quick": 20_000, "paper": 100_000}
WIDTHS = (2, 3, 4)
DEPTHS = (1, 2, 3)
BIASES = (0.0, 0.1, 0.3, 1.0, 3.0)
TAUGHT = ((2, 2, 1), (2, 2, 2, 1))
SOURCES: tuple[Literal["random", "identifiable"], ...] = ("random", "identifiable")
TEACHER_BIAS = 0.5
LEARNT = 1e-4
"""Of the variance of the teacher's outputs: a student whose mean squared error is below has learnt its function."""
BOX = (-1.0, 1.0)


@study(
    "how-often-identifiable",
    paper="phuong2021",
    figure="sec. 2.6",
    shows="No figure: the paper shows that identifiable networks exist, and leaves open whether typical ones are among "
    "them.",
)
def how_often_identifiable(scale: Scale) -> Plan:
    """How often a network is determined by its function."""
    claims = [general, not_without_biases, closed_without_biases, rarer_with_depth, seldom, learnt_alike, by_training]
    seeds = SEEDS[scale]
    experiments: list[Experiment] = [
        RandomIdentifiability(width=width, hidden_layers=hidden, bias=bias, seeds=seeds)
        for width in WIDTHS
        for hidden in DEPTHS
        for bias in BIASES
    ]
    experiments += [
        TaughtIdentifiability(teachers=source, widths=widths, steps=STEPS[scale], seeds=seeds)
        for widths in TAUGHT
        for source in SOURCES
    ]
    return Plan(experiments, draw, claims, table, view=judged_networks)


class RandomIdentifiability(Experiment, kind="random-identifiability", numerics=1):
    """Whether random networks of constant width are general, transparent and identifiable on the box -1 to 1."""

    width: int
    hidden_layers: int
    bias: float
    seeds: Seeds

    @property
    def widths(self) -> tuple[int, ...]:
        return (self.width,) * (self.hidden_layers + 1) + (1,)

    @property
    def cost(self) -> float:
        return 0.01 * self.members * self.width * self.hidden_layers

    def run(self, context: Context) -> Arrays:
        return judged(random_relu(self.widths, self.bias, self.seeds), context.progress)


class TaughtIdentifiability(Experiment, kind="taught-identifiability", numerics=1):
    """Whether students of random or identifiable teachers are general, transparent and identifiable.

    Arrays [S, 2]: before and after training on uniform inputs from the box -1 to 1.
    """

    teachers: Literal["random", "identifiable"]
    widths: tuple[int, ...]
    seeds: Seeds
    steps: int
    learning_rate: float = 0.1
    samples: int = 4_000
    evaluate: int = 2_000
    bias: float = TEACHER_BIAS
    """Size of the biases of random teachers."""

    @property
    def cost(self) -> float:
        return 3e-6 * self.members * self.steps + 0.05 * self.members

    def run(self, context: Context) -> Arrays:
        teacher = self.teacher()
        before = UniformFanIn().build(teacher, self.seeds)
        inputs = Uniform(train=self.samples, evaluate=self.evaluate).draw(teacher, self.seeds)
        settings = Training(steps=self.steps, learning_rate=self.learning_rate)
        after = train_in(context, teacher, before, inputs, settings, share=0.8)
        known = judged(teacher)["identifiable"]
        labels = outputs(teacher, inputs.evaluate)
        when = []
        for networks in (before, after):
            loss = (outputs(networks, inputs.evaluate) - labels).square().mean((1, 2)) / labels.var(1).mean(1)
            when.append(judged(networks) | {"relative_loss": loss.numpy()})
        both = {name: np.stack([values[name] for values in when], axis=1) for name in when[0]}
        return both | {"teacher_identifiable": known}

    def teacher(self) -> Network:
        """The teachers, one per seed."""
        if self.teachers == "random":
            return random_relu(self.widths, self.bias, self.seeds)
        return concatenate([construct(self.widths, BOX, seed) for seed in self.seeds])


@dataclass(frozen=True)
class JudgedNetworks:
    """Networks of one kind, one value per seed: bool [S] each, and for students the loss over the teacher's variance.

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


CONDITIONS = ("general", "transparent", "identifiable")


def judged_networks(results: Results) -> list[JudgedNetworks]:
    """Random networks of every size, and students before and after training."""
    groups = []
    for r in results.of(RandomIdentifiability):
        values = {name: r[name] for name in CONDITIONS}
        groups.append(JudgedNetworks("random", r.experiment.widths, r.setting("bias"), values))
    for r in results.of(TaughtIdentifiability):
        for place, when in enumerate(("start", "end")):
            kind = f"students of {r.setting('teachers')} teachers, {when},"
            values = {name: np.ascontiguousarray(r[name][:, place]) for name in CONDITIONS}
            values["loss"] = np.ascontiguousarray(r["relative_loss"][:, place])
            values["teacher_identifiable"] = r["teacher_identifiable"]
            groups.append(JudgedNetworks(kind, r.setting("widths"), r.setting("bias"), values))
    return groups


def judged(networks: Network, on_progress: Callable[[float], None] = lambda share: None) -> dict[str, np.ndarray]:
    """Which members are general, transparent, and meet all conditions of the theorem: bool [S] each.

    The folds of those that are not transparent are not looked at, since the theorem does not speak of them.
    """
    rows = []
    for member in range(networks.members):
        network = networks[member]
        record = identifiability(network, BOX, stop=True)
        is_general = all_of(generality(network, BOX))
        rows.append((is_general is True, record["transparent"].holds is True, record.holds is True))
        on_progress(len(rows) / networks.members)
    columns = np.array(rows, dtype=bool).T
    return dict(zip(CONDITIONS, columns, strict=True))


def table(groups: list[JudgedNetworks]) -> pa.Table:
    blank = {"loss": None, "teacher_identifiable": None}
    rows = [
        {"kind": group.kind.rstrip(","), "widths": str(list(group.widths)), "bias": group.bias, "seed": s}
        | blank
        | {name: values[s].item() for name, values in group.values.items()}
        for group in groups
        for s in range(len(group.values["general"]))
    ]
    return pa.Table.from_pylist(rows)


# ----------------------------------------------------------------------------------------------------------------
# The figure


def draw(groups: list[JudgedNetworks]) -> Figure:
    """Shares of random networks that are transparent, and that meet the conditions of the theorem; students too."""
    figure = Figure(figsize=(10.2, 4.4), layout="constrained")
    axes = figure.subplots(2, len(WIDTHS) + 1, sharey=True)
    for column, width in enumerate(WIDTHS):
        for row, name in enumerate(("transparent", "identifiable")):
            for hidden, colour, mark in zip(DEPTHS, PALETTE, "osD", strict=False):
                chosen = [s for s in groups if s.kind == "random" and s.shape == (width, hidden)]
                _shares(axes[row, column], [s.values[name] for s in chosen], colour, mark, f"{hidden} hidden layers")
            axes[row, column].set_xticks(range(len(BIASES)), [f"{b:g}" for b in BIASES])
        axes[0, column].set_title(f"random, width {width}")
        axes[1, column].set_xlabel("size of biases")
    for row, name in enumerate(("transparent", "identifiable")):
        what = {"identifiable": "share that meets the\nsufficient conditions"}.get(name, f"share {name}")
        axes[row, 0].set_ylabel(what)
        _students(axes[row, -1], groups, name)
    axes[0, -1].set_title("students, start and end")
    axes[0, 0].legend(["1 hidden layer", "2 hidden layers", "3 hidden layers"], loc="upper left")
    axes[0, 0].set_ylim(-0.03, 1.03)
    return figure


def _shares(panel: Axes, values: list[np.ndarray], colour: str, mark: str, label: str) -> None:
    """Shares with their standard errors."""
    share = np.array([v.mean() for v in values])
    error = np.array([v.std() / len(v) ** 0.5 for v in values])
    panel.errorbar(range(len(share)), share, error, color=colour, marker=mark, markersize=4, label=label)


def _students(panel: Axes, groups: list[JudgedNetworks], name: str) -> None:
    """Shares at the start and at the end of training; the two kinds of teacher are drawn a little apart."""
    for aside, colour, kind in zip((-0.04, 0.04), PALETTE[3:], SOURCES, strict=False):
        for style, mark, widths in zip(("-", "--"), "os", TAUGHT, strict=True):
            shares = [s.values[name] for s in groups if s.kind.startswith(f"students of {kind}") and s.widths == widths]
            share, error = [v.mean() for v in shares], [v.std() / len(v) ** 0.5 for v in shares]
            label = f"{kind} teachers, {len(widths) - 2} hidden"
            at = [aside, 1 + aside]
            panel.errorbar(at, share, error, color=colour, linestyle=style, marker=mark, markersize=4, label=label)
    panel.set_xticks([0, 1], ["start", "end"])
    panel.set_xlim(-0.3, 1.3)
    if name == "identifiable":
        panel.legend(loc="upper left", fontsize=6.5, handlelength=3.2)


# ----------------------------------------------------------------------------------------------------------------
# The claims


def _random(groups: list[JudgedNetworks], name: str, chosen: Callable[[JudgedNetworks], bool]) -> dict[str, np.ndarray]:
    return {s.label: s.values[name] for s in groups if s.kind == "random" and chosen(s)}


general = Claim(
    "almost all networks are general (Lemmas A.10 to A.12)",
    statistic="share of a seed's random networks, normal weights and biases of four sizes, for which G1 to G3 hold",
    expected=">= 1",
    values=lambda groups: {
        f"width {width}, {hidden} hidden": np.mean(
            [s.values["general"] for s in groups if s.kind == "random" and s.bias > 0 and s.shape == (width, hidden)], 0
        )
        for width in WIDTHS
        for hidden in DEPTHS
    },
    reason="'almost all' is a probability of one, so that no exception is expected",
    about="every",
    possible=SHARE,
    exceptions=0.05,
    place="Lemmas A.10 to A.12",
    failure="not found",
)

not_without_biases = Claim(
    "networks without biases are not among them: where one unit of a layer is active alone, all above are "
    "multiples of one another",
    statistic="one where G1 to G3 hold for a random network without biases, else zero",
    expected="< 0.5",
    values=lambda groups: _random(groups, "general", lambda s: s.bias == 0),
    reason="the sentence allows no exception; a network shows 0 or 1",
    about="every",
    possible=SHARE,
    exceptions=0.05,
    kind="outcome",
)

closed_without_biases = Claim(
    "nor are they transparent, if no layer is wider than the inputs: some inputs are negative for all units",
    statistic="one where a random network without biases is transparent, else zero",
    expected="< 0.5",
    values=lambda groups: _random(groups, "transparent", lambda s: s.bias == 0),
    reason="the sentence allows no exception; a network shows 0 or 1",
    about="every",
    possible=SHARE,
    exceptions=0.05,
    kind="outcome",
)

seldom = Claim(
    "networks as they come seldom meet all conditions of the theorem (section 2.6 supposes it, because of their "
    "dependency graphs; here a network may miss any condition)",
    statistic="share of random networks of two or more hidden layers that meet all conditions of Theorem 2.1",
    expected="< 0.1",
    values=lambda groups: _random(groups, "identifiable", lambda s: s.hidden > 1 and s.bias > 0),
    reason="'seldom' is read as fewer than one in ten",
    possible=SHARE,
    kind="outcome",
    place="sec. 2.6",
)

rarer_with_depth = Claim(
    "transparent networks become rarer as depth grows: most do not stay transparent with two more layers (our own)",
    statistic="share of the networks that are transparent with one hidden layer and stay so with two more above it",
    expected="< 0.5",
    values=lambda groups: {
        f"width {deep.widths[0]}, biases {deep.bias:g}": np.where(
            flat.values["transparent"], deep.values["transparent"], np.nan
        )
        for deep in groups
        for flat in groups
        if deep.kind == flat.kind == "random" and deep.bias == flat.bias > 0
        and deep.widths[0] == flat.widths[0] and (deep.hidden, flat.hidden) == (3, 1)
    },
reason="'most' is read as more than half",
possible=SHARE, kind="outcome", standing="own")  # fmt: skip


def _alike(start: JudgedNetworks, end: JudgedNetworks) -> Measured:
    """Which students that have learnt their teacher are identifiable exactly if it is; baseline: untrained ones."""
    learnt = end.values["loss"] < LEARNT
    before, after = (s.values["identifiable"] == s.values["teacher_identifiable"] for s in (start, end))
    return Measured(np.where(learnt, after, np.nan), baseline=before.astype(float))


learnt_alike = Claim(
    "a student that has learnt its teacher's function meets the sufficient conditions of Theorem 2.1 if its teacher "
    "does, and only then",
    statistic="share of the students with a loss below 1e-4 of the teacher's variance that meet all sufficient "
    "conditions exactly if their teacher does",
    expected="> 0.9",
    values=lambda groups: {
        end.label: _alike(start, end)
        for start, end in pairwise(groups)
        if start.kind.endswith("start,") and end.kind.endswith("end,")
    },
    reason="a student is its teacher's function only up to the loss, so that one in ten may differ; where students "
    "agree with their teachers before training already, agreement shows nothing",
    possible=SHARE,
    kind="outcome",
    standing="own",
    failure="premise not met",
)

by_training = Claim(
    "students of teachers that meet the sufficient conditions come to meet them by training",
    statistic="one where all conditions are met at the end, minus the same at the start, seed by seed",
    expected="> 0",
    values=lambda groups: {
        f"{end.widths}": end.values["identifiable"] * 1.0 - start.values["identifiable"]
        for start in groups
        for end in groups
        if start.kind == "students of identifiable teachers, start,"
        and end.kind == "students of identifiable teachers, end," and start.widths == end.widths
    },
reason=DIRECTION,
possible=SIGNED, kind="outcome", standing="own")  # fmt: skip
