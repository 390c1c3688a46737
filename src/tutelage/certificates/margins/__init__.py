"""Seed 004, chapter 3 as code: what is said of data, of the flow, and of where it ends."""

from tutelage.certificates.margins.registry import MARGINS, margin_certificate
from tutelage.certificates.margins.scene import MarginScene
from tutelage.discover import import_all

import_all(__name__, __path__)

__all__ = ["MARGINS", "MarginScene", "margin_certificate"]
