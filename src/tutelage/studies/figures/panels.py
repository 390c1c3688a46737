"""Grids of panels that share their axes, and the two marks most figures are made of."""

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tutelage.studies.figures.style import STRONG_TO_WEAK


def panel_grid(
    rows: Sequence[str],
    columns: Sequence[str],
    x: str,
    y: str,
    size: tuple[float, float] = (2.2, 1.9),
    **shared: Any,
) -> tuple[Figure, np.ndarray]:
    """A figure with one panel per row and column, labelled at the margins: axes [len(rows), len(columns)]."""
    figure = Figure(figsize=(size[0] * len(columns) + 0.9, size[1] * len(rows) + 0.7), layout="constrained")
    options: dict[str, Any] = {"sharex": True, "sharey": True} | shared
    axes = figure.subplots(len(rows), len(columns), squeeze=False, **options)
    for row, label in enumerate(rows):
        axes[row, 0].set_ylabel(f"{label}\n{y}" if label else y)
    for column, label in enumerate(columns):
        axes[0, column].set_title(label)
        axes[-1, column].set_xlabel(x)
    return figure, axes


def band(
    axes: Axes, x: np.ndarray, values: np.ndarray, colour: str, label: str, style: str = "-", spread: bool = True
) -> None:
    """Mean over members with a band of one standard deviation: values [T, S]."""
    mean, std = np.nanmean(values, axis=1), np.nanstd(values, axis=1)
    axes.plot(x, mean, style, color=colour, label=label)
    if spread:
        axes.fill_between(x, mean - std, mean + std, color=colour, alpha=0.15, linewidth=0)


def strength_colours(count: int) -> np.ndarray:
    """A colour for each teacher unit, the strongest first."""
    return mpl.colormaps[STRONG_TO_WEAK](np.linspace(0, 0.92, count))


def strength_bar(figure: Figure, axes: Any, count: int) -> None:
    """The colour bar that goes with :func:`strength_colours`."""
    colours = mpl.colors.ListedColormap(strength_colours(count))
    scale = mpl.cm.ScalarMappable(mpl.colors.Normalize(-0.5, count - 0.5), colours)
    bar = figure.colorbar(scale, ax=axes, shrink=0.8, ticks=[0, count - 1])
    bar.set_label("teacher unit (0 is the strongest)")
