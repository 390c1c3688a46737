"""Which student units see the boundary of which teacher unit in the data (Tian 2020, Def. 4, counted on samples)."""

import torch
from torch import Tensor

from tutelage.measures.registry import measure_of
from tutelage.measures.snapshot import Snapshot


def observations(teacher: Tensor, students: Tensor) -> Tensor:
    """min(#{f*_j > 0, f_k > 0}, #{f*_j <= 0, f_k > 0}): samples on the rarer side of boundary j where k is active.

    activations [S, N, m], [S, N, n] -> float [S, m, n]; 0 means that k cannot tell j from a linear unit.

    >>> f_teacher = torch.tensor([[[1.0], [0.0], [2.0]]])
    >>> observations(f_teacher, torch.tensor([[[1.0, 0.0], [1.0, 0.0], [3.0, 1.0]]]))
    tensor([[[1., 0.]]])
    """
    active = (students > 0).to(teacher.dtype)
    above = torch.bmm((teacher > 0).to(teacher.dtype).mT, active)
    return torch.minimum(above, active.sum(1, keepdim=True) - above)


def _by_layer(s: Snapshot) -> list[Tensor]:
    teacher, students = s.teacher_training_activity.features, s.training_activity.features
    s.need_like_layers("observers")
    return s.once("observations", lambda: [observations(teacher[i], students[i]) for i in s.hidden_layers])


@measure_of("pair")
def observers(s: Snapshot) -> Tensor:
    """How many training samples let student unit k observe the boundary of teacher unit j."""
    layers = _by_layer(s)
    return layers[0] if len(layers) == 1 else torch.cat([o.flatten(1) for o in layers], dim=1)


@measure_of("teacher")
def observed(s: Snapshot) -> Tensor:
    """max_k of ``observers``: teacher unit j is observed when this is above 0."""
    return torch.cat([o.amax(2) for o in _by_layer(s)], dim=1)
