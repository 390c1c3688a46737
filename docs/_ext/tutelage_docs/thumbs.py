"""Thumbnails of figures: the panel with the most in it, cut out of a stored picture, instead of twelve tiny ones."""

from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from tutelage_docs.stored import GalleryStudy

SIZE = (400, 260)
GAP = 0.005
"""White between panels, as a share of the longer side. It cuts off tick labels, which a thumbnail can do without."""
LEAST = 0.12
"""Share of the figure, in each direction, below which a piece is a title or a legend and no panel."""

Rect = tuple[int, int, int, int]
"""Left, top, right, bottom."""


def panels(ink: np.ndarray) -> list[Rect]:
    """The rectangles between white gaps that run through the whole figure, or through what an earlier gap left.

    Parameters
    ----------
    ink
        True where a pixel is not white, [height, width].

    Returns
    -------
    list of (left, top, right, bottom)
        In reading order, without what is too small for a panel; the whole picture where nothing is left.
    """
    gap, (height, width) = round(GAP * max(ink.shape)), ink.shape
    pieces = _cut(ink, (0, 0, width, height), gap)
    large = [(a, b, c, d) for a, b, c, d in pieces if c - a > LEAST * width and d - b > LEAST * height]
    return large or [(0, 0, width, height)]


def _cut(ink: np.ndarray, rect: Rect, gap: int) -> list[Rect]:
    left, top, right, bottom = rect
    for axis in (1, 0):  # rows of panels first, then the panels of a row
        inked = ink[top:bottom, left:right].any(axis=axis)
        runs = _runs(inked, gap)
        if len(runs) > 1:
            parts = [(left, top + a, right, top + b) if axis else (left + a, top, left + b, bottom) for a, b in runs]
            return [piece for part in parts for piece in _cut(ink, part, gap)]
    return [rect]


def _runs(inked: np.ndarray, gap: int) -> list[tuple[int, int]]:
    """Stretches of True, joined across fewer than ``gap`` of False.

    >>> _runs(np.array([0, 1, 1, 0, 1, 0, 0, 0, 1], bool), 2)
    [(1, 5), (8, 9)]
    """
    places = np.flatnonzero(inked)
    if not len(places):
        return []
    breaks = np.flatnonzero(np.diff(places) > gap)
    starts, ends = [places[0], *places[breaks + 1]], [*places[breaks], places[-1]]
    return [(int(a), int(b) + 1) for a, b in zip(starts, ends, strict=True)]


def thumbnail(figure: Image.Image) -> Image.Image:
    """The panel with the most colour in it, scaled to twice :data:`SIZE` at most."""
    small = figure.convert("RGB")
    values = np.asarray(small)
    ink, colour = values.min(axis=2) < 250, np.ptp(values.astype(np.int16), axis=2) > 40
    best = max(panels(ink), key=lambda r: (colour[r[1] : r[3], r[0] : r[2]].sum(), -r[1], -r[0]))
    cut = ImageOps.expand(small.crop(best), border=8, fill="white")
    cut.thumbnail((2 * SIZE[0], 2 * SIZE[1]))
    return cut.quantize(64)


def write(folder: Path, studies: list[GalleryStudy]) -> None:
    """Thumbnails of the results that are shown first, in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for study in studies:
        if study.first is not None:
            with Image.open(study.first.folder / "figure.png") as figure:
                thumbnail(figure).save(folder / f"{study.name}.png", optimize=True)
