"""Networks with exits, trained by distillation (seed 004, chapter 6). One file a study."""

from tutelage.discover import import_all

import_all(__name__, __path__)
