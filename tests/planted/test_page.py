"""The page of a leaderboard: everything in one file, and what a plugin names is text."""

import re

from tutelage.planted.leaderboard import Entry, Summary, board
from tutelage.planted.page import COLUMNS, write_page


def test_a_page_has_table_curves_and_failures(tmp_path):
    half = Summary(0.5, 0.25, 0.75, 8)
    scores = dict.fromkeys(COLUMNS, half) | {"coverage": Summary(None, None, None, 0)}
    curves = {"decay": [(0.0, half), (2.0, Summary(None, None, None, 0))], "activation": [("relu", half)]}
    entry = Entry("<b>mine</b>", "students", scores, {"trained": half}, curves, [1.0] * 10 + [None])
    page = write_page(tmp_path, board("smoke"), [entry], {"other": "the method 'other' fails <at line 3>"}).read_text()
    assert "&lt;b&gt;mine&lt;/b&gt;" in page
    assert "<b>mine" not in page
    assert "0.50 (0.25 to 0.75)" in page
    assert "fails &lt;at line 3&gt;" in page
    assert page.index("data:image/png;base64,") < page.index("<table")
    assert not re.search(r'(src|href)="http', page)
    assert "proves nothing" in page


def test_a_page_of_failures_alone(tmp_path):
    page = write_page(tmp_path, board("smoke"), [], {"mine": "it fails"}).read_text()
    assert "it fails" in page
    assert "<img" not in page
