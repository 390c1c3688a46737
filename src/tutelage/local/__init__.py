"""Local convergence of mildly over-parameterised students (Zhou et al. 2021): exact losses, bounds, starts and
descent.
"""

from tutelage.local.adversary import Edge, Flattest, Slowest, basin_edge, flattest, slowest
from tutelage.local.descent import Descent, descend, descend_on_samples, lazy_rate
from tutelage.local.directions import Direction, direction
from tutelage.local.exact import gradient, hessian, loss, loss_and_gradient
from tutelage.local.grouping import StudentGroups, groups
from tutelage.local.initialise import random_start, samples, subspace_start
from tutelage.local.residuals import residual, second_moments, split, teacher_matrix
from tutelage.local.setting import LocalSetting
from tutelage.local.starts import local_students, normal_students, separated_teachers, split_students

__all__ = [
    "Descent",
    "Direction",
    "Edge",
    "Flattest",
    "LocalSetting",
    "Slowest",
    "StudentGroups",
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
    "normal_students",
    "random_start",
    "residual",
    "samples",
    "second_moments",
    "separated_teachers",
    "slowest",
    "split",
    "split_students",
    "subspace_start",
    "teacher_matrix",
]
