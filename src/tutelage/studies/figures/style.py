"""One house style for every figure: plain, readable in print and in colour-blindness, saved as PNG and PDF."""

import io
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import isclose
from pathlib import Path
from typing import Any

import matplotlib as mpl
from cycler import cycler
from matplotlib.figure import Figure
from matplotlib.font_manager import font_scalings
from matplotlib.text import Text

from tutelage.errors import TutelageError
from tutelage.files import write_atomically
from tutelage.settings import one_line
from tutelage.studies.figures.stacking import drop_column, stack

PALETTE = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000")
"""Okabe and Ito's colours, distinct for the common kinds of colour-blindness."""

STRONG_TO_WEAK = "viridis"
"""Colour map for teacher units in the order of their strength, dark for the strongest."""

_STYLE: Any = {
    "figure.dpi": 100,
    "savefig.dpi": 160,
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "lines.linewidth": 1.4,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "axes.prop_cycle": cycler(color=PALETTE),
    "pdf.fonttype": 42,
    "svg.hashsalt": "tutelage",
}


Style = str | Path | Mapping[str, Any]
"""A matplotlib style: its name, a style file, or rcParams; or the name of a width of a paper."""

WIDTHS = {"column": 3.25, "text": 6.75}
"""Widths of a paper in inches: one of two columns, and the whole text. Figures of a width have letters of 8 points."""

_WIDTH_PARAMETERS = {"font.size": 8, "lines.linewidth": 1.1, "savefig.dpi": 300}
_SCALED: tuple[Any, ...] = ("axes.titlesize", "axes.labelsize", "legend.fontsize")
_NATURAL = tuple(mpl.rcParamsDefault["figure.figsize"])  # a style that says no size leaves a figure as it was drawn


@contextmanager
def house_style(style: Style | None = None) -> Iterator[None]:
    """Draw everything inside in the house style, changed by a style of the user.

    Parameters
    ----------
    style
        Name of a matplotlib style, path of a style file (``.mplstyle``), a mapping of rcParams, or "column" or "text",
        the widths of a paper (:data:`WIDTHS`). It is applied on top of the house style, so a style that sets only the
        fonts keeps the rest.

    Raises
    ------
    TutelageError
        If there is no such style, or a mapping has an unknown or invalid parameter.
    """
    with mpl.rc_context(_STYLE):
        if style is not None:
            _apply(style)
        yield


def check_style(style: Style | None) -> None:
    """Raise an error where a style cannot be used, before anything is computed."""
    with house_style(style):
        pass


def _apply(style: Style) -> None:
    from matplotlib import style as styles

    if isinstance(style, str) and style in WIDTHS:
        style = _WIDTH_PARAMETERS | {"figure.figsize": (WIDTHS[style], 0.0)}
    house = {name: mpl.rcParams[name] for name in _SCALED}
    try:
        styles.use(dict(style) if isinstance(style, Mapping) else str(style))
    except (OSError, ValueError, KeyError) as error:
        if isinstance(style, Mapping):
            raise TutelageError(
                f"style has an invalid parameter ({one_line(str(error))}): see matplotlib.rcParams"
            ) from None
        why = "is neither a matplotlib style nor a file" if isinstance(error, OSError) else f"({one_line(str(error))})"
        raise TutelageError(
            f"style '{style}' {why}: see matplotlib.style.available, or give a .mplstyle file, column or text"
        ) from None
    for name, size in house.items():
        if mpl.rcParams[name] == size:  # the style says only font.size: what the house has of the rest goes with it
            mpl.rcParams[name] = size * _letters()


def _letters() -> float:
    """Size of the letters of the style in force over that of the house style."""
    return float(mpl.rcParams["font.size"] / _STYLE["font.size"])


def fit(figure: Figure) -> None:
    """Give a figure that was drawn in :func:`house_style` the size of that style, and letters of sizes of their own.

    A style with ``figure.figsize`` sets width and height. A height of 0, as of the named widths, is the height that was
    drawn times the square root of the factor of the width: letters do not shrink with the width, so panels that shrank
    as much in both directions would be too low to read. Panels that would be too narrow are stacked instead.
    """
    _scale_letters(figure)
    width, height = map(float, mpl.rcParams["figure.figsize"])
    if (width, height) != _NATURAL:
        drawn_width, drawn_height = figure.get_size_inches()
        stacked = None if height else stack(figure, width)
        figure.set_size_inches(width, height or stacked or (drawn_height or width) * (width / drawn_width) ** 0.5)
        _wrap(figure)


def _scale_letters(figure: Figure) -> None:
    """Scale letters of sizes of their own by what the style has made of the house style's letters."""
    if _letters() == 1:
        return
    # Sizes that the style gave have changed already: those of its own parameters, and those relative to font.size.
    given = [mpl.rcParams["font.size"] * scale for scale in font_scalings.values()]
    given += [size for name in _SCALED if isinstance(size := mpl.rcParams[name], float)]
    for text in figure.findobj(Text):
        now = float(text.get_fontsize())
        if not any(isclose(now, size) for size in given):
            text.set_fontsize(now * _letters())


def _wrap(figure: Figure) -> None:
    """Break titles, labels and legends that are longer than what they belong to has become; formulas stay whole."""
    figure.draw_without_rendering()  # finds the layout, and with it the sizes
    for legend in figure.legends:
        while legend.get_window_extent().width > figure.bbox.width and drop_column(legend):
            figure.draw_without_rendering()
    for axes in figure.axes:
        room = axes.get_window_extent()
        for text in (axes.title, axes.xaxis.label):
            _break(text, text.get_window_extent().width / room.width)
        _break(axes.yaxis.label, axes.yaxis.label.get_window_extent().height / room.height)


def _break(text: Text, size: float) -> None:
    """Break one line that is so many times as long as its room."""
    if len(text.get_text().splitlines()) != 1 or size <= 1:
        return
    words = re.findall(r"(?:\$[^$]*\$|\S)+", text.get_text())
    length = max(1, int(len(text.get_text()) / size))
    broken = [""]
    for word in words:
        fits = not broken[-1] or len(broken[-1]) + 1 + len(word) <= length
        broken[-1:] = [f"{broken[-1]} {word}".strip()] if fits else [broken[-1], word]
    text.set_text("\n".join(broken))


def save(figure: Figure, folder: Path, name: str = "figure") -> None:
    """Write NAME.png and NAME.pdf, each complete or absent; the PDF has the layout that was found for the PNG."""
    layout = figure.get_layout_engine()
    try:
        for suffix in ("png", "pdf"):
            buffer = io.BytesIO()
            metadata = {"CreationDate": None} if suffix == "pdf" else None  # the same figure has the same bytes
            figure.savefig(buffer, format=suffix, metadata=metadata)
            figure.set_layout_engine("none")
            write_atomically(folder / f"{name}.{suffix}", buffer.getvalue())
    finally:
        figure.set_layout_engine(layout)
