"""Per-sample gradients: the theorems of Tian 2020 speak of their largest entry over all training samples."""

import torch
from torch import Tensor

from tutelage.measures.registry import measure_of
from tutelage.measures.snapshot import Snapshot
from tutelage.networks import backward


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
