"""Panels carry their labels at the margins, bands their mean and spread."""

import numpy as np
from matplotlib.figure import Figure

from tutelage.studies.figures import band, error_bars, panel_grid
from tutelage.studies.figures.panels import strength_bar, strength_colours
from tutelage.studies.intervals import mean_interval


def test_a_grid_is_labelled_at_its_margins():
    figure, axes = panel_grid(["p = 0", "p = 1"], ["1x", "2x", "5x"], "x", "y")
    assert axes.shape == (2, 3)
    assert [a.get_title() for a in axes[0]] == ["1x", "2x", "5x"]
    assert [a.get_ylabel() for a in axes[:, 0]] == ["p = 0\ny", "p = 1\ny"]
    assert axes[0, 1].get_xlabel() == ""
    assert axes[1, 1].get_xlabel() == "x"
    strength_bar(figure, axes, 5)
    assert len(figure.axes) == 7


def test_a_band_shows_mean_and_deviation_and_skips_diverged_members():
    axes = Figure().subplots()
    values = np.array([[1.0, 3.0, np.nan], [2.0, 4.0, np.nan]])
    band(axes, np.array([0, 1]), values, "#000000", "label")
    assert axes.lines[0].get_ydata().tolist() == [2.0, 3.0]
    assert len(axes.collections) == 1


def test_error_bars_are_standard_errors_of_the_mean():
    axes = Figure().subplots()
    error_bars(axes, [1, 2], np.array([[1.0, 2.0, 3.0], [4.0, 4.0, 4.0]]), "#000000", "label")
    bars = axes.containers[0]
    assert bars[0].get_ydata().tolist() == [2.0, 4.0]
    (low, high), (same, again) = (segment[:, 1] for segment in bars[2][0].get_segments())
    np.testing.assert_allclose([low, high], [2 - 1 / 3**0.5, 2 + 1 / 3**0.5])
    assert same == again == 4.0


def test_error_bars_end_where_the_interval_of_a_verdict_ends():
    axes, values = Figure().subplots(), np.array([[1.0, 2.0, 3.0, 5.0]])
    error_bars(axes, [1], values, "#000000", "label", whole_interval=True)
    [segment] = axes.containers[0][2][0].get_segments()
    interval = mean_interval(values[0], (-np.inf, np.inf))
    np.testing.assert_allclose(segment[:, 1], [interval.low, interval.high])


def test_strength_colours_are_distinct():
    assert len({tuple(c) for c in strength_colours(20)}) == 20
