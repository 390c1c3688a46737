"""Representations with the information that was asked for (seed 004, chapter 4). One file a study."""

from tutelage.discover import import_all

import_all(__name__, __path__)
