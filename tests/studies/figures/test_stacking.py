"""Panels that would be too narrow stand below one another, complete and in the order of reading."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from tutelage.studies.figures import house_style
from tutelage.studies.figures.stacking import drop_column, stack
from tutelage.studies.figures.style import WIDTHS, fit


def grid(rows, columns, style="column", **options):
    with house_style(style):
        figure = Figure(figsize=(2.7 * columns, 2.6 * rows), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False, **options)
        for column in range(columns):
            axes[0, column].set_title(f"title {column}")
            axes[-1, column].set_xlabel("time")
        for row in range(rows):
            axes[row, 0].set_ylabel(f"row {row}")
        for place, panel in enumerate(axes.flat):
            panel.plot([0, 1], [0, 1], label=f"line {place}")
        fit(figure)
    return figure, axes


def corners(axes):
    return np.array([panel.get_position().bounds[:2] for panel in np.ravel(axes)]).round(3)


@pytest.mark.parametrize("columns", [3, 4])
def test_three_and_four_panels_of_a_column_stand_in_one_column(columns):
    figure, axes = grid(1, columns)
    x, y = corners(axes).T
    assert len(set(x)) == 1
    assert (np.diff(y) < 0).all()
    assert figure.get_size_inches()[0] == WIDTHS["column"]
    assert figure.get_size_inches()[1] > 1.4 * columns
    assert [panel.get_title() for panel in axes.flat] == [f"title {column}" for column in range(columns)]


def test_panels_that_are_wide_enough_stay_side_by_side():
    assert len(set(corners(grid(1, 2)[1])[:, 1])) == 1
    assert len(set(corners(grid(1, 4, style="text")[1])[:, 1])) == 1


def test_a_grid_is_read_row_by_row_and_every_panel_says_what_it_is():
    """Two rows of four become four rows of two; what a neighbour shows is not shown twice."""
    _, axes = grid(2, 4, sharex=True, sharey=True)
    x, y = corners(axes).T
    assert (x[::2] == x[0]).all()
    assert (x[1::2] > x[0]).all()
    assert (y[::2] == y[1::2]).all()
    assert [panel.get_title() for panel in axes[1]] == [f"title {column}" for column in range(4)]
    assert [panel.get_ylabel() for panel in axes.flat] == ["row 0", "", "row 0", "", "row 1", "", "row 1", ""]
    assert [panel.get_xlabel() for panel in axes.flat] == [""] * 6 + ["time"] * 2


def test_rows_of_three_stay_apart():
    """Two rows of three become two times two lines, the second with one panel."""
    _, axes = grid(2, 3, sharex=True, sharey=True)
    x, y = corners(axes).T
    assert x[0] == x[2] == x[3] == x[5] < x[1] == x[4]
    assert y[0] == y[1] > y[2] > y[3] == y[4] > y[5]
    assert [panel.get_xlabel() for panel in axes.flat] == ["", "time", "", "", "time", "time"]


def test_axes_that_are_not_shared_keep_their_numbers():
    figure, axes = grid(1, 3)
    figure.draw_without_rendering()
    assert [panel.get_ylabel() for panel in axes.flat] == ["row 0", "", ""]  # nobody knows what the others show
    for panel in axes.flat:
        assert any(label.get_text() and label.get_visible() for label in panel.get_yticklabels())


def test_figures_of_more_than_a_page_or_of_several_grids_are_left():
    assert len(set(corners(grid(6, 6)[1])[:, 0])) == 6
    figure = Figure(figsize=(9, 3), layout="constrained")
    places = figure.add_gridspec(2, 3)
    figure.add_subplot(places[:, 0])
    figure.add_subplot(places[0, 1:])
    assert stack(figure, 3.25) is None


def test_twin_axes_go_where_their_panel_goes():
    with house_style("column"):
        figure = Figure(figsize=(9, 3), layout="constrained")
        axes = figure.subplots(1, 3)
        twin = axes[2].twinx()
        fit(figure)
    assert twin.get_position().bounds == axes[2].get_position().bounds
    assert axes[2].get_position().y0 < axes[0].get_position().y0


def test_a_legend_of_the_figure_gets_fewer_columns_until_it_fits():
    with house_style("column"):
        figure = Figure(figsize=(9, 3), layout="constrained")
        axes = figure.subplots(1, 2)
        lines = [axes[0].plot([0, 1], label=f"a line of several words {place}")[0] for place in range(5)]
        legend = figure.legend(handles=lines, loc="outside lower center", ncols=5)
        fit(figure)
    figure.draw_without_rendering()
    assert legend.get_window_extent().width <= figure.bbox.width
    assert [text.get_text() for text in legend.get_texts()] == [line.get_label() for line in lines]
    entries = [len(column.get_children()) for column in legend._legend_handle_box.get_children()]
    assert sum(entries) == 5
    while drop_column(legend):
        pass
    assert len(legend._legend_handle_box.get_children()) == 1
