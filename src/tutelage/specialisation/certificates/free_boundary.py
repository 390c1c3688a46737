r"""A unit that no other unit is near has a point of its boundary to itself (Tian 2019, Lemma 5).

The proof is by volume. In a ball of radius r in boundary j, which has d - 1 dimensions, the points within q of boundary
j' form a slab of thickness at most 2q / sin(theta). Where every angle is above the lemma's bound, K - 1 such slabs
cover at most the share (K - 1)/K of the ball, so that points drawn in it find a free one soon: not finding one of
4,096 has a probability below exp(-4096/K).
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from tutelage import draws
from tutelage.certificates.records import Finding, Part, check
from tutelage.errors import TutelageError
from tutelage.specialisation.certificates.alignment import REGULAR
from tutelage.specialisation.certificates.hyperplanes import distances
from tutelage.specialisation.certificates.noisy_recovery import bounds
from tutelage.specialisation.certificates.scene import Scene, certificate, unit_name

PLANE = "inputs have at least two dimensions"
CROSSES = "the boundary crosses the region"
APART = "sine or offset of the nearest other unit over its bound"
FREE = "distance from the nearest other boundary"
_DRAWN = 4096


@certificate("free-boundary-point", source="Tian 2019, Lemma 5", layers="any")
def free_boundary_point(scene: Scene, *, epsilon: float = 1e-3) -> Sequence[Finding]:
    r"""A boundary that no other unit is aligned with has a point further than 5 epsilon from all other boundaries.

    The region R is the smallest ball around the mean of the samples that holds them all, so that boundary j crosses it
    in a ball of d - 1 dimensions, whose radius and farthest point are known. ``epsilon`` is the paper's
    :math:`\varepsilon/|c_j|`, and :math:`\varepsilon_0 = \varepsilon`, for which delta drops out. Two units are aligned
    where both the sine of their angle and the difference of their offsets are within the lemma's bounds
    (:func:`.noisy_recovery.bounds`); all K units of teacher and student count. The point is searched among 4,096 draws,
    and where none is found nothing is decided.
    """
    if not epsilon > 0:
        raise TutelageError(f"epsilon must be above 0, got {epsilon}")
    dimension, q = scene.students.inputs, 5 * epsilon
    middle = scene.points.mean(1, keepdim=True)
    wide = (scene.points - middle).norm(dim=2).amax(1, keepdim=True)  # [S, 1]
    height = scene.heights(middle)[:, 0, : scene.m]  # [S, m]
    radius = (wide.square() - height.square()).clamp_min(0).sqrt()
    centre = middle - height.unsqueeze(2) * scene.normals[:, : scene.m]
    tiny = radius.clamp_min(torch.finfo(radius.dtype).tiny)
    size = torch.full_like(radius, epsilon)
    reach = centre.norm(dim=2) + radius
    sine, offset = bounds(
        size, torch.ones_like(size), tiny, reach, units=scene.units, dimension=dimension, delta=0.1, epsilon_0=size
    )
    between = distances(scene)
    share = torch.maximum(
        between.sine[:, : scene.m] / sine.unsqueeze(2), between.offset[:, : scene.m] / offset.unsqueeze(2)
    ).nan_to_num(torch.inf)
    itself = torch.arange(scene.m)
    share[:, itself, itself] = torch.inf
    nearest, who = share.min(2)
    room, point = _roomiest(scene, centre, radius)
    out = []
    for s in range(scene.members):
        shared = (check(PLANE, dimension, ">=", 2),)
        parts = []
        for j in range(scene.m):
            who_name = f"{unit_name(scene, int(who[s, j]))}; sine bound {float(sine[s, j]):.3g}"
            conditions = (
                check(REGULAR, float(not scene.flat[s, j]), ">=", 1),
                check(CROSSES, float(radius[s, j]), ">", 0, "radius of the ball in the boundary"),
                check(APART, float(nearest[s, j]), ">", 1, f"{who_name}, offset bound {float(offset[s, j]):.3g}"),
            )
            value, at = float(room[s, j]), point[s, j].tolist()
            # Not found is not the same as not there: a miss decides nothing.
            conclusion = check(FREE, value, ">", q, f"best of {_DRAWN} points", decided=value > q, point=at)
            parts.append(Part(f"teacher unit {j}", conditions, conclusion))
        out.append(Finding(parts, shared, {"epsilon": epsilon, "units": scene.units}))
    return out


def _roomiest(scene: Scene, centre: Tensor, radius: Tensor) -> tuple[Tensor, Tensor]:
    """The largest distance from all other boundaries among points of each teacher unit's ball, and the point."""
    key = draws.keys([0], "free-boundary")
    dimension = scene.students.inputs
    directions = draws.normals(key, _DRAWN * dimension).view(_DRAWN, dimension)
    lengths = draws.uniforms(key, _DRAWN, _DRAWN * dimension).view(_DRAWN, 1) ** (1 / max(1, dimension - 1))
    rooms, points = [], []
    for j in range(scene.m):
        normal = scene.normals[:, j].unsqueeze(1)  # [S, 1, d]
        inside = directions - (directions * normal).sum(2, keepdim=True) * normal
        inside = inside / inside.norm(dim=2, keepdim=True).clamp_min(torch.finfo(inside.dtype).tiny)
        drawn = centre[:, j, None] + radius[:, j, None, None] * lengths * inside
        room = scene.heights(drawn).abs()
        room = torch.where(scene.flat.unsqueeze(1), torch.inf, room)
        room[:, :, j] = torch.inf
        best, at = room.amin(2).max(1)
        rooms.append(best)
        points.append(drawn[torch.arange(scene.members), at])
    return torch.stack(rooms, 1), torch.stack(points, 1)
