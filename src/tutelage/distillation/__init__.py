"""Why does distillation work: what does a linear student learn from soft labels, and how fast (Phuong 2021, chapter 5)?

Start with :class:`Polynomial` (a task), :func:`flow` (gradient flow of deep linear students, exact) and :func:`distil`
(any torch module into any other).

To read, in this order: :mod:`.transfer` and :mod:`.tasks` (inputs and teachers), :mod:`.cross_entropy`, :mod:`.flows`,
:mod:`.deep` (where students end), :mod:`.risk` and :mod:`.bounds`, :mod:`.learners`, :mod:`.modules` and
:mod:`.outlook` (distillation of one's own networks).
"""

from tutelage.distillation.bounds import best_bound
from tutelage.distillation.deep import balanced_start, guaranteed, limit
from tutelage.distillation.flows import flow
from tutelage.distillation.learners import (
    Distillation,
    HardTarget,
    Weakened,
    angle,
    learned,
    newton,
)
from tutelage.distillation.modules import distil
from tutelage.distillation.outlook import Outlook, monotonicity, outcome, outlook
from tutelage.distillation.targets import Softening
from tutelage.distillation.tasks import Empirical, Isotropic, LargeMargin, Polynomial
from tutelage.distillation.transfer import TransferSet

__all__ = [
    "Distillation",
    "Empirical",
    "HardTarget",
    "Isotropic",
    "LargeMargin",
    "Outlook",
    "Polynomial",
    "Softening",
    "TransferSet",
    "Weakened",
    "angle",
    "balanced_start",
    "best_bound",
    "distil",
    "flow",
    "guaranteed",
    "learned",
    "limit",
    "monotonicity",
    "newton",
    "outcome",
    "outlook",
]
