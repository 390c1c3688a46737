"""Specialisation of students in two-layer networks (seeds 000, 001). One file a study."""

from tutelage.discover import import_all

import_all(__name__, __path__)
