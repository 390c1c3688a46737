"""Theorems about why distillation works (Phuong 2021, chapter 5)."""

from tutelage.discover import import_all

import_all(__name__, __path__)
