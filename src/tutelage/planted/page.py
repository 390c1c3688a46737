"""A leaderboard as one page of HTML without anything fetched from elsewhere."""

import base64
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from tutelage.files import write_atomically
from tutelage.planted.leaderboard import Board, Entry, Summary, ranked
from tutelage.planted.scores import SCORES

COLUMNS = ("recall", "average_precision", "chance", "calibration_error", "coverage", "count_bias", "invariance")
"""Scores of the table, in order."""
ABOUT = SCORES | {"invariance": "overlap of the units found after changes of the weights alone"}
SEEN = {"students": "the students", "twins": "and twins", "teacher": "and the teacher", "truth": "the truth"}


def write_page(folder: Path, board: Board, entries: Sequence[Entry], failures: Mapping[str, str]) -> Path:
    """Write the page of a leaderboard: the table, the power curves, what the scores are, and what failed.

    Parameters
    ----------
    folder
        Where ``planted.html`` is written.
    board
        The experiments.
    entries
        One per method.
    failures
        One sentence by name of a method that could not be scored.

    Returns
    -------
    Path
    """
    template = Environment(loader=PackageLoader("tutelage.planted", "."), autoescape=True, undefined=StrictUndefined)
    template.filters |= {"cell": cell}
    text = template.get_template("page.html.j2").render(
        scale=board.scale,
        members=board.base.members,
        difficulty=board.base.difficulty,
        entries=ranked(entries),
        columns=COLUMNS,
        about=ABOUT,
        failures=failures,
        picture=picture(ranked(entries)) if entries else "",
    )
    write_atomically(folder / "planted.html", text)
    return folder / "planted.html"


def picture(entries: Sequence[Entry]) -> str:
    """The figure as base64."""
    from tutelage.planted.drawing import draw_entries
    from tutelage.studies.figures import house_style  # the studies know this package

    buffer = io.BytesIO()
    with house_style():
        draw_entries(entries).savefig(buffer, format="png")
    return base64.b64encode(buffer.getvalue()).decode()


def cell(summary: Summary) -> str:
    """A mean with its interval for a table.

    >>> cell(Summary(0.5, 0.25, 0.75, 8)), cell(Summary(None, None, None, 0)), cell(Summary(1.0, None, None, 1))
    ('0.50 (0.25 to 0.75)', '-', '1.00')
    """
    mean = short(summary.mean)
    return mean if summary.low is None else f"{mean} ({summary.low:.2f} to {summary.high:.2f})"


def short(mean: float | None) -> str:
    """A mean in two digits; nothing measured is a dash."""
    return "-" if mean is None else f"{mean:.2f}"
