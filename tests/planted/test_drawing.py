"""Pictures: one panel per dial and one for precision; all methods in the legend."""

from tutelage.planted.drawing import draw_entries
from tutelage.planted.leaderboard import Entry, Summary


def test_panels_and_legend():
    half = Summary(0.5, 0.25, 0.75, 8)
    curves = {"decay": [(0.0, half), (1.0, half)], "steps": [(1, half), (2, Summary(0.4, None, None, 1))]}
    entries = [Entry(name, "students", {}, {}, curves, [1.0] * 11) for name in ("a", "b")]
    figure = draw_entries(entries)
    shown = [panel for panel in figure.axes if panel.get_visible()]
    assert [panel.get_xlabel() for panel in shown] == ["strength decay p", "training steps", "recall"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "b"]
    assert [label.get_text() for label in shown[1].get_xticklabels()] == ["1", "2"]
