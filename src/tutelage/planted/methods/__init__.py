"""The methods shipped as baselines: one file per family. Each is called as a user's method is."""

from tutelage.discover import import_all

import_all(__name__, __path__)
