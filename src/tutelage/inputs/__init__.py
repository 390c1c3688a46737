"""Where inputs come from: laws with their training and evaluation points."""

from tutelage.inputs.inputs import Inputs, Law
from tutelage.inputs.laws import CorrelatedGaussian, Gaussian, Sphere, StudentT, Uniform
from tutelage.inputs.teacher_aware import TeacherAware

__all__ = ["CorrelatedGaussian", "Gaussian", "Inputs", "Law", "Sphere", "StudentT", "TeacherAware", "Uniform"]
