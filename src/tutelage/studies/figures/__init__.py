"""Figures in one house style."""

from tutelage.studies.figures.panels import band, draw_matches, error_bars, panel_grid
from tutelage.studies.figures.style import PALETTE, house_style

__all__ = ["PALETTE", "band", "draw_matches", "error_bars", "house_style", "panel_grid"]
