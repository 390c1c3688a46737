"""Theorems about which network training picks (Phuong 2021, chapter 3)."""

from tutelage.discover import import_all

import_all(__name__, __path__)
