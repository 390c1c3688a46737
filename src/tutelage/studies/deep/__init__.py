"""Deep, convolutional and other students (seeds 000 and 001 beyond two layers). One file a study."""

from tutelage.discover import import_all

import_all(__name__, __path__)
