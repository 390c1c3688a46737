"""Theorems about convergence near the optimum (Zhou, Ge and Jin 2021)."""

from tutelage.discover import import_all

import_all(__name__, __path__)
