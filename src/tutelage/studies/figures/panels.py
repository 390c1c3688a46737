"""Grids of panels that share their axes, the marks most figures are made of, and matrices of matches."""

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tutelage.measures import LayerMatch
from tutelage.studies.figures.style import STRONG_TO_WEAK
from tutelage.studies.intervals import half_width


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


def error_bars(
    axes: Axes,
    x: Any,
    values: np.ndarray,
    colour: str,
    label: str | None,
    style: str = "o-",
    whole_interval: bool = False,
) -> None:
    """Mean over members with a standard error on either side, or the interval of a verdict: values [X, S]."""
    error = half_width(values.T) if whole_interval else values.std(axis=1, ddof=1) / values.shape[1] ** 0.5
    axes.errorbar(x, values.mean(1), error, fmt=style, color=colour, label=label, markersize=3, linewidth=1.2)


def strength_colours(count: int) -> np.ndarray:
    """A colour for each teacher unit, the strongest first."""
    return mpl.colormaps[STRONG_TO_WEAK](np.linspace(0, 0.92, count))


def strength_bar(figure: Figure, axes: Any, count: int) -> None:
    """The colour bar that goes with :func:`strength_colours`."""
    colours = mpl.colors.ListedColormap(strength_colours(count))
    scale = mpl.cm.ScalarMappable(mpl.colors.Normalize(-0.5, count - 0.5), colours)
    bar = figure.colorbar(scale, ax=axes, shrink=0.8, ticks=[0, count - 1])
    bar.set_label("teacher unit (0 is the strongest)")


def draw_matches(matches: Sequence[LayerMatch]) -> Figure:
    """Correlations of teacher units (rows) with student units, these in the order of the teacher unit they match best.

    A student that found every teacher unit shows a dark staircase; light columns are units that resemble none.
    """
    figure = Figure(figsize=(3.0 * len(matches) + 0.8, 3.0), layout="constrained")
    panels = figure.subplots(1, len(matches), squeeze=False)[0]
    for panel, match in zip(panels, matches, strict=True):
        rho = match.correlation
        order = np.lexsort((-rho.max(0), rho.argmax(0)))
        image = panel.imshow(rho[:, order], cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto", interpolation="nearest")
        panel.set(title=f"{match.teacher} - {match.student}: {match.rho_mean:.2f}", xlabel="student unit, sorted")
        panel.grid(False)
    panels[0].set_ylabel("teacher unit")
    figure.colorbar(image, ax=panels, shrink=0.8, label="correlation")
    return figure
