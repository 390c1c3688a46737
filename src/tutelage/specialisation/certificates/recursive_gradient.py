"""The recursive gradient rule (Tian 2020 and Tian 2019, Lemma 1)."""

from collections.abc import Sequence

import torch
from torch import Tensor

from tutelage.certificates.records import Finding, Part, check
from tutelage.networks import recursive_gradient
from tutelage.specialisation.certificates.scene import Scene, certificate

AGREES = "difference from back-propagation, relative to its terms"
_RELATIVE = 1e-10


@certificate("lemma-1", source="Tian 2020, Lemma 1; Tian 2019, Lemma 1", layers="any")
def lemma_1(scene: Scene, *, samples: int = 256) -> Sequence[Finding]:
    r"""The gradient of every layer is made of the activations of teacher and student at that layer.

    .. math:: g_l(x) = D_l(x)\,[A_l(x) f^*_l(x) - B_l(x) f_l(x)] \qquad (Tian 2020, eq. 5)

    for any depth and widths, with no condition. Held against back-propagation on the first ``samples`` samples, since
    A_l and B_l are matrices of their own at every sample of a deep network; a difference of 1e-10 of what the terms add
    up to without their signs is allowed.
    """
    some = slice(0, min(samples, scene.samples))
    layers: list[tuple[Tensor, Tensor]] = []
    for layer in range(1, scene.students.depth + 1):
        rule = _in_parts(scene, layer, some)
        plain = scene.gradients[layer - 1][:, some]
        difference, at = (rule - plain).abs().flatten(1).max(1)
        layers.append((difference, at))
    out = []
    for s in range(scene.members):
        parts = []
        for layer, (difference, at) in enumerate(layers, start=1):
            row, unit = divmod(int(at[s]), scene.students.widths[layer])
            value = float(difference[s] / scene.size[s].clamp_min(torch.finfo(torch.float64).tiny))
            conclusion = check(AGREES, value, "<=", _RELATIVE, f"sample {row}, unit {unit}")
            parts.append(Part(f"layer {layer}", (), conclusion))
        out.append(Finding(parts, (), {"samples": some.stop}))
    return out


def _in_parts(scene: Scene, layer: int, some: slice) -> Tensor:
    """The rule on some samples, a few at a time: it forms matrices [n_l, n_l] for each."""
    widest = max(scene.students.widths[layer:])
    size = max(1, (1 << 21) // (scene.members * widest * max(widest, scene.students.outputs)))
    parts = []
    for begin in range(0, some.stop, size):
        part = slice(begin, min(begin + size, some.stop))
        activities = scene.activity.samples(part), scene.teacher_activity.samples(part)
        parts.append(recursive_gradient(scene.students, activities[0], scene.teacher, activities[1], layer))
    return torch.cat(parts, dim=1)
