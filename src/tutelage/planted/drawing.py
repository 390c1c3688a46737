"""Pictures of a leaderboard: power curves, one panel per dial, and precision against recall."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tutelage.planted.leaderboard import Entry
from tutelage.planted.scores import RECALLS

_MARKS = "osD^v<>Phx+*"
_COLUMNS = 4
_LABELS = {
    "decay": "strength decay p",
    "width_factor": "width factor",
    "depth": "hidden layers",
    "covariance": "decay of input variances",
    "sparsity": "sparsity of features",
    "superposition": "features per student unit",
    "noise": "label noise",
    "steps": "training steps",
    "samples": "points seen",
    "activation": "activation",
}


def draw_entries(entries: Sequence[Entry]) -> Figure:
    """Recall against every dial, and precision against recall; one colour and mark per method, 95 % intervals."""
    dials = list(dict.fromkeys(dial for entry in entries for dial in entry.curves))
    columns = min(_COLUMNS, len(dials) + 1)
    rows = -(-(len(dials) + 1) // columns)
    figure = Figure(figsize=(2.7 * columns + 2.2, 2.5 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharey=True).ravel()
    for panel, dial in zip(axes, dials, strict=False):
        power_panel(panel, dial, entries)
    precision_panel(axes[len(dials)], entries)
    for panel in axes[len(dials) + 1 :]:
        panel.set_visible(False)
    for row in range(rows):
        axes[row * columns].set_ylabel("recall at 10 % false")
    handles, labels = axes[len(dials)].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper")
    return figure


def power_panel(panel: Axes, dial: str, entries: Sequence[Entry]) -> None:
    """Recall against one dial."""
    values = list(dict.fromkeys(value for entry in entries for value, _ in entry.curves.get(dial, [])))
    for place, entry in enumerate(entries):
        points = [(values.index(value), s) for value, s in entry.curves.get(dial, []) if s.mean is not None]
        if not points:
            continue
        x, summaries = zip(*points, strict=True)
        mean = np.array([s.mean for s in summaries])
        ends = [[m if e is None else e for m, e in zip(mean, side, strict=True)] for side in _ends(summaries)]
        error = np.clip([mean - ends[0], ends[1] - mean], 0, None)
        panel.errorbar(x, mean, error, elinewidth=0.7, **_style(place), label=entry.method)
    panel.set(xlabel=_LABELS.get(dial, dial), ylim=(-0.04, 1.04))
    panel.set_xticks(range(len(values)), [f"{v:g}" if isinstance(v, int | float) else str(v) for v in values])


def precision_panel(panel: Axes, entries: Sequence[Entry]) -> None:
    """Precision against recall at the base difficulty."""
    for place, entry in enumerate(entries):
        precision = np.array([np.nan if p is None else p for p in entry.precision])
        panel.plot(RECALLS, precision, **_style(place), label=entry.method)
    panel.set(xlabel="recall", title="precision", ylim=(-0.04, 1.04))


def _ends(summaries: Sequence[Any]) -> tuple[list[float | None], list[float | None]]:
    return [s.low for s in summaries], [s.high for s in summaries]


def _style(place: int) -> dict[str, Any]:
    from tutelage.studies.figures import PALETTE  # the studies know this package

    colour, mark = PALETTE[place % len(PALETTE)], _MARKS[place // len(PALETTE) % len(_MARKS)]
    return {"color": colour, "marker": mark, "markersize": 3.5, "linewidth": 1.1}
