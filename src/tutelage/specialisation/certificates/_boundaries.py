"""Bands around boundaries: the constants of Lemma 6 of Tian 2020 for one band and the hyperplanes around it."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from tutelage.certificates.records import Condition, check
from tutelage.errors import TutelageError
from tutelage.functions.domain import box
from tutelage.functions.pieces.regions import enumerate_regions, local_maps
from tutelage.networks import Network, alpha, fan_out, forward
from tutelage.specialisation.certificates.eta_mu import eta_along, mu_along
from tutelage.specialisation.certificates.scene import Scene

SAMPLES = "samples in the band"
_BOUNDARIES = "all boundaries are known"
REGULAR = "the unit has weights"


@dataclass(frozen=True, eq=False)
class Surroundings:
    """Hyperplanes [w~, b] around the bands of one member, and what the coefficient of teacher j may be.

    planes: of the boundaries [Q, d+1]; index: the first-layer unit each belongs to, -1 for those above [Q];
    alpha: least |alpha_kj| |w~_j| over regions [n, m]; count: K in the theorems, Q in deep networks;
    boundaries: whether they are all known, a condition of deep networks.
    """

    planes: Tensor
    index: Tensor
    alpha: Tensor
    count: int
    boundaries: Condition | None = None


_PARALLEL = 64 * torch.finfo(torch.float64).eps  # the sine that rounding leaves between parallel normals


@dataclass(frozen=True)
class Constants:
    """eta and mu of the samples of a band along the directions the proof uses, and M_1, M_2 (Tian 2020, eq. 41)."""

    eta: float
    mu: float
    first: float
    second: float


def needed(scene: Scene, gamma: float, units: int) -> int:
    """Samples that Lemma 6 asks for: (gamma + 3) K (d + 1)."""
    return math.ceil((gamma + 3) * units * (scene.students.inputs + 1))


def constants(points: Tensor, plane: Tensor, others: Tensor, gamma: float, units: int) -> Constants:
    r"""M_1 and M_2 of Lemma 6 for samples of a band: points [P, d], plane [d+1] and others [Q, d+1] regular [w~, b].

    .. math:: M_1 = (\gamma+3)\eta K, \qquad
        M_2 = 1 + \gamma + (\gamma+3)\eta K\Bigl(|b_j| + \sqrt{\tfrac{(3+\gamma)\mu K}{1+\gamma}}\Bigr)

    The proof asks the samples to be spread along :math:`u_{j'}`, the part of :math:`w_{j'}` across :math:`w_j`, and
    along no other direction; there eta and mu are exact, where over all directions they would be bounds
    (:mod:`.eta_mu`). eta holds for bands of every width, since the proof uses another than Def. 10 names.
    """
    across, offset = _across(plane, others)
    if len(across) == 0 or len(points) == 0:  # every other hyperplane is parallel: a difference of offsets is enough
        return Constants(0.0, 0.0, 0.0, 1 + gamma)
    projections = across @ points.T
    eta = float(eta_along(projections + offset[:, None], points.shape[1]).max())
    mu = float(mu_along(projections).max())
    first = (gamma + 3) * eta * units
    reach = abs(float(plane[-1])) + math.sqrt((3 + gamma) * mu * units / (1 + gamma))
    return Constants(eta, mu, first, 1 + gamma + first * reach)


def _across(plane: Tensor, others: Tensor) -> tuple[Tensor, Tensor]:
    """Unit normals [R, d] and offsets [R] of u_j' = (w_j' - cos w_j) / sin, without those parallel to w_j."""
    cosine = others[:, :-1] @ plane[:-1]
    others = torch.where(cosine[:, None] < 0, -others, others)
    # Turned to within a right angle of the band first: a hyperplane has no side of its own here.
    rest = others - cosine.abs()[:, None] * plane
    sine = rest[:, :-1].norm(dim=1)
    crossing = sine > _PARALLEL
    rest = rest[crossing] / sine[crossing, None]
    return rest[:, :-1], rest[:, -1]


def hyperplanes(scene: Scene) -> Tensor:
    """[w~, b] of every first-layer unit: [S, K, d+1]."""
    return torch.cat([scene.normals, scene.offsets.unsqueeze(2)], dim=2)


def nearest(plane: Tensor, others: Tensor, sine: float, offset: float) -> tuple[float, int]:
    """The least max(sin/M, |b - b'|/M') over others [Q, d+1], and which; up to 1 is aligned by (M, M') (Def. 9)."""
    if len(others) == 0:
        return math.inf, -1
    cosine = others[:, :-1] @ plane[:-1]
    others = torch.where(cosine[:, None] < 0, -others, others)
    chord = (others[:, :-1] - plane[:-1]).norm(dim=1)
    # The sine from the chord of two unit vectors keeps its digits for small angles, where 1 - cos^2 would lose them.
    apart = chord * (1 - chord.square() / 4).clamp_min(0).sqrt()
    apart = torch.where(apart > _PARALLEL, apart, 0)
    worst = torch.maximum(_over(apart, sine), _over((others[:, -1] - plane[-1]).abs(), offset))
    value, at = worst.min(0)
    return float(value), int(at)


def _over(value: Tensor, bound: float) -> Tensor:
    """value / bound where a bound of 0 leaves room for 0 alone."""
    return value / bound if bound > 0 else torch.where(value > 0, torch.inf, 0.0)


def side_by_side(teacher: Network, student: Network) -> Network:
    """Teacher and student as one network with both their outputs, so that its regions are those of the pair."""
    layers = []
    for layer, (a, b) in enumerate(zip(teacher.weights, student.weights, strict=True)):
        if layer == 0:
            layers.append(torch.cat([a, b], dim=2))
        else:
            above = torch.cat([a, a.new_zeros(len(a), a.shape[1], b.shape[2])], dim=2)
            layers.append(torch.cat([above, torch.cat([b.new_zeros(len(b), b.shape[1], a.shape[2]), b], dim=2)], dim=1))
    biases = tuple(torch.cat(_biases(n, teacher, student), dim=1) for n in range(teacher.depth))
    return Network(tuple(layers), biases, student.activation, student.slope)


def _biases(layer: int, *networks: Network) -> list[Tensor]:
    return [
        n.biases[layer] if n.biases else n.weights[layer].new_zeros(n.members, n.widths[layer + 1]) for n in networks
    ]


def boundaries(scene: Scene, member: int, margin: float, budget: int) -> Surroundings:
    """The surroundings of one member's bands on the box of its samples, wider by ``margin`` on all sides."""
    try:
        return _exact(scene, member, margin, budget)
    except TutelageError:  # more regions than the budget, or too many dimensions to list corners
        return _on_samples(scene, member)


def _exact(scene: Scene, member: int, margin: float, budget: int) -> Surroundings:
    """Every flat piece of every boundary, and the least alpha over all regions."""
    points = scene.points[member]
    domain = box(points.amin(0) - margin, points.amax(0) + margin)
    regions = enumerate_regions(side_by_side(scene.teacher[member], scene.students[member]), domain, budget)
    layer = regions.layers[regions.pieces[:, 0]]
    planes, index = [], []
    first = hyperplanes(scene)[member]
    regular = (~scene.flat[member]).nonzero().flatten()
    planes.append(first[regular])
    index.append(regular)
    # Units are numbered layer by layer through both networks, as in `side_by_side`; `begin` is the first of the layer.
    begin = scene.units
    for upper in range(2, scene.students.depth):
        unit, region = regions.pieces[layer == upper].T
        slopes, shifts = local_maps(regions.network, regions.signs[region], upper)
        rows = torch.arange(len(unit))
        plane = torch.cat([slopes[rows, :, unit - begin], shifts[rows, unit - begin, None]], dim=1)
        planes.append(plane / plane[:, :-1].norm(dim=1, keepdim=True))
        index.append(torch.full((len(unit),), -1))
        begin += scene.teacher.widths[upper] + scene.students.widths[upper]
    every = torch.cat(planes)
    text = f"{len(regions)} regions on the box of the samples, enumerated"
    known = check(_BOUNDARIES, len(every), ">=", 1, text, regions=len(regions))
    return Surroundings(every, torch.cat(index), _alpha(scene, member, regions.interior), len(every), known)


def _on_samples(scene: Scene, member: int) -> Surroundings:
    """The first-layer boundaries, and how many pieces above are certain: some samples of one cell on either side."""
    pair = side_by_side(scene.teacher[member], scene.students[member])
    signs = [(f > 0)[0] for f in forward(pair, scene.points[member]).features[1:-1]]
    certain = 0
    # Samples that agree in all signs of the layers below lie in one cell, where a unit above is linear. If it takes
    # both signs there, its boundary runs through the cell: such pieces are certain, and others may have been missed.
    for layer in range(1, len(signs)):
        below, cell = torch.cat(signs[:layer], dim=1).unique(dim=0, return_inverse=True)
        on = signs[layer].to(torch.float64)
        active = on.new_zeros(len(below), on.shape[1]).index_add_(0, cell, on)
        size = torch.bincount(cell, minlength=len(below)).unsqueeze(1)
        certain += int(((active > 0) & (active < size)).sum())
    regular = (~scene.flat[member]).nonzero().flatten()
    count = len(regular) + certain
    text = "met on the samples; there may be more, so nothing is proved"
    known = check(_BOUNDARIES, count, ">=", 1, text, decided=False)
    some = scene.points[member][:: max(1, scene.samples // _SOME)]
    return Surroundings(hyperplanes(scene)[member][regular], regular, _alpha(scene, member, some), count, known)


_SOME = 256  # samples whose regions give alpha where the regions are not enumerated


def _alpha(scene: Scene, member: int, points: Tensor) -> Tensor:
    """The least |alpha_kj| |w~_j| over the regions of some points: [P, d] -> [n, m]."""
    student, teacher, least = scene.students[member], scene.teacher[member], None
    size = max(1, (1 << 22) // (student.outputs * max(*student.widths[1:], *teacher.widths[1:])))
    for part in points.split(size):
        v, v_teacher = (fan_out(n, forward(n, part), 1)[..., : n.widths[1]] for n in (student, teacher))
        value = alpha(v, v_teacher)[0].abs().amin(0)
        # Invariant: `least` is the smallest |alpha| over all points so far.
        least = value if least is None else torch.minimum(least, value)
    assert least is not None
    return least * scene.lengths[member, : scene.m]
