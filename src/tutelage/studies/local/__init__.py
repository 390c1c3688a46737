"""Local convergence of mildly over-parameterised students (seed 003). One file a study."""

from tutelage.discover import import_all

import_all(__name__, __path__)
