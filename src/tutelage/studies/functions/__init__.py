"""What networks are as functions (seed 004, chapter 2, and relatives). One file a study."""

from tutelage.discover import import_all

import_all(__name__, __path__)
