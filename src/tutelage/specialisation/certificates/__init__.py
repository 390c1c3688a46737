"""Theorems about which teacher units students recover (Tian 2019 and 2020)."""

from tutelage.discover import import_all

import_all(__name__, __path__)
