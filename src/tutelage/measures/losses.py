"""Losses on the training and the evaluation points."""

from torch import Tensor

from tutelage.measures import moments
from tutelage.measures.registry import measure_of
from tutelage.measures.snapshot import Snapshot


def half_squares(wanted: Tensor, got: Tensor) -> Tensor:
    """Squared error J = 1/2 E|f* - f|^2: the sum over outputs, the mean over samples (Tian 2020, eq. 2).

    Parameters
    ----------
    wanted, got
        Outputs [S, N, C] of teacher and student.

    Returns
    -------
    Tensor
        One loss per member, [S].
    """
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


@measure_of("member")
def cross_entropy(s: Snapshot) -> Tensor:
    """-E log p_y on the evaluation points, y the teacher's largest output and p the softmax of the student's."""
    wanted = s.teacher_activity.outputs.argmax(-1, keepdim=True)
    return -s.activity.outputs.log_softmax(-1).gather(-1, wanted).squeeze(-1).mean(1)


@measure_of("member")
def agreement(s: Snapshot) -> Tensor:
    """Share of the evaluation points on which the student's largest output is the teacher's."""
    same = s.teacher_activity.outputs.argmax(-1) == s.activity.outputs.argmax(-1)
    return same.to(s.evaluate.dtype).mean(1)
