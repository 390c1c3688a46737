"""Local convergence of mildly over-parameterised students (Zhou et al. 2021): exact losses, bounds, starts and
descent.
"""

from tutelage.local.adversary import basin_edge, flattest, slowest
from tutelage.local.descent import Descent, descend, descend_on_samples, lazy_rate
from tutelage.local.directions import direction
from tutelage.local.exact import gradient, hessian, loss, loss_and_gradient
from tutelage.local.grouping import groups
from tutelage.local.initialise import random_start, subspace_start
from tutelage.local.setting import LocalSetting
from tutelage.local.starts import local_students, separated_teachers

__all__ = [
    "Descent",
    "LocalSetting",
    "basin_edge",
    "descend",
    "descend_on_samples",
    "direction",
    "flattest",
    "gradient",
    "groups",
    "hessian",
    "lazy_rate",
    "local_students",
    "loss",
    "loss_and_gradient",
    "random_start",
    "separated_teachers",
    "slowest",
    "subspace_start",
]
