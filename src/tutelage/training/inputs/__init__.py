"""Where inputs come from: laws with their training and evaluation points."""

from tutelage.training.inputs.inputs import Inputs, Law
from tutelage.training.inputs.laws import CorrelatedGaussian, Gaussian, Sphere, StudentT, Uniform
from tutelage.training.inputs.teacher_aware import TeacherAware

__all__ = ["CorrelatedGaussian", "Gaussian", "Inputs", "Law", "Sphere", "StudentT", "TeacherAware", "Uniform"]
