"""Panels below one another, where a figure is too narrow for them side by side."""

from itertools import groupby

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend

_NARROW = 1.4
"""Inches: panels below this width are stacked; with axes labels and ticks little of them would be left."""
_ALONE = 4
"""Panels up to this number stand in one column where two would fit."""
_LOW, _HIGH = 1.4, 2.2
"""Least and largest height in inches of a panel in a stack."""
_PAGE = 9.5
"""Height in inches of a page: a figure that would be higher is left as it was drawn."""


def stack(figure: Figure, width: float) -> float | None:
    """Put the panels of a grid below one another if they were too narrow side by side, in the order of reading.

    Parameters
    ----------
    figure
        Drawn by ``figure.subplots``, with one grid of panels.
    width
        The width in inches that it is to have.

    Returns
    -------
    float or None
        Its height in inches; None where nothing was changed.
    """
    panels = _grid(figure)
    rows, columns = (1 + max(place[axis] for place in panels) for axis in (0, 1)) if panels else (1, 1)
    if width / columns >= _NARROW:
        return None
    fitting = max(1, int(width // _NARROW))
    across = 1 if rows * columns <= _ALONE and fitting <= 2 else fitting
    lines = rows * -(-columns // across)
    drawn_width, drawn_height = figure.get_size_inches()
    shape = (drawn_height / rows) / (drawn_width / columns)
    height = lines * min(max(0.75 * shape * width / across, _LOW), _HIGH)
    if height > _PAGE:
        return None
    _complete(panels)
    grid = figure.add_gridspec(lines, across)
    # Every row has lines of its own, so that rows stay apart.
    moved = {(row * (lines // rows) + column // across, column % across): at for (row, column), at in panels.items()}
    for (line, place), axes in moved.items():
        for each in axes:
            each.set_subplotspec(grid[line, place])
        left, below = (moved.get(beside, [None])[0] for beside in ((line, place - 1), (line + 1, place)))
        _lighten(axes[0], left, below)
    return float(height)


def _grid(figure: Figure) -> dict[tuple[int, int], list[Axes]]:
    """Panels by row and column, twins together; none where there are several grids or a panel spans several places."""
    specs = [(spec, axes) for axes in figure.axes if (spec := axes.get_subplotspec()) is not None]
    single = all(len(spec.rowspan) == len(spec.colspan) == 1 for spec, _ in specs)
    if not single or len({id(spec.get_gridspec()) for spec, _ in specs}) != 1:
        return {}
    placed = sorted(
        (((spec.rowspan.start, spec.colspan.start), axes) for spec, axes in specs), key=lambda pair: pair[0]
    )
    return {place: [axes for _, axes in group] for place, group in groupby(placed, key=lambda pair: pair[0])}


def _complete(panels: dict[tuple[int, int], list[Axes]]) -> None:
    """Give every panel the title, the labels and the ticks that it had from its neighbours."""
    last = max(row for row, _ in panels)
    for (row, column), (axes, *_) in panels.items():
        top, left, bottom = (panels.get(place, [axes])[0] for place in ((0, column), (row, 0), (last, column)))
        axes.set_title(axes.get_title() or top.get_title())
        # Only from panels of the same axis: another panel without a label may show something else.
        if axes.get_shared_y_axes().joined(axes, left):
            axes.set_ylabel(axes.get_ylabel() or left.get_ylabel())
            axes.tick_params(which="both", labelleft=True)
        if axes.get_shared_x_axes().joined(axes, bottom):
            axes.set_xlabel(axes.get_xlabel() or bottom.get_xlabel())
            axes.tick_params(which="both", labelbottom=True)


def _lighten(axes: Axes, left: Axes | None, below: Axes | None) -> None:
    """Leave out the label and the numbers of an axis that a neighbour shows."""
    if left is not None and axes.get_shared_y_axes().joined(axes, left) and axes.get_ylabel() == left.get_ylabel():
        axes.set_ylabel("")
        axes.tick_params(which="both", labelleft=False)
    if below is not None and axes.get_shared_x_axes().joined(axes, below) and axes.get_xlabel() == below.get_xlabel():
        axes.set_xlabel("")
        axes.tick_params(which="both", labelbottom=False)


def drop_column(legend: Legend) -> bool:
    """Spread the entries of a legend over one column less; False where there is one alone."""
    # Legend.set_ncols only sets a number that is read when the legend is made.
    columns = legend._legend_handle_box.get_children()  # type: ignore[attr-defined]
    if len(columns) == 1:
        return False
    entries = [entry for column in columns for entry in column.get_children()]
    rows = -(-len(entries) // (len(columns) - 1))
    for place, column in enumerate(columns):
        column.get_children()[:] = entries[place * rows : (place + 1) * rows]
    del columns[-(-len(entries) // rows) :]
    return True
