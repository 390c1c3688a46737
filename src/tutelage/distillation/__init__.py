"""Why distillation works: what a linear student learns from soft labels, and how fast (Phuong 2021, chapter 5)."""

from tutelage.distillation.bounds import best_bound, margin_bound, polynomial_bound, risk_bound
from tutelage.distillation.deep import balanced_start, guaranteed, limit
from tutelage.distillation.flows import StudentFlow, descent, flow, induced_flow, settle
from tutelage.distillation.learned import angle, learned, newton, unsigned_angle
from tutelage.distillation.learners import Distillation, HardTarget, Learner, Weakened
from tutelage.distillation.modules import Distilled, distil
from tutelage.distillation.outcomes import Monotonicity, TransferOutcome, monotonicity, outcome
from tutelage.distillation.outlook import Outlook, outlook
from tutelage.distillation.risk import disagreement, risk_at_angle
from tutelage.distillation.targets import Softening
from tutelage.distillation.tasks import DistillationTask, Empirical, Isotropic, LargeMargin, Polynomial
from tutelage.distillation.transfer import TransferSet

__all__ = [
    "Distillation",
    "DistillationTask",
    "Distilled",
    "Empirical",
    "HardTarget",
    "Isotropic",
    "LargeMargin",
    "Learner",
    "Monotonicity",
    "Outlook",
    "Polynomial",
    "Softening",
    "StudentFlow",
    "TransferOutcome",
    "TransferSet",
    "Weakened",
    "angle",
    "balanced_start",
    "best_bound",
    "descent",
    "disagreement",
    "distil",
    "flow",
    "guaranteed",
    "induced_flow",
    "learned",
    "limit",
    "margin_bound",
    "monotonicity",
    "newton",
    "outcome",
    "outlook",
    "polynomial_bound",
    "risk_at_angle",
    "risk_bound",
    "settle",
    "unsigned_angle",
]
