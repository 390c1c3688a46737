"""No batch has a gradient, so no sample has one (Tian 2020, Lemma 2; Tian 2019, Theorem 1); and the rule by which the
gradient of one layer follows from that of the next (Lemma 1 of both).
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from tutelage.certificates.records import Finding, Part, check
from tutelage.errors import TutelageError
from tutelage.networks import recursive_gradient
from tutelage.specialisation.certificates.scene import Scene, certificate

BATCHES = "there are more samples than a batch holds"
BATCH = "largest gradient of any batch"
_SAMPLE = "largest |g_l| |f_{l-1}| at one sample"
_ELEMENTS = 1 << 18  # products of a gradient and an activation formed at once


@certificate("zero-gradient", source="Tian 2020, Lemma 2; Tian 2019, Theorem 1", layers="any")
def zero_gradient(
    scene: Scene, *, batch: int = 16, tolerance: float | None = None, samples: int = 2048
) -> Sequence[Finding]:
    r"""Where the gradient of every batch is zero, each sample has g_l(x) = 0 or f_{l-1}(x) = 0.

    With :math:`U_i = g_l(x_i) f_{l-1}(x_i)^\top` and :math:`\|\sum_{i \in B} U_i\|_\infty \le \varepsilon` for every
    batch B, :math:`\|U_i\|_\infty \le (2|B| - 1)\varepsilon/|B| \le 2\varepsilon`; a batch's gradient is its mean, so
    the factor is 2|B| - 1 there. The worst batch is found exactly, entry by entry, among the first ``samples``
    samples, and the conclusion is about the same samples. Two batches that differ in one sample must exist.
    """
    if batch < 1 or samples < 1:
        raise TutelageError(f"batch and samples must be at least 1, got {batch} and {samples}")
    rows = min(samples, scene.samples)
    size = min(batch, rows)
    layers = []
    for layer in range(1, scene.students.depth + 1):
        g = scene.gradients[layer - 1][:, :rows]
        f = scene.activity.features[layer - 1][:, :rows]
        if scene.students.biases is not None:
            f = torch.cat([f, torch.ones_like(f[..., :1])], dim=2)
        each, at = (g.abs().amax(2) * f.abs().amax(2)).max(1)
        layers.append((_worst_batch(g, f, size), each, at))
    allowed = scene.tolerance(tolerance)
    reach = torch.stack([f[:, :rows].abs().amax((1, 2)) for f in scene.activity.features[:-1]]).amax(0).clamp_min(1)
    allowed = allowed * reach if tolerance is None else allowed
    nothing = scene.says_nothing(allowed / reach).tolist()
    out = []
    for s in range(scene.members):
        parts = []
        for layer, (worst, each, at) in enumerate(layers, start=1):
            value, bound = float(worst[s]), (2 * size - 1) * float(worst[s])
            condition = check(BATCH, value, "<=", float(allowed[s]), f"mean over {size} samples", vacuous=nothing[s])
            slack = 8 * scene.students.depth * torch.finfo(torch.float64).eps * float(each[s])
            conclusion = check(_SAMPLE, float(each[s]), "<=", bound + slack, f"sample {int(at[s])}", sample=int(at[s]))
            parts.append(Part(f"layer {layer}", (condition,), conclusion))
        many = check(BATCHES, rows, ">", batch)
        out.append(Finding(parts, (many,), {"batch": batch, "samples": rows, "tolerance": float(allowed[s])}))
    return out


def _worst_batch(g: Tensor, f: Tensor, batch: int) -> Tensor:
    """max over batches and entries of |mean over the batch of g f^T|: [S, N, n], [S, N, w] -> [S].

    For one entry the worst batch holds its largest values, or its smallest.
    """
    members, rows, width = f.shape
    worst = g.new_zeros(members)
    size = max(1, _ELEMENTS // (members * rows * width))
    for begin in range(0, g.shape[2], size):
        u = (g[:, :, begin : begin + size].mT.unsqueeze(2) * f.mT.unsqueeze(1)).flatten(1, 2)  # [S, entries, N]
        for largest in (True, False):
            total = u.topk(batch, dim=2, largest=largest, sorted=False).values.sum(2).abs()
            worst = torch.maximum(worst, total.amax(1) / batch)
    return worst


_AGREES = "difference from back-propagation, relative to its terms"
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
            conclusion = check(_AGREES, value, "<=", _RELATIVE, f"sample {row}, unit {unit}")
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
