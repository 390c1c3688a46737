"""What a linear student learns from soft labels, and how fast (seed 004, chapter 5). One file a study."""

from tutelage.discover import import_all

import_all(__name__, __path__)
