"""What each student unit became."""

import torch
from torch import Tensor

from tutelage.measures.correlation import RECOVERED, by_layer
from tutelage.measures.overlaps import fan_out_norms
from tutelage.measures.registry import measure_of
from tutelage.measures.snapshot import Snapshot

CLASSES = ("specialised", "duplicate", "unspecialised", "dead", "linear", "idle")
"""Names of the codes 0, 1, ... that ``unit_class`` gives."""

IDLE = 1e-3
"""A unit is idle when it moves the output by less than this share of what its layer's units move it together."""


def classify(
    correlation: Tensor, features: Tensor, gates: Tensor, norms: Tensor, threshold: float = RECOVERED
) -> Tensor:
    """Classify every student unit of one layer.

    The first class that applies: *dead* (activation 0 on every sample), *idle* (fan-out norm times the standard
    deviation of the activation is negligible, so the unit adds at most a constant), *linear* (the derivative is the
    same on every sample), *specialised* (correlation with its best teacher above the threshold, and the best of that
    teacher's students), *duplicate* (above the threshold but not the best), *unspecialised*.

    Parameters
    ----------
    correlation
        Correlations of teacher and student units [S, m, n].
    features, gates
        Activations and derivatives (gates of piecewise linear units) of the student units [S, N, n].
    norms
        Fan-out norms [S, n].
    threshold
        Correlation above which a unit counts as specialised.

    Returns
    -------
    Tensor
        Codes of ``CLASSES``, int64 [S, n].

    Examples
    --------
    >>> correlation = torch.tensor([[[0.99, 0.97, 0.2, 0.0]]])  # of one teacher unit with four student units
    >>> features, gates = torch.rand(1, 50, 4), (torch.rand(1, 50, 4) > 0.5).float()
    >>> features[..., 3] = gates[..., 3] = 0
    >>> [CLASSES[code] for code in classify(correlation, features, gates, torch.ones(1, 4))[0]]
    ['specialised', 'duplicate', 'unspecialised', 'dead']
    """
    dead = (features == 0).all(1)
    linear = gates.amin(1) == gates.amax(1)
    size = norms * features.std(1, correction=0)
    idle = size <= IDLE * size.sum(1, keepdim=True)
    value, teacher = correlation.max(1)
    best_of_teacher = correlation.argmax(2).gather(1, teacher)
    units = torch.arange(correlation.shape[2], device=correlation.device)
    matched = value > threshold
    code = torch.full_like(teacher, CLASSES.index("unspecialised"))
    for name, which in (
        ("duplicate", matched),
        ("specialised", matched & (best_of_teacher == units)),
        ("linear", linear),
        ("idle", idle),
        ("dead", dead),
    ):
        code[which] = CLASSES.index(name)
    return code


@measure_of("unit", of_teacher_units=True)
def unit_class(s: Snapshot) -> Tensor:
    """Codes of ``CLASSES`` for every student unit, judged on the evaluation points."""
    norms = fan_out_norms(s.students, s.activity)
    parts, begin = [], 0
    for layer, c in zip(s.hidden_layers, by_layer(s), strict=True):
        end = begin + c.shape[2]
        parts.append(classify(c, s.activity.features[layer], s.activity.slopes[layer - 1], norms[:, begin:end]))
        begin = end
    return torch.cat(parts, dim=1)
