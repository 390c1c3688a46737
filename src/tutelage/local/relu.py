r"""ReLU units reduced to absolute values: with a free linear term the two are the same problem (Zhou et al. 2021,
appendix A.1).

.. math::
    \min_\beta \tfrac12 E\Bigl(\beta \cdot x + \sum_j |w_j| \mathrm{relu}(w_j \cdot x) -
    \sum_i \mathrm{relu}(w^*_i \cdot x) \Bigr)^2 = \tfrac14 L_{abs},
    \qquad \beta = \tfrac12 \sum_i w^*_i - \tfrac12 \sum_j |w_j| w_j

Without the linear term the loss is larger by |beta|^2 / 2, and is not identifiable (Zhou et al. 2021, Claim 1).
"""

import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.local.exact import loss
from tutelage.local.setting import LocalSetting, effective


def best_linear(setting: LocalSetting) -> Tensor:
    """beta, the linear term that fits best: [S, d]."""
    return (setting.teachers.sum(1) - effective(setting.students).sum(1)) / 2


def relu_loss(setting: LocalSetting, linear: bool = True) -> Tensor:
    """The loss of ReLU students on ReLU teachers, with the best linear term or with none: [S]."""
    value = loss(setting) / 4
    return value if linear else value + best_linear(setting).square().sum(1) / 2


def absolute_labels(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Labels sum |w*_i.x| [S, N] from those of ReLU teachers, and the linear part [S, d]: x [S, N, d], y [S, N].

    The best linear function of x, half the sum of the teachers, is fitted and taken off; twice the rest is wanted.
    """
    if x.shape[1] < x.shape[2]:
        raise TutelageError(f"{x.shape[1]} samples cannot fit a linear function of {x.shape[2]} inputs: give more")
    slope = torch.linalg.lstsq(x.double(), y.double().unsqueeze(2)).solution
    return 2 * (y.double() - (x.double() @ slope).squeeze(2)), slope.squeeze(2)


def mirrored(teachers: Tensor) -> LocalSetting:
    """Students -w*_i, whose ReLU loss is |sum w*_i|^2 / 2: 0 for balanced teachers, with no direction met (Claim 1)."""
    teachers = (teachers[None] if teachers.ndim == 2 else teachers).double()
    return LocalSetting(teachers, -teachers / teachers.norm(dim=2, keepdim=True).sqrt())
