"""What the studies of exits share: sizes, ways of training, and the accuracies of networks trained in these ways."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tutelage.exits.inference import best_exits
from tutelage.exits.studies._exit_network import TRACE, ExitNetwork, Teaching
from tutelage.lab import Results
from tutelage.studies.figures import PALETTE
from tutelage.studies.intervals import half_width
from tutelage.studies.study import Scale

SETTINGS: dict[Scale, dict[str, Any]] = {
    "smoke": {"images": "blobs", "held": 4, "total": 20, "width": 4, "epochs": 2, "batch": 20, "drops": (1,)},
    "quick": {"images": "digits", "held": 50, "total": 130, "epochs": 180, "drops": (90, 135)},
    "paper": {
        "images": "cifar10", "held": 50, "total": 500, "network": "msdnet", "epochs": 300, "batch": 64,
        "learning_rate": 0.5, "drops": (150, 225), "mixed": True,
    },
}  # fmt: skip
"""Paper: the CIFAR protocol of the paper, on ten classes instead of a hundred and with the likeliest class alone."""
LABELLED: dict[Scale, tuple[int, ...]] = {"smoke": (10, 14), "quick": (55, 70), "paper": (150, 250, 350, 500)}
"""Labelled images per class, with those held; at the quick scale 5 and 20 digits per class to learn from."""
FEW: dict[Scale, int] = {"smoke": 8, "quick": 54, "paper": 80}
REPEATS: dict[Scale, int] = {"smoke": 2, "quick": 8, "paper": 5}


@dataclass(frozen=True)
class Method:
    """A way of training. temperature: a constant one, or None for annealing."""

    name: str
    teachers: Teaching = "last"
    temperature: float | None = None
    unlabelled: bool = False

    @property
    def settings(self) -> dict[str, Any]:
        """Those of the experiment."""
        return {"teachers": self.teachers, "temperature": self.temperature, "unlabelled": self.unlabelled}


EXIT_WISE = Method("exit-wise", teachers="none")
DISTILLED = Method("distilled")
WITH_UNLABELLED = Method("distilled, with unlabelled", unlabelled=True)
THREE = (EXIT_WISE, DISTILLED, WITH_UNLABELLED)
COLOURS = {EXIT_WISE.name: "#0072B2", DISTILLED.name: "#009E73", WITH_UNLABELLED.name: "#D55E00"}


def networks(
    settings: dict[str, Any], labelled: Sequence[int], methods: Sequence[Method], repeats: int
) -> list[ExitNetwork]:
    """Every method on every number of labelled images, a new subset and new initial weights per repeat.

    Where no image is without a label, methods that use such images are left out.
    """
    return [
        ExitNetwork(**settings, **method.settings, labelled=count, seed=seed)
        for count in labelled
        for method in methods
        if count < settings["total"] or not method.unlabelled
        for seed in range(repeats)
    ]


@dataclass(frozen=True, eq=False)
class NetworkAccuracy:
    """One network: accuracy of exits, of ensembles, on test and on held images [M]; trace by epoch [3, E]."""

    single: np.ndarray
    ensemble: np.ndarray
    held: np.ndarray
    trace: np.ndarray | None

    @property
    def budget(self) -> np.ndarray:
        """Test accuracy with 1, 2, ... exits available, the exit chosen on the held images: [M]."""
        return self.single[np.array(best_exits(self.held.tolist()), dtype=int) - 1]


@dataclass(frozen=True, eq=False)
class MethodAccuracies:
    """All repeats of every method at every number of labelled images per class: runs[labelled, method], one per repeat.

    held: of the labelled images per class, those held; total: images per class, with the unlabelled; drops: epochs
    after which the learning rate falls; top: a class counts as found among so many likeliest.
    """

    images: str
    held: int
    total: int
    drops: tuple[int, ...]
    top: int
    runs: dict[tuple[int, str], list[NetworkAccuracy]]

    @property
    def labelled(self) -> tuple[int, ...]:
        """Numbers of labelled images per class, in the order of the experiments."""
        return tuple(dict.fromkeys(count for count, _ in self.runs))

    def values(self, labelled: int, method: Method, kind: str) -> np.ndarray:
        """Accuracies in percent: "single", "ensemble" or "budget": [S, M]."""
        return 100 * np.stack([getattr(run, kind) for run in self.runs[labelled, method.name]])

    def gain(self, labelled: int, better: Method, worse: Method, kind: str) -> np.ndarray:
        """Differences of two methods on the same repeats, in points: [S, M]."""
        return self.values(labelled, better, kind) - self.values(labelled, worse, kind)


POOLED = "over all numbers of images together (a reading added after the runs, pooled per seed)"
"""Part of the sentence of a claim: each number of images alone has few repeats."""


def over_sizes(by_method: MethodAccuracies, gains: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Gains of all numbers of images, the mean over these for each seed: one setting of [S]."""
    return {f"{by_method.images}, all sizes": np.mean(list(gains.values()), axis=0)}


def accuracies(results: Results, methods: Sequence[Method] = THREE) -> MethodAccuracies:
    """The results by number of labelled images and by the method whose settings they have."""
    runs: dict[tuple[int, str], list[NetworkAccuracy]] = {}
    for labelled in dict.fromkeys(r.setting("labelled") for r in results):
        for method in methods:
            for r in results.where(labelled=labelled, **method.settings):
                trace = None if r.get(TRACE[0]) is None else np.stack([r[name][0] for name in TRACE])
                network = NetworkAccuracy(r["single"][0], r["ensemble"][0], r["held_out"][0], trace)
                runs.setdefault((labelled, method.name), []).append(network)
    about = next(iter(results)).experiment
    return MethodAccuracies(about.images, about.held, about.total, about.drops, about.top, runs)


BUDGET = {
    150: {
        "exit-wise": (72.4, 75.5, 77.4, 78.4, 79.2, 79.8, 80.1, 80.3, 80.3, 80.4, 80.3),
        "distilled": (78.7, 80.5, 80.9, 81.2, 81.2, 81.2, 81.1, 81.1, 81.1, 81.1, 81.1),
        "distilled, with unlabelled": (79.9, 81.1, 81.0, 81.0, 81.0, 81.0, 81.0, 81.0, 81.0, 81.0, 81.0),
    },
    250: {
        "exit-wise": (80.6, 83.4, 84.9, 86.0, 86.8, 87.4, 87.6, 87.9, 88.0, 88.0, 87.9),
        "distilled": (85.6, 87.5, 88.4, 88.6, 88.8, 88.8, 88.8, 88.8, 88.8, 88.8, 88.8),
        "distilled, with unlabelled": (86.5, 88.2, 88.5, 88.7, 88.7, 88.7, 88.7, 88.7, 88.7, 88.7, 88.7),
    },
    350: {
        "exit-wise": (84.5, 87.2, 88.8, 89.6, 90.1, 90.5, 90.7, 90.8, 90.8, 90.8, 90.8),
        "distilled": (88.1, 90.1, 91.1, 91.3, 91.4, 91.5, 91.5, 91.5, 91.5, 91.5, 91.5),
        "distilled, with unlabelled": (88.5, 90.4, 91.2, 91.5, 91.5, 91.5, 91.5, 91.5, 91.5, 91.5, 91.5),
    },
    500: {
        "exit-wise": (87.5, 89.8, 91.2, 91.8, 92.3, 92.6, 92.9, 93.0, 93.1, 93.1, 93.1),
        "distilled": (90.0, 92.0, 92.9, 93.1, 93.1, 93.1, 93.1, 93.1, 93.1, 93.1, 93.1),
    },
}

ANYTIME = {
    150: {
        "exit-wise": (72.4, 75.8, 77.9, 79.1, 80.0, 80.7, 81.2, 81.6, 81.9, 82.1, 82.2),
        "distilled": (78.7, 80.8, 81.8, 82.3, 82.7, 82.8, 82.9, 82.9, 82.9, 82.9, 82.8),
        "distilled, with unlabelled": (79.9, 81.5, 82.1, 82.3, 82.3, 82.3, 82.3, 82.3, 82.2, 82.2, 82.1),
    },
    250: {
        "exit-wise": (80.6, 83.7, 85.5, 86.4, 87.2, 87.8, 88.3, 88.7, 88.9, 89.1, 89.1),
        "distilled": (85.6, 87.6, 88.7, 89.2, 89.5, 89.6, 89.8, 89.8, 89.9, 89.9, 89.8),
        "distilled, with unlabelled": (86.5, 88.3, 89.1, 89.4, 89.6, 89.7, 89.8, 89.8, 89.8, 89.8, 89.8),
    },
    350: {
        "exit-wise": (84.5, 87.5, 89.1, 90.0, 90.5, 91.0, 91.3, 91.5, 91.7, 91.8, 91.9),
        "distilled": (88.1, 90.0, 91.2, 91.6, 91.8, 92.0, 92.1, 92.1, 92.1, 92.2, 92.2),
        "distilled, with unlabelled": (88.5, 90.4, 91.4, 91.8, 92.1, 92.2, 92.3, 92.3, 92.3, 92.3, 92.3),
    },
    500: {
        "exit-wise": (87.5, 90.0, 91.4, 92.2, 92.7, 93.1, 93.4, 93.6, 93.7, 93.8, 93.9),
        "distilled": (90.0, 91.9, 92.9, 93.4, 93.6, 93.7, 93.8, 93.8, 93.8, 93.9, 93.9),
    },
}

IMAGENET_BUDGET = {
    100: {
        "exit-wise": (64.4, 67.1, 68.1, 68.2, 68.1),
        "distilled": (68.1, 69.2, 69.3, 69.3, 69.3),
        "distilled, with unlabelled": (68.1, 69.5, 69.7, 69.7, 69.7),
    },
}

IMAGENET_ANYTIME = {
    100: {
        "exit-wise": (64.4, 67.7, 69.2, 69.9, 70.2),
        "distilled": (68.1, 69.7, 70.3, 70.5, 70.5),
        "distilled, with unlabelled": (68.1, 69.9, 70.6, 70.8, 70.8),
    },
}


Columns = Mapping[int, Mapping[str, Sequence[float]]]


def curves(axes: Axes, by_method: MethodAccuracies, labelled: int, methods: Sequence[Method], kind: str) -> None:
    """Mean and the interval of a verdict over repeats for every exit, one colour per method."""
    others = iter([colour for colour in PALETTE if colour not in COLOURS.values()])
    trained = [method for method in methods if (labelled, method.name) in by_method.runs]
    for place, method in enumerate(trained):
        values = by_method.values(labelled, method, kind)
        mean, reach = values.mean(0), half_width(values)
        shift = 0.14 * (place - (len(trained) - 1) / 2)
        exits = np.arange(1, values.shape[1] + 1)
        colour = COLOURS[method.name] if method.name in COLOURS else next(others)
        axes.errorbar(exits + shift, mean, reach, color=colour, label=method.name, marker="o", ms=3, capsize=2)
        axes.set_xticks(_ticks(len(exits)))


def _ticks(exits: int) -> range:
    """Numbers of exits at the axis: every other one where there are many."""
    return range(1, exits + 1, 2 if exits > 6 else 1)


def title(by_method: MethodAccuracies, labelled: int) -> str:
    """Of a panel of what was measured here."""
    learnt = labelled - by_method.held
    size = f"{learnt} per class to learn from"
    if by_method.images == "cifar10":  # the paper's CIFAR-100 has ten times as many classes
        share = {True: "a tenth of the paper's images", False: f"{10 * learnt:,} images to learn from"}
        size = share[labelled in BUDGET]
    return f"here: {by_method.images}({labelled}), top-{by_method.top}\n{size}"


def beside_the_paper(
    by_method: MethodAccuracies, methods: Sequence[Method], kind: str, columns: Columns, xlabel: str, source: str
) -> Figure:
    """What was measured, one panel per number of labels; then columns of the paper's table, another data set."""
    counts = sorted({labelled for labelled, _ in by_method.runs})
    total = len(counts) + len(columns)
    rows = 1 if total <= 4 else 2
    across = -(-total // rows)
    figure = Figure(figsize=(2.5 * across + 0.6, 2.7 * rows + 0.4), layout="constrained")
    grid = figure.subplots(rows, across, squeeze=False)
    panels = grid.ravel()
    for axes in panels[total:]:
        axes.set_axis_off()
    for axes, labelled in zip(panels, counts, strict=False):
        curves(axes, by_method, labelled, methods, kind)
        axes.set(title=title(by_method, labelled), xlabel=xlabel)
    for axes, (labelled, column) in zip(panels[len(counts) : total], columns.items(), strict=True):
        papers_own(axes, column, f"Phuong 2021 {source}, top-5\nCIFAR-100({labelled})", xlabel)
    for axes in grid[:, 0]:
        axes.set_ylabel("test accuracy, %")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, fontsize=7)
    return figure


def both_modes(by_method: MethodAccuracies, methods: Sequence[Method]) -> Figure:
    """Budget and anytime mode for one number of labels."""
    (labelled,) = by_method.labelled
    figure = Figure(figsize=(6.2, 3.2), layout="constrained")
    panels = figure.subplots(1, 2)
    modes = (("budget", "exits available"), ("ensemble", "exits in the ensemble"))
    for axes, (kind, xlabel) in zip(panels, modes, strict=True):
        curves(axes, by_method, labelled, methods, kind)
        axes.set(title=f"{by_method.images}({labelled}), {kind}, top-{by_method.top}", xlabel=xlabel)
    panels[0].set_ylabel("test accuracy, %")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=7)
    return figure


def papers_own(axes: Axes, column: Mapping[str, Sequence[float]], heading: str, xlabel: str) -> None:
    """Columns of a table of the paper, on a grey ground."""
    for name, values in column.items():
        axes.plot(range(1, len(values) + 1), values, color=COLOURS[name], marker="o", ms=2, linestyle="--")
    exits = max(map(len, column.values()))
    axes.set(title=heading, xlabel=xlabel, xticks=_ticks(exits))
    axes.set_facecolor("#f6f6f6")


def two_modes(
    by_method: MethodAccuracies,
    methods: Sequence[Method],
    budget: Mapping[str, Sequence[float]],
    anytime: Mapping[str, Sequence[float]],
    tables: tuple[str, str],
    dataset: str,
) -> Figure:
    """Budget and anytime mode of what was measured; below, columns of the paper's tables, another data set."""
    (labelled,) = by_method.labelled
    figure = Figure(figsize=(6.4, 5.6), layout="constrained")
    panels = figure.subplots(2, 2)
    modes = (("budget", "exits available", budget), ("ensemble", "exits in the ensemble", anytime))
    for (above, below), (kind, xlabel, columns), source in zip(panels.T, modes, tables, strict=True):
        curves(above, by_method, labelled, methods, kind)
        above.set(title=title(by_method, labelled), xlabel=xlabel)
        drawn = {method.name: columns[method.name] for method in methods}
        papers_own(below, drawn, f"Phuong 2021 {source}, top-5\n{dataset}", xlabel)
    for axes in panels[:, 0]:
        axes.set_ylabel("test accuracy, %")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3, fontsize=7)
    return figure
