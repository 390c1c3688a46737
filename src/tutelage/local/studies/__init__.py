"""Figures about convergence near the optimum (Zhou, Ge and Jin 2021): one file per study."""

from tutelage.discover import import_all

import_all(__name__, __path__)
