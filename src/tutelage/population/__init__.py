"""Training without samples: exact expectations over Gaussian inputs x ~ N(0, I), in float64, members stacked.

:func:`loss`, :func:`gradient` and :func:`hessian` of two-layer networks, with or without biases; :func:`flow`, the
gradient flow of the population loss, and :func:`end_point`, what its end is; :func:`order_parameters`, the equations of
online SGD in the limit of many dimensions, :func:`fluctuations`, the spread around them in finitely many,
:func:`online_sgd`, the simulation, and :func:`recorded_overlaps` of a training; :func:`method` says which of them is a
closed form. All take networks, or :class:`Units`, the rows of their first layer with their fan-outs. Other
inputs enter the equations of online SGD by :func:`covariance_of`. The simplified dynamics of Tian 2019, section 5, are
in :mod:`tutelage.population.simplified`.
"""

from tutelage.population.equivalent import covariance_of
from tutelage.population.erf_sums import ErfSum, erf_sum
from tutelage.population.exact import gradient, hessian, loss
from tutelage.population.expectations import Units, first_layer_gradient
from tutelage.population.flow import PopulationFlow, end_point, flow
from tutelage.population.fluctuations import OverlapFluctuations, fluctuations
from tutelage.population.methods import QUANTITIES, method
from tutelage.population.online_sgd import online_sgd
from tutelage.population.order_parameters import order_parameters
from tutelage.population.overlaps import Overlaps, OverlapTrajectory, overlaps, recorded_overlaps

__all__ = [
    "ErfSum",
    "QUANTITIES",
    "OverlapFluctuations",
    "OverlapTrajectory",
    "Overlaps",
    "PopulationFlow",
    "Units",
    "covariance_of",
    "end_point",
    "erf_sum",
    "first_layer_gradient",
    "flow",
    "fluctuations",
    "gradient",
    "hessian",
    "loss",
    "method",
    "online_sgd",
    "order_parameters",
    "overlaps",
    "recorded_overlaps",
]
