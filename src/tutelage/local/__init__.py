"""Does an over-parameterised student near its teacher converge, and how fast (Zhou et al. 2021)?

Everything is exact under x ~ N(0, I), with small relative errors down to losses of 1e-25. Start with
:class:`LocalSetting` (teachers and students), :func:`descend` and
``tutelage.certify("lojasiewicz", setting)``.

To read, in this order: :mod:`.setting`, :mod:`.exact` (loss and gradient), :mod:`.grouping` and :mod:`.residuals` (what
students of a teacher amount to), :mod:`.slab` and :mod:`.hermite` (test functions), :mod:`.directions`, :mod:`.bounds`,
:mod:`.descent`, :mod:`.starts` and :mod:`.initialise`, :mod:`.adversary` (searches for what would break the theory).
"""

from tutelage.local.adversary import basin_edge, flattest, slowest
from tutelage.local.descent import descend, descend_on_samples, descend_on_set, lazy_rate
from tutelage.local.directions import direction
from tutelage.local.exact import gradient, hessian, loss, loss_and_gradient
from tutelage.local.grouping import groups
from tutelage.local.initialise import random_start, subspace_start
from tutelage.local.setting import LocalSetting
from tutelage.local.starts import local_students, separated_teachers

__all__ = [
    "LocalSetting",
    "basin_edge",
    "descend",
    "descend_on_samples",
    "descend_on_set",
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
