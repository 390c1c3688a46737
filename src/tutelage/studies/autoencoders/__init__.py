"""Representations with the information that was asked for (paper 004, chapter 4). One file per study."""

from tutelage.discover import import_all

import_all(__name__, __path__)
