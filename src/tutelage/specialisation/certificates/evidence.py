r"""Three points across a boundary, which decide what a unit adds there (Tian 2020, Lemmas 4 and 7; Tian 2019, Lemma 6).

The proofs of Tian 2020 and Tian 2019 use a gradient that is zero on a whole open set at three points only: x_0 on the
boundary of unit j and x_0 +- e beside it, such that no other boundary lies between. There every other unit is linear
and drops out of the second difference, which leaves

.. math:: h(x_0 + e) + h(x_0 - e) - 2 h(x_0) = c_j (1 - c_\mathrm{leaky}) |w_j \cdot e|

with c_j all that the units with this boundary add to h. The points are taken on segments between two samples on
either side of the boundary, so they lie in the convex hull of the samples, which stands for the papers' R_0; on a
segment every unit is crossed once at most, so nothing has to be searched.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from tutelage import draws
from tutelage.networks import Network, forward
from tutelage.specialisation.certificates.scene import Scene

_SEGMENTS = 16
"""Segments tried for every boundary."""
_HALVINGS = 40  # of a step, until no unit of an upper layer switches on the way


@dataclass(frozen=True, eq=False)
class Evidence:
    """Triples x_0, x_0 + e, x_0 - e for J boundaries, T segments each.

    points [S, J, T, 3, d]; kink: (1 - leak) |w_j.e|, 0 where there is no triple [S, J, T]; active: students that are
    active at all three points, the observers of the boundary there [S, J, T, n]; gradients g_1 [S, J, T, 3, n];
    ends: the samples a segment runs between [S, J, T, 2].
    """

    points: Tensor
    kink: Tensor
    active: Tensor
    gradients: Tensor
    ends: Tensor


def evidence(scene: Scene, units: range, same: Tensor, seed: int = 0) -> Evidence:
    """Triples across the boundaries of some of the K units; same: units that share a boundary [S, K, K]."""
    chosen = slice(units.start, units.stop)
    ends, crossing = _ends(scene, chosen, seed)
    a, b = (_rows(scene.sample_heights, ends[..., i]) for i in (0, 1))  # [S, J, T, K]
    index = torch.arange(units.start, units.stop, device=a.device).view(1, -1, 1, 1).expand(*a.shape[:3], 1)
    below, above = (u.gather(3, index).squeeze(3) for u in (a, b))
    share = torch.where(crossing, below / (below - above), 0.5)  # where the segment meets the boundary
    at = torch.lerp(a, b, share.unsqueeze(3))
    ahead = (at / (b - a)).abs()  # the share of the segment from there to every other boundary
    ahead = ahead.masked_fill(same[:, chosen].unsqueeze(2) | (a == b), torch.inf)
    step = torch.minimum(ahead.amin(3), torch.minimum(share, 1 - share)) / 2
    x_a, x_b = (_rows(scene.points, ends[..., i]) for i in (0, 1))
    middle, along = torch.lerp(x_a, x_b, share.unsqueeze(3)), x_b - x_a
    if scene.students.depth > 2:
        step = _shortened(scene, middle, along, step)
    kink = (1 - scene.leak) * step * (above - below) * crossing
    points = _triple(middle, along, step)
    gradients = scene.gradient_at(points.flatten(1, 3)).view(*points.shape[:4], -1)
    active = (at[..., scene.m :] > 0) & (kink > 0).unsqueeze(3) & ~same[:, chosen, scene.m :].unsqueeze(2)
    return Evidence(points, kink, active, gradients, ends)


def _ends(scene: Scene, chosen: slice, seed: int) -> tuple[Tensor, Tensor]:
    """Samples drawn on the negative and the positive side: [S, J, T, 2], and whether there are any [S, J, T]."""
    u = scene.sample_heights[..., chosen].mT  # [S, J, N]
    keys = draws.keys([seed] * scene.members, "segments", u.device)
    order = draws.uniforms(keys, scene.samples).unsqueeze(1)
    sides, some = [], []
    for side in (u < 0, u > 0):
        best = torch.where(side, order, -1).topk(min(_SEGMENTS, scene.samples), dim=2)
        count = (best.values > 0).sum(2, keepdim=True)
        turn = torch.arange(_SEGMENTS, device=u.device).expand(*u.shape[:2], -1) % count.clamp_min(1)
        sides.append(best.indices.gather(2, turn))
        some.append((count > 0).expand(-1, -1, _SEGMENTS))
    return torch.stack(sides, dim=3), some[0] & some[1]


def _rows(values: Tensor, index: Tensor) -> Tensor:
    """Rows of [S, N, w] at [S, J, T]: [S, J, T, w]."""
    flat = index.flatten(1).unsqueeze(2).expand(-1, -1, values.shape[2])
    return values.gather(1, flat).view(*index.shape, values.shape[2])


def _triple(middle: Tensor, along: Tensor, step: Tensor) -> Tensor:
    move = step.unsqueeze(3) * along
    return torch.stack([middle, middle + move, middle - move], dim=3)


def _shortened(scene: Scene, middle: Tensor, along: Tensor, step: Tensor) -> Tensor:
    """Steps so short that no unit of an upper layer switches; 0 where none was found.

    On either side of x_0 the first layer is linear, so a unit above with the same sign at both ends keeps it between
    them, and so on upwards: equal signs at the three points are a proof.
    """
    for _ in range(_HALVINGS):
        points = _triple(middle, along, step).flatten(1, 3)
        signs = torch.cat([upper_signs(network, points) for network in scene.both], dim=2)
        signs = signs.view(*step.shape, 3, -1)
        equal = (signs == signs[..., :1, :]).all(4).all(3)
        if bool(equal.all()):
            return step
        step = torch.where(equal, step, step / 2)
    return torch.where(equal, step, 0)


def upper_signs(network: Network, points: Tensor) -> Tensor:
    """Whether each hidden unit above the first layer is active: [S, P, d] -> bool [S, P, n_2 + ... + n_{L-1}]."""
    layers = forward(network, points).features[2:-1]
    return torch.cat([f > 0 for f in layers], dim=2) if layers else points.new_zeros(*points.shape[:2], 0).bool()


def seen_by(scene: Scene, unit: Tensor) -> Tensor:
    r"""Which students observe the boundary of a unit in the convex hull of the samples: unit [S] -> bool [S, n].

    Exact: R_0 ∩ E_k ∩ dE_j is not empty (Tian 2020, Def. 4) when some segment between two samples crosses dE_j where k
    is active, that is unless one slope s bounds u_k <= s u_j over all samples: then u_k <= 0 wherever u_j = 0.
    """
    u = scene.sample_heights.gather(2, unit.view(-1, 1, 1).expand(-1, scene.samples, 1))
    students = scene.sample_heights[..., scene.m :]
    slope = students / u
    least = torch.where(u > 0, slope, -torch.inf).amax(1)  # slopes from here up bound the samples above
    most = torch.where(u < 0, slope, torch.inf).amin(1)  # slopes up to here bound those below
    on_it = ((u == 0) & (students > 0)).any(1)
    both = ((u > 0).any(1) & (u < 0).any(1)) | (u == 0).any(1)
    return (on_it | (least > most)) & both
