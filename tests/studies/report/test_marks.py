"""Strips and interval plots: places on a common scale, and what is infinite or was not measured."""

import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tutelage.studies.report.marks import SHADES, WIDTH, interval_plots, strip

NUMBERS = st.floats(-1e9, 1e9, allow_nan=False)


def row(measured, interval=None, expected="> 0", **changes):
    given = {
        "claim": "c", "setting": "", "verdict": "holds", "expected": expected, "measured": measured,
        "interval": interval, "n": 8, "exceptions": None, "standing": "paper", "why": "",
    }  # fmt: skip
    return given | changes


def places(plot):
    """Where the dot, the ends of the bar and the threshold stand."""
    dot = float(re.search(r'cx="([\d.]+)"', plot)[1])
    bar = re.search(r'class="interval" d="M([\d.]+) [\d.]+H([\d.]+)"', plot)
    threshold = re.search(r'class="threshold" d="M([\d.]+) ', plot)
    return dot, bar and (float(bar[1]), float(bar[2])), threshold and float(threshold[1])


@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS)
def test_what_is_larger_stands_further_to_the_right(low, point, high, threshold):
    low, point, high = sorted((low, point, high))
    dot, bar, line = places(interval_plots([row(point, [low, high], f"> {threshold}")])[0])
    assert bar[0] <= dot <= bar[1]
    assert (line < dot) <= (threshold <= point)
    assert all(0 <= place <= WIDTH for place in (dot, *bar, line))


def test_rows_of_a_claim_share_their_scale():
    first, second = interval_plots([row(1.0, expected="> 0"), row(4.0, expected="> 2")])
    x = np.array([places(first)[2], places(first)[0], places(second)[2], places(second)[0]])
    np.testing.assert_allclose(np.diff(x) / (x[3] - x[0]), [0.25, 0.25, 0.5], atol=1e-3)


def test_values_of_many_decades_are_drawn_by_their_logarithms():
    plots = interval_plots([row(1e-6, expected="< 1"), row(1e-3, expected="< 1")])
    (first, _, line), (second, _, _) = map(places, plots)
    assert abs((second - first) - (line - second)) < 0.2
    assert "logarithmic" in plots[0]


def test_exceptions_are_drawn_as_a_share_without_a_threshold():
    (plot,) = interval_plots([row(0.5, [0.1, 0.6], "> 0.7", exceptions=2)])
    dot, bar, line = places(plot)
    assert line is None
    assert bar[0] < dot < bar[1]
    assert abs((dot - bar[0]) / (bar[1] - bar[0]) - (2 / 8 - 0.1) / 0.5) < 0.01


def test_what_was_not_measured_is_not_drawn_and_what_is_infinite_stands_at_the_edge():
    assert interval_plots([row(None)]) == [""]
    assert places(interval_plots([row(np.inf)])[0])[0] == WIDTH - 1


def test_a_strip_goes_from_good_to_bad_and_is_escaped():
    text = strip([row(1.0, verdict="fails", why="refuted"), row(1.0, claim="<b>")])
    assert re.findall(r'class="v-([a-z-]+)"', text) == ["holds", "refuted"]
    assert "&lt;b&gt;" in text
    assert "1 holds, 1 refuted" in text
    assert len(set(SHADES)) == len(SHADES)
