"""Networks with exits, trained by distillation (paper 004, chapter 6). One file per study."""

from tutelage.discover import import_all

import_all(__name__, __path__)
