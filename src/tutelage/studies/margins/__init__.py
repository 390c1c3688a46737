"""Which network gradient flow picks on orthogonally separable data (seed 004, chapter 3). One file a study."""

from tutelage.discover import import_all

import_all(__name__, __path__)
