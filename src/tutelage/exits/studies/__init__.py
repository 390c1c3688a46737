"""Figures about networks that can answer early (Phuong 2021, chapter 6): one file per study."""

from tutelage.discover import import_all

import_all(__name__, __path__)
