"""Units with different boundaries are linearly independent (Tian 2020, Lemmas 3 and 4; Tian 2019, Lemmas 2 and 3)."""

from collections.abc import Sequence

import torch
from torch import Tensor

from tutelage.certificates.records import Finding, Part, check
from tutelage.networks.activations import gate
from tutelage.specialisation.certificates.evidence import evidence
from tutelage.specialisation.certificates.hyperplanes import distances, rounding
from tutelage.specialisation.certificates.scene import Scene, certificate, unit_name

REGULAR = "every unit has weights"
APART = "no two units have the same boundary"
CROSSING = "boundaries cross the data"
MET = "crossing boundaries with three points that straddle no other"
TALK = "second difference of another unit over that of its own"


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
            check(REGULAR, flat, "<=", 0, "units whose weights are all 0"),
            check(APART, float(nearest[s]), ">", float(near[s]), " and ".join(units)),
            check(CROSSING, crossing[s], ">=", 1, f"of {scene.units} units"),
            check(MET, int(met[s]), ">=", crossing[s], decided=int(met[s]) >= crossing[s]),
        )
        conclusion = check(TALK, float(worst[s]), "<=", float(bound[s]), unit_name(scene, int(who[s])))
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
