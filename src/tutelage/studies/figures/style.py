"""One house style for every figure: plain, readable in print and in colour-blindness, saved as PNG and PDF."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from cycler import cycler
from matplotlib.figure import Figure

from tutelage.files import write_atomically

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


@contextmanager
def house_style() -> Iterator[None]:
    """Everything drawn inside looks like ours."""
    with mpl.rc_context(_STYLE):
        yield


def save(figure: Figure, folder: Path, name: str = "figure") -> None:
    """Write NAME.png and NAME.pdf, each complete or absent."""
    for suffix in ("png", "pdf"):
        buffer = io.BytesIO()
        metadata = {"CreationDate": None} if suffix == "pdf" else None  # the same figure has the same bytes
        figure.savefig(buffer, format=suffix, metadata=metadata)
        write_atomically(folder / f"{name}.{suffix}", buffer.getvalue())
