"""Training without samples: exact expectations over Gaussian inputs, in float64, members stacked.

Loss, gradient and Hessian of two-layer networks (:mod:`.expectations`, :mod:`.biased`, :mod:`.biased_hessian`), the
gradient flow (:mod:`.flow`), the equations of order parameters under online SGD (:mod:`.order_parameters`) and online
SGD itself (:mod:`.online`).
"""

from tutelage.population.expectations import Units, first_layer_gradient, loss, units_of
from tutelage.population.flow import PopulationFlow, end_point, flow
from tutelage.population.online import online_sgd
from tutelage.population.order_parameters import online, overlaps

__all__ = [
    "PopulationFlow",
    "Units",
    "end_point",
    "first_layer_gradient",
    "flow",
    "loss",
    "online",
    "online_sgd",
    "overlaps",
    "units_of",
]
