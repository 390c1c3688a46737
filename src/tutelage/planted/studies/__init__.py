"""Studies of methods on planted teachers: one file per study."""

from tutelage.discover import import_all

import_all(__name__, __path__)
