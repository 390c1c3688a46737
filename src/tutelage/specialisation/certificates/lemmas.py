"""Lemmas on single boundaries (Tian 2020, Lemmas 3, 4, 6 and 7; Tian 2019, Lemmas 2 and 3).

Units are linearly independent where boundaries differ, three points across a boundary show what a unit adds, and some
sample lies near one boundary and away from all others.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from tutelage.certificates.records import Condition, Finding, Part, check, unknown
from tutelage.errors import TutelageError
from tutelage.networks import outputs
from tutelage.networks.activations import gate
from tutelage.specialisation.certificates._boundaries import REGULAR, SAMPLES, constants, hyperplanes, nearest, needed
from tutelage.specialisation.certificates.evidence import evidence
from tutelage.specialisation.certificates.hyperplanes import distances, rounding
from tutelage.specialisation.certificates.scene import Scene, certificate, unit_name

_ALL_REGULAR = "every unit has weights"
APART = "no two units have the same boundary"
_CROSSING = "boundaries cross the data"
_MET = "crossing boundaries with three points that straddle no other"
_TALK = "second difference of another unit over that of its own"


@certificate("relu-independence", source="Tian 2020, Lemmas 3 and 4; Tian 2019, Lemmas 2 and 3", layers="any")
def relu_independence(scene: Scene) -> Sequence[Finding]:
    r"""Units of teacher and student with different boundaries that cross the data are linearly independent.

    If :math:`\sum_j c_j \sigma(w_j x) + c\, w \cdot x = 0` on an open set that boundary j crosses, then
    :math:`c_j = 0`. Shown as the proof does: at three points that straddle boundary j alone, inside the convex hull of
    the samples, the second differences of all other units and of every linear function are 0 and its own is not. The
    value is the largest second difference of another unit, as a share.

    The seeds call w and gamma w co-linear for gamma > 0 only, but relu(u) - relu(-u) - u = 0: a unit and the same one
    turned over are not independent of the linear functions, so the lemmas need boundaries that differ.
    """
    between, near = distances(scene), rounding(scene)
    apart = between.worst + torch.diag_embed(torch.full_like(between.worst[:, 0], torch.inf))
    nearest, pair = apart.flatten(1).min(1)
    met, worst, who, bound = _cross_talk(scene, between.same(near))
    heights = scene.sample_heights
    crossing = ((heights > 0).any(1) & (heights < 0).any(1) & ~scene.flat).sum(1).tolist()
    out = []
    for s in range(scene.members):
        units, flat = [unit_name(scene, i) for i in divmod(int(pair[s]), scene.units)], int(scene.flat[s].sum())
        conditions = (
            check(_ALL_REGULAR, flat, "<=", 0, "units whose weights are all 0"),
            check(APART, float(nearest[s]), ">", float(near[s]), " and ".join(units)),
            check(_CROSSING, crossing[s], ">=", 1, f"of {scene.units} units"),
            check(_MET, int(met[s]), ">=", crossing[s], decided=int(met[s]) >= crossing[s]),
        )
        conclusion = check(_TALK, float(worst[s]), "<=", float(bound[s]), unit_name(scene, int(who[s])))
        out.append(Finding([Part(f"{crossing[s]} units whose boundary crosses the data", conditions, conclusion)]))
    return out


def _cross_talk(scene: Scene, same: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Boundaries with a triple, the largest cross-talk, whose it is, and what rounding makes of none: [S] each."""
    triples = evidence(scene, range(scene.units), same)
    kink, segment = triples.kink.max(2)  # [S, K]
    chosen = segment[:, :, None, None, None].expand(-1, -1, 1, 3, scene.points.shape[2])
    points = triples.points.gather(2, chosen).squeeze(2)
    u = scene.heights(points.flatten(1, 2))
    f = (gate(scene.students.activation, u, scene.students.slope) * u).unflatten(1, (scene.units, 3))
    second = f[:, :, 1] + f[:, :, 2] - 2 * f[:, :, 0]  # [S, boundary, unit]
    diagonal = second.diagonal(dim1=1, dim2=2)
    talk = (second - torch.diag_embed(diagonal)).abs().amax(2) / diagonal.abs()
    met = kink > 0
    worst, who = torch.where(met, talk, 0).max(1)
    smallest = torch.where(met, diagonal.abs(), torch.inf).amin(1)
    size = points.norm(dim=3).amax((1, 2)) + scene.offsets.abs().amax(1)  # of the terms a height is the sum of
    return met.sum(1), worst, who, 64 * torch.finfo(u.dtype).eps * size / smallest


_NEARER = "a sample is nearer to this boundary than to any other"
_NONZERO = "the unit's coefficient is not zero"
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
                check(
                    _NEARER, g, ">", float(resolution[s, j]), f"sample {i}: eps_h - eps_l, beyond rounding", sample=i
                ),
                check(_NONZERO, c, ">", float(least[s]), f"student unit {k}", student=k),
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


SPREAD = "at most d + 1 samples of the band lie on one hyperplane"
UNALIGNED = "no other unit is aligned by (M_1 eps, M_2 eps)"
_FREE = "samples in the band and outside every other"


@certificate("free-point", source="Tian 2020, Lemma 6")
def free_point(scene: Scene, *, epsilon: float = 0.1, gamma: float = 2.0) -> Sequence[Finding]:
    r"""A band with enough samples and no unit aligned with it holds a sample outside the bands of all other units.

    D is the samples within ``epsilon`` of teacher boundary j, the others are all units of teacher and student, and
    their bands have half-width gamma epsilon. eta and mu are measured on D along the directions the proof uses.

    Examples
    --------
    A boundary at 0 and one at 1, with 100 samples per unit of length on the line:

    >>> import tutelage as tt
    >>> from tutelage.networks import Network
    >>> one = torch.ones(1, 1, 1, dtype=torch.float64)
    >>> teacher, student = (Network((one, one), (bias * one[0], 0 * one[0])) for bias in (0, -1))
    >>> line = torch.linspace(-10, 10, 2001, dtype=torch.float64)[:, None]
    >>> [certificate] = tt.certify("free-point", teacher, student, line, epsilon=0.1)
    >>> certificate.verdict, certificate.parts[0].conclusion.value  # samples within 0.1 of 0 and not within 0.2 of 1
    ('holds', 21)
    """
    if not (epsilon > 0 and gamma > 0):
        raise TutelageError(f"epsilon and gamma must be above 0, got {epsilon} and {gamma}")
    height, unflat = scene.sample_heights.abs(), ~scene.flat
    near = (height <= gamma * epsilon) & unflat.unsqueeze(1)
    band = height[..., : scene.m] <= epsilon
    crowd = near.sum(2, keepdim=True) - near[..., : scene.m].int()
    free = band & (crowd == 0)
    count, number, least = band.sum(1).tolist(), free.sum(1).tolist(), needed(scene, gamma, scene.units)
    first = free.int().argmax(1).tolist()
    out = []
    for s in range(scene.members):
        parts = []
        for j in range(scene.m):
            regular = bool(unflat[s, j])
            conditions = [
                check(REGULAR, float(regular), ">=", 1),
                check(SAMPLES, count[s][j], ">=", least, "(gamma + 3) K (d + 1) are needed"),
            ]
            enough = regular and count[s][j] >= least
            conditions += _spread_and_unaligned(scene, s, j, band[s, :, j], epsilon, gamma) if enough else _unknown()
            where = f"sample {first[s][j]}" if number[s][j] else ""
            conclusion = check(_FREE, number[s][j], ">=", 1, where, **({"sample": first[s][j]} if where else {}))
            parts.append(Part(f"teacher unit {j}", tuple(conditions), conclusion))
        out.append(Finding(parts, (), {"epsilon": epsilon, "gamma": gamma, "units": scene.units}))
    return out


def _spread_and_unaligned(
    scene: Scene, member: int, unit: int, band: torch.Tensor, epsilon: float, gamma: float
) -> list[Condition]:
    """The two conditions that need eta and mu, for a band that has enough samples."""
    planes = hyperplanes(scene)[member]
    others = planes[(torch.arange(scene.units) != unit) & ~scene.flat[member].cpu()]
    names = [u for u in range(scene.units) if u != unit and not scene.flat[member, u]]
    lemma = constants(scene.points[member][band], planes[unit], others, gamma, scene.units)
    if not math.isfinite(lemma.eta):
        return [check(SPREAD, 1, "<=", 0, "eta is infinite"), unknown(UNALIGNED, "eta is infinite")]
    value, at = nearest(planes[unit], others, lemma.first * epsilon, lemma.second * epsilon)
    who = f"{unit_name(scene, names[at])} is nearest" if at >= 0 else "there is no other"
    data: dict[str, Any] = {"eta": lemma.eta, "mu": lemma.mu, "M_1": lemma.first, "M_2": lemma.second}
    return [
        check(SPREAD, 0, "<=", 0, f"eta {lemma.eta:.3g}, mu {lemma.mu:.3g}", **data),
        check(UNALIGNED, value, ">", 1, f"{who}; M_1 {lemma.first:.3g}, M_2 {lemma.second:.3g}", **data),
    ]


def _unknown() -> list[Condition]:
    text = "not evaluated, for want of samples"
    return [unknown(SPREAD, text), unknown(UNALIGNED, text)]
