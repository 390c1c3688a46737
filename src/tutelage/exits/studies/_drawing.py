"""Curves of accuracy against exits, with intervals over repeats, and those of the paper beside them."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tutelage.data.subsets import interval
from tutelage.exits.studies._protocol import COLOURS, Method, MethodAccuracies
from tutelage.studies.figures import PALETTE

Columns = Mapping[int, Mapping[str, Sequence[float]]]


def curves(axes: Axes, by_method: MethodAccuracies, labelled: int, methods: Sequence[Method], kind: str) -> None:
    """Mean and 1.96 standard errors over repeats for every exit, one colour per method."""
    others = iter([colour for colour in PALETTE if colour not in COLOURS.values()])
    trained = [method for method in methods if (labelled, method.name) in by_method.runs]
    for place, method in enumerate(trained):
        values = by_method.values(labelled, method, kind)
        mean, reach = interval(values)
        shift = 0.06 * (place - (len(trained) - 1) / 2)
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
    return f"here: {by_method.images}({labelled}), top-{by_method.top}\n{learnt} per class to learn from"


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
