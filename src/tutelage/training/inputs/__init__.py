"""Where inputs come from: distributions with their training and evaluation points."""

from tutelage.discover import import_all
from tutelage.training.inputs.distributions import CorrelatedGaussian, Gaussian, Sphere, StudentT, Uniform
from tutelage.training.inputs.inputs import Distribution, Inputs
from tutelage.training.inputs.teacher_aware import TeacherAware

import_all(__name__, __path__)

__all__ = ["CorrelatedGaussian", "Gaussian", "Inputs", "Distribution", "Sphere", "StudentT", "TeacherAware", "Uniform"]
