"""Figures in one house style."""

from tutelage.studies.figures.panels import band, panel_grid
from tutelage.studies.figures.style import PALETTE, house_style

__all__ = ["PALETTE", "band", "house_style", "panel_grid"]
