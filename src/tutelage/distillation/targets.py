r"""Soft targets, and the loss of distillation that every kind of student here shares (Hinton et al. 2015).

With logits s of a student, p of its teachers' softened outputs and a label y,

.. math:: \ell = (1 - h)\, T^2\, \mathrm{CE}(p, \mathrm{softmax}(s/T)) + h\, \mathrm{CE}(y, \mathrm{softmax}(s))

for temperature T and hard share h. The factor T^2 keeps gradients of the soft part of one size as T changes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import minimize
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.printing import printed

HOTTEST = 1e100
"""Largest temperature: its square, by which the soft part of a loss may be multiplied, is finite."""


def checked_temperature(temperature: float) -> None:
    """Raise an error unless a temperature is above 0 and at most HOTTEST."""
    if not 0 < temperature <= HOTTEST:
        raise TutelageError(f"temperature must be above 0 and at most {HOTTEST:g}, got {temperature:g}")


@printed
@dataclass(frozen=True)
class Softening:
    """How the teachers' outputs become labels.

    Parameters
    ----------
    temperature
        T; logits are divided by it.
    hard_share
        Share of the loss on hard labels.
    scaled
        Whether the soft part of the loss is multiplied by T^2.
    """

    temperature: float = 1.0
    hard_share: float = 0.0
    scaled: bool = True

    def __post_init__(self) -> None:
        checked_temperature(self.temperature)
        if not 0 <= self.hard_share <= 1:
            raise TutelageError(f"hard_share must lie between 0 and 1, got {self.hard_share:g}")


def log_probabilities(logits: Tensor, temperature: float = 1.0) -> Tensor:
    """log softmax(logits / T) over the last axis; one output alone is the log-odds of the second of two classes.

    >>> log_probabilities(torch.zeros(1, 1)).exp()
    tensor([[0.5000, 0.5000]])
    """
    if logits.shape[-1] == 1:
        logits = torch.cat([torch.zeros_like(logits), logits], dim=-1)
    return (logits / temperature).log_softmax(-1)


def soft_targets(logits: Sequence[Tensor], temperature: float = 1.0) -> Tensor:
    """Mean of the softened probabilities of several teachers: logits [..., C] each -> [..., C]."""
    if not logits:
        raise TutelageError("there is no teacher to distil from: give at least one")
    return torch.stack([log_probabilities(z, temperature) for z in logits]).exp().mean(0)


def distillation_loss(
    student: Tensor, targets: Tensor | None, labels: Tensor | None, softening: Softening | None = None
) -> Tensor:
    """The loss of every sample: student's logits [N, C], targets [N, C] (or None), labels [N] (or None) -> [N]."""
    how = softening or Softening()
    if targets is None and how.hard_share < 1:
        raise TutelageError("there are no soft targets: give a teacher, or hard_share=1")
    if labels is None and how.hard_share > 0:
        raise TutelageError(f"hard_share={how.hard_share:g} needs labels, but none were given")
    total = student.new_zeros(student.shape[:-1])
    if targets is not None and how.hard_share < 1:
        weight = (1 - how.hard_share) * (how.temperature**2 if how.scaled else 1.0)
        total = total - weight * (targets * log_probabilities(student, how.temperature)).sum(-1)
    if labels is not None and how.hard_share > 0:
        chosen = log_probabilities(student).gather(-1, labels.long().unsqueeze(-1)).squeeze(-1)
        total = total - how.hard_share * chosen
    return total


def logistic_teacher(x: Tensor, labels: Tensor, penalty: float = 1.0) -> Tensor:
    r"""The minimiser of :math:`\sum_i \log(1 + e^{-s_i w \cdot x_i}) + (\lambda/2) |w|^2`, s = +-1: x [N, d] -> w [d].

    labels: 0 and 1 [N]; penalty: lambda. No intercept, since the theory of Phuong 2021, chapter 5 is of lines through
    0.

    >>> x = torch.tensor([[1.0, 0.2], [-1.0, 0.1]])
    >>> bool((x.double() @ logistic_teacher(x, torch.tensor([1, 0])) > 0).tolist() == [True, False])
    True
    """
    if x.ndim != 2 or labels.shape != x.shape[:1]:
        raise TutelageError(f"wanted points [N, d] with a label each, not {list(x.shape)} and {list(labels.shape)}")
    if set(labels.unique().tolist()) != {0, 1} or not penalty > 0:
        raise TutelageError("wanted labels 0 and 1, both of them, and a positive penalty")
    signed = (x.double() * (2 * labels.double() - 1).unsqueeze(1)).numpy()

    def objective(w: np.ndarray) -> tuple[float, np.ndarray]:
        # The slope of log(1 + e^-m) is -1 / (1 + e^m), formed through logaddexp so that no margin overflows.
        m = signed @ w
        pull = np.exp(-np.logaddexp(0, m))
        return float(np.logaddexp(0, -m).sum() + penalty / 2 * w @ w), penalty * w - pull @ signed

    result = minimize(
        objective,
        np.zeros(x.shape[1]),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 5000, "ftol": 1e-14, "gtol": 1e-8},
    )
    return torch.from_numpy(result.x)
