"""Seed 004, chapter 5 as code: what is said of the loss, of the flow, of angles and of the transfer risk."""

from tutelage.certificates.distillation.registry import DISTILLATION, distillation_certificate
from tutelage.certificates.distillation.scene import DistillationScene
from tutelage.discover import import_all

import_all(__name__, __path__)

__all__ = ["DISTILLATION", "DistillationScene", "distillation_certificate"]
