"""Training without samples: exact expectations over Gaussian inputs x ~ N(0, I), in float64, members stacked.

:func:`loss`, :func:`gradient` and :func:`hessian` of two-layer networks, with or without biases; :func:`flow`, the
gradient flow of the population loss, and :func:`end_point`, what its end is; :func:`order_parameters`, the equations of
online SGD in the limit of many dimensions, and :func:`online_sgd`, the simulation. All take networks, or
:class:`Units`, the rows of their first layer with their fan-outs. The simplified dynamics of Tian 2019, section 5, are
in :mod:`tutelage.population.simplified`.
"""

from tutelage.population.erf_sums import ErfSum, erf_sum
from tutelage.population.exact import gradient, hessian, loss
from tutelage.population.expectations import Units, first_layer_gradient
from tutelage.population.flow import PopulationFlow, end_point, flow
from tutelage.population.order_parameters import online_sgd, order_parameters

__all__ = [
    "ErfSum",
    "PopulationFlow",
    "Units",
    "end_point",
    "erf_sum",
    "first_layer_gradient",
    "flow",
    "gradient",
    "hessian",
    "loss",
    "online_sgd",
    "order_parameters",
]
