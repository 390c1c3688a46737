"""Theorems about codes with the information asked for (Phuong 2021, chapter 4)."""

from tutelage.discover import import_all

import_all(__name__, __path__)
