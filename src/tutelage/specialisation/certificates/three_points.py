"""Three points across a boundary show what a unit adds (Tian 2020, Lemma 7)."""

from collections.abc import Sequence

import torch
from torch import Tensor

from tutelage.certificates.records import Finding, Part, check
from tutelage.networks import outputs
from tutelage.specialisation.certificates._bands import REGULAR
from tutelage.specialisation.certificates.scene import Scene, certificate

NEARER = "a sample is nearer to this boundary than to any other"
NONZERO = "the unit's coefficient is not zero"
LARGE = "largest |h| at the three points"
_SHORT = 1 - 1e-9  # eps_h stays below the distance of every other boundary


@certificate("three-points", source="Tian 2020, Lemma 7")
def three_points(scene: Scene) -> Sequence[Finding]:
    r"""A function of relu units is not small at all of three points that straddle one boundary and no other.

    :math:`h(x) = \sum c_{j'} \sigma(w_{j'} x) + c\, w \cdot x` is what student k's gradient is made of where it is
    active, :math:`h = v_k \cdot (f^* - f)`, with k the student of largest :math:`|c_j| = |\alpha_{kj}|`. The sample
    :math:`x_j` has distance eps_l from boundary j and more than eps_h from all others; with
    :math:`e = \varepsilon_h \tilde w_j` one of :math:`x_j, x_j \pm e` has
    :math:`|h| > |c_j| (1 - c_\mathrm{leaky})(\varepsilon_h - \varepsilon_l)/5`.

    The lemma asks :math:`|w_{j'} \cdot e| \le \varepsilon_h` of the other units too (the paper writes it for j alone),
    which this e gives, and c_j other than 0.
    """
    sample, low, gap = _nearest_samples(scene)
    observer, coefficient = scene.alpha.abs().argmax(1), scene.alpha.abs().amax(1)  # [S, m]
    value = _largest(scene, sample, low + gap, observer)
    least = 8 * scene.eps * coefficient.amax(1)
    blur = 32 * scene.eps * (1 + scene.offsets.abs().amax(1) + scene.points.norm(dim=2).amax(1))  # of a height
    resolution = torch.maximum(blur[:, None], 20 * scene.rounding[:, None] / coefficient)
    out = []
    for s in range(scene.members):
        parts = []
        for j in range(scene.m):
            k, i, c, g = int(observer[s, j]), int(sample[s, j]), float(coefficient[s, j]), float(gap[s, j])
            conditions = (
                check(REGULAR, float(not scene.flat[s, j]), ">=", 1),
                check(NEARER, g, ">", float(resolution[s, j]), f"sample {i}: eps_h - eps_l, beyond rounding", sample=i),
                check(NONZERO, c, ">", float(least[s]), f"student unit {k}", student=k),
            )
            bound = c * (1 - scene.leak) * max(g, 0.0) / 5
            conclusion = check(LARGE, float(value[s, j]), ">", bound, f"around sample {i}, student unit {k}")
            parts.append(Part(f"teacher unit {j}", conditions, conclusion))
        out.append(Finding(parts))
    return out


def _nearest_samples(scene: Scene) -> tuple[Tensor, Tensor, Tensor]:
    """For every teacher unit the sample with the largest eps_h - eps_l, its eps_l, and that difference: [S, m] each.

    The difference is negative where every sample is nearer to another boundary, and 0 for units without one.
    """
    height = scene.sample_heights.abs().masked_fill(scene.flat.unsqueeze(1), torch.inf)
    two, at = height.topk(2, dim=2, largest=False)
    units = torch.arange(scene.m, device=at.device)
    rest = torch.where(at[..., :1] == units, two[..., 1:], two[..., :1])  # the nearest other boundary [S, N, m]
    distance = height[..., : scene.m]
    gap, sample = torch.where(distance.isinf(), -torch.inf, rest - distance).max(1)
    gap = torch.where(gap == torch.inf, 1.0, gap)  # no other boundary anywhere: any step will do
    low = distance.gather(1, sample.unsqueeze(1)).squeeze(1)
    regular = gap.isfinite()
    return sample, torch.where(regular, low, 0), torch.where(regular, gap * _SHORT, 0)


def _largest(scene: Scene, sample: Tensor, high: Tensor, observer: Tensor) -> Tensor:
    """max |v_k . (f* - f)| at the sample and at both points moved by ``high`` along the unit's weights: [S, m]."""
    x = scene.points.gather(1, sample.unsqueeze(2).expand(-1, -1, scene.points.shape[2]))
    move = high.unsqueeze(2) * scene.normals[:, : scene.m]
    points = torch.stack([x, x + move, x - move], dim=2).flatten(1, 2)
    residual = (outputs(scene.teacher, points) - outputs(scene.students, points)).unflatten(1, (scene.m, 3))
    v = scene.students.weights[1].gather(1, observer.unsqueeze(2).expand(-1, -1, residual.shape[3]))
    return (residual * v.unsqueeze(2)).sum(3).abs().amax(2)
