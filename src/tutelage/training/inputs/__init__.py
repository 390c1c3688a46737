"""Where inputs come from: laws with their training and evaluation points."""

from tutelage.discover import import_all
from tutelage.training.inputs.inputs import Inputs, Law
from tutelage.training.inputs.laws import CorrelatedGaussian, Gaussian, Sphere, StudentT, Uniform
from tutelage.training.inputs.teacher_aware import TeacherAware

import_all(__name__, __path__)

__all__ = ["CorrelatedGaussian", "Gaussian", "Inputs", "Law", "Sphere", "StudentT", "TeacherAware", "Uniform"]
