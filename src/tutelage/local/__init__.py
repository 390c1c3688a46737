"""Local convergence of mildly over-parameterised students (Zhou et al. 2021): exact losses, bounds, starts and
descent.
"""

from tutelage.local.adversary import Edge, Flattest, Slowest, basin_edge, flattest, slowest
from tutelage.local.descent import (
    Descent,
    descend,
    descend_on_samples,
    greatest_rate,
    lazy_rate,
    stochastic_gradient,
    usual_rate,
)
from tutelage.local.directions import Direction, direction
from tutelage.local.exact import gradient, gradient_norm, hessian, loss, loss_and_gradient
from tutelage.local.grouping import StudentGroups, groups
from tutelage.local.initialise import random_start, samples, subspace_start
from tutelage.local.residuals import least_eigenvalue, residual, second_moments, split, teacher_matrix
from tutelage.local.setting import LocalSetting, effective, ineffective
from tutelage.local.starts import (
    lazy_students,
    local_students,
    normal_students,
    opposite_pair,
    plane_teachers,
    separated_teachers,
    split_students,
)

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
    "effective",
    "flattest",
    "gradient",
    "gradient_norm",
    "greatest_rate",
    "groups",
    "hessian",
    "ineffective",
    "lazy_rate",
    "lazy_students",
    "least_eigenvalue",
    "local_students",
    "loss",
    "loss_and_gradient",
    "normal_students",
    "opposite_pair",
    "plane_teachers",
    "random_start",
    "residual",
    "samples",
    "second_moments",
    "separated_teachers",
    "slowest",
    "split",
    "split_students",
    "stochastic_gradient",
    "subspace_start",
    "teacher_matrix",
    "usual_rate",
]
