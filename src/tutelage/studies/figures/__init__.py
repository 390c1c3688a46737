"""Figures in one house style."""

from tutelage.studies.figures.panels import band, draw_matches, error_bars, panel_grid, strength_bar, strength_colours
from tutelage.studies.figures.style import PALETTE, check_style, house_style, save

__all__ = [
    "PALETTE",
    "band",
    "check_style",
    "draw_matches",
    "error_bars",
    "house_style",
    "panel_grid",
    "save",
    "strength_bar",
    "strength_colours",
]
