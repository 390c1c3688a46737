"""Theorems about students of one teacher in the plane (Zhu et al. 2021)."""

from tutelage.discover import import_all

import_all(__name__, __path__)
