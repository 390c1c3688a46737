"""One house style for every figure: plain, readable in print and in colour-blindness, saved as PNG and PDF."""

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from cycler import cycler
from matplotlib.figure import Figure

from tutelage.errors import TutelageError
from tutelage.files import write_atomically
from tutelage.settings import one_line

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
"""A matplotlib style: its name, a style file, or rcParams."""


@contextmanager
def house_style(style: Style | None = None) -> Iterator[None]:
    """Draw everything inside in the house style, changed by a style of the user.

    Parameters
    ----------
    style
        Name of a matplotlib style, path of a style file (``.mplstyle``), or a mapping of rcParams. It is applied on top
        of the house style, so a style that sets only the fonts keeps the rest.

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

    try:
        styles.use(dict(style) if isinstance(style, Mapping) else str(style))
    except (OSError, ValueError, KeyError) as error:
        if isinstance(style, Mapping):
            raise TutelageError(
                f"style has an invalid parameter ({one_line(str(error))}): see matplotlib.rcParams"
            ) from None
        why = "is neither a matplotlib style nor a file" if isinstance(error, OSError) else f"({one_line(str(error))})"
        raise TutelageError(
            f"style '{style}' {why}: see matplotlib.style.available, or give a .mplstyle file"
        ) from None


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
