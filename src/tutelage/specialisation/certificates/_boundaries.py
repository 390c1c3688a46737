"""All boundaries of a deep teacher and its student together, exactly where they are few, else what the samples show."""

import torch
from torch import Tensor

from tutelage.certificates.records import check
from tutelage.errors import TutelageError
from tutelage.functions.domain import box
from tutelage.functions.pieces.regions import enumerate_regions, local_maps
from tutelage.networks import Network, alpha, fan_out, forward
from tutelage.specialisation.certificates._bands import hyperplanes
from tutelage.specialisation.certificates._small_gradient import BOUNDARIES, Surroundings
from tutelage.specialisation.certificates.scene import Scene


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
    known = check(BOUNDARIES, len(every), ">=", 1, text, regions=len(regions))
    return Surroundings(every, torch.cat(index), _alpha(scene, member, regions.interior), len(every), known)


def _on_samples(scene: Scene, member: int) -> Surroundings:
    """The first-layer boundaries, and how many pieces above are certain: some samples of one cell on either side."""
    pair = side_by_side(scene.teacher[member], scene.students[member])
    signs = [(f > 0)[0] for f in forward(pair, scene.points[member]).features[1:-1]]
    certain = 0
    for layer in range(1, len(signs)):
        below, cell = torch.cat(signs[:layer], dim=1).unique(dim=0, return_inverse=True)
        on = signs[layer].to(torch.float64)
        active = on.new_zeros(len(below), on.shape[1]).index_add_(0, cell, on)
        size = torch.bincount(cell, minlength=len(below)).unsqueeze(1)
        certain += int(((active > 0) & (active < size)).sum())
    regular = (~scene.flat[member]).nonzero().flatten()
    count = len(regular) + certain
    text = "met on the samples; there may be more, so nothing is proved"
    known = check(BOUNDARIES, count, ">=", 1, text, decided=False)
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
        least = value if least is None else torch.minimum(least, value)
    assert least is not None
    return least * scene.lengths[member, : scene.m]
