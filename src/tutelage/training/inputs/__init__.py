"""Where inputs come from: distributions with their training and evaluation points."""

from tutelage.discover import import_all
from tutelage.training.inputs.distributions import CorrelatedGaussian, Gaussian, Sphere, StudentT, Uniform
from tutelage.training.inputs.given import PointsFile, from_loader, from_tensors
from tutelage.training.inputs.inputs import Distribution, Inputs
from tutelage.training.inputs.structured import GaussianCovariance, HiddenManifold, Hypercube, Mixture
from tutelage.training.inputs.teacher_aware import TeacherAware

import_all(__name__, __path__)

__all__ = [
    "CorrelatedGaussian",
    "Distribution",
    "Gaussian",
    "GaussianCovariance",
    "HiddenManifold",
    "Hypercube",
    "Inputs",
    "Mixture",
    "PointsFile",
    "Sphere",
    "StudentT",
    "TeacherAware",
    "Uniform",
    "from_loader",
    "from_tensors",
]
