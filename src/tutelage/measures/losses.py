"""Losses on the training and the evaluation points."""

import torch
from torch import Tensor
from torch.nn import functional

from tutelage.measures import moments
from tutelage.measures.registry import measure_of
from tutelage.measures.snapshot import Snapshot
from tutelage.networks import backward


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

    Examples
    --------
    >>> half_squares(torch.ones(1, 4, 2), torch.zeros(1, 4, 2))
    tensor([1.])
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
    """-E log p_y on the evaluation points, y the teacher's class and p the student's probabilities.

    Of several outputs the largest is the class, and p their softmax; of one output its sign, and p the sigmoid.
    """
    wanted, got = _classes(s.teacher_activity.outputs), s.activity.outputs
    if got.shape[-1] == 1:
        return functional.softplus(torch.where(wanted == 1, -got, got)).mean((1, 2))
    return -got.log_softmax(-1).gather(-1, wanted).squeeze(-1).mean(1)


@measure_of("member")
def agreement(s: Snapshot) -> Tensor:
    """Share of the evaluation points on which the student's class is the teacher's: the largest of several outputs, the
    sign of one.
    """
    same = _classes(s.teacher_activity.outputs) == _classes(s.activity.outputs)
    return same.to(s.evaluate.dtype).mean((1, 2))


def _classes(outputs: Tensor) -> Tensor:
    """The largest of several outputs, or whether one is above 0: [S, N, C] -> int64 [S, N, 1]."""
    return (outputs > 0).long() if outputs.shape[-1] == 1 else outputs.argmax(-1, keepdim=True)


def _hidden_gradients(s: Snapshot) -> tuple[Tensor, ...]:
    """g_l(x) of the hidden layers on the training points, [S, N, n_l] each (Tian 2020, eq. 15)."""
    top = s.teacher_training_activity.outputs - s.training_activity.outputs
    return s.once("gradients", lambda: backward(s.students, s.training_activity, top)[:-1])


@measure_of("layer")
def gradient_max(s: Snapshot) -> Tensor:
    r"""max over samples and units of :math:`|g_l(x)|`, the quantity bounded in Theorems 3-5 of Tian 2020."""
    return torch.stack([g.abs().amax((1, 2)) for g in _hidden_gradients(s)], dim=1)


@measure_of("unit")
def gradient_rms(s: Snapshot) -> Tensor:
    r"""sqrt(E_x g_k(x)^2) of every student unit."""
    return torch.cat([g.square().mean(1).sqrt() for g in _hidden_gradients(s)], dim=1)
