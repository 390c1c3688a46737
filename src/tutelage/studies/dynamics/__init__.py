"""Dynamics and alignment without samples (seed 002, and section 5 of seed 001). One file a study."""

from tutelage.discover import import_all

import_all(__name__, __path__)
