"""Losses on the training and the evaluation points."""

from torch import Tensor

from tutelage.measures import moments
from tutelage.measures.registry import measure_of
from tutelage.measures.snapshot import Snapshot


def half_squares(wanted: Tensor, got: Tensor) -> Tensor:
    r"""J = 1/2 E|f* - f|^2, the sum over outputs and the mean over samples (000, eq. 2): [S, N, C] twice -> [S]."""
    return (wanted - got).square_().flatten(1).sum(1) / (2 * wanted.shape[1])


@measure_of("member")
def evaluate_loss(s: Snapshot) -> Tensor:
    """J on the evaluation points."""
    if moments.applies(s):
        return moments.losses(s)
    return half_squares(s.teacher_activity.outputs, s.activity.outputs)


@measure_of("member")
def train_loss(s: Snapshot) -> Tensor:
    """J on the training points."""
    return half_squares(s.teacher_training_activity.outputs, s.training_activity.outputs)


@measure_of("member")
def label_power(s: Snapshot) -> Tensor:
    """1/2 E|f* - E f*|^2 on the evaluation points: the loss of the best constant, a yardstick for the others."""
    wanted = s.teacher_activity.outputs
    return half_squares(wanted, wanted.mean(1, keepdim=True))
