"""How far apart two boundaries are (Tian 2020, Defs. 3 and 9), whatever side of them a unit is active on.

The paper calls two units aligned when sin(theta) <= eps and |b - b'| <= eps, and means it to stay true when a unit is
turned over. Turning over sends [w~, b] to [-w~, -b] (the paper writes [-w~, b], which is another hyperplane), so the
offsets are compared with the sign that brings the normals to an angle of at most 90 degrees.

That matters: relu(u) = u + relu(-u), so a student may learn a teacher unit with a unit that is turned over and another
that is always active. Theorems 1 and 2 of Tian 2020 then do not give w_k = gamma w_j with gamma > 0, only gamma != 0.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from tutelage.specialisation.certificates.scene import Scene


@dataclass(frozen=True, eq=False)
class Distances:
    """Between all boundaries of a scene: sine of the angle and difference of offsets, and whether one is turned over.

    sine, offset: [S, K, K]; reversed: bool [S, K, K]. Units without a boundary are infinitely far from all.
    """

    sine: Tensor
    offset: Tensor
    reversed: Tensor

    @cached_property
    def worst(self) -> Tensor:
        """max(sin(theta), |b - b'|): two units are eps-aligned when this is at most eps (Tian 2020, Def. 3). [S, K,
        K]
        """
        return torch.maximum(self.sine, self.offset)

    def same(self, tolerance: Tensor) -> Tensor:
        """Units with the same boundary, each with itself too: tolerance [S], or [S, K] per row -> bool [S, K, K]."""
        eye = torch.eye(self.sine.shape[1], dtype=torch.bool, device=self.sine.device)
        return (self.worst <= tolerance.view(len(self.sine), -1, 1)) | eye


def distances(scene: Scene) -> Distances:
    """All pairs of the K first-layer units of teacher and student."""
    return scene.once("distances", lambda: _distances(scene))


def _distances(scene: Scene) -> Distances:
    # By products of matrices, torch's default for many vectors, distances of nearly equal normals would cancel.
    exact = "donot_use_mm_for_euclid_dist"
    ahead = torch.cdist(scene.normals, scene.normals, compute_mode=exact)
    behind = torch.cdist(scene.normals, -scene.normals, compute_mode=exact)
    turned = behind < ahead
    chord = torch.minimum(ahead, behind)
    sine = chord * (1 - chord.square() / 4).clamp_min(0).sqrt()
    b = scene.offsets
    offset = torch.where(turned, b[:, :, None] + b[:, None, :], b[:, :, None] - b[:, None, :]).abs()
    nowhere = scene.flat[:, :, None] | scene.flat[:, None, :]
    far = torch.full_like(sine, torch.inf)
    return Distances(torch.where(nowhere, far, sine), torch.where(nowhere, far, offset), turned)


def rounding(scene: Scene) -> Tensor:
    """The distance at which rounding makes two equal boundaries differ: [S]."""
    return 32 * scene.eps * (1 + scene.offsets.abs().amax(1))


def aligned_at(scene: Scene, alignment: float | Tensor | None) -> Tensor:
    r"""The distance up to which a boundary counts as that of teacher unit j: [S, m].

    ``alignment`` if it is given, one for all or one per member [S]. Otherwise what rounding explains: that of the
    weights, or that of the gradient. A student boundary at a distance :math:`\delta` changes the second difference of a
    gradient by :math:`|\alpha_{kj}| \delta` (:mod:`.evidence`), so what rounding leaves of the gradient, :math:`\rho`,
    hides distances up to :math:`4\rho / \max_k |\alpha_{kj}|`. Where that is no longer small, or in deeper networks,
    whose :math:`\alpha` is not constant, the rounding of the weights alone counts.
    """
    if alignment is not None:
        given = torch.as_tensor(alignment, dtype=torch.float64).to(scene.rounding).expand(scene.members)
        return given.unsqueeze(1).expand(-1, scene.m)
    weights = rounding(scene).unsqueeze(1).expand(-1, scene.m)
    if scene.students.depth > 2:
        return weights
    hidden = 4 * scene.rounding.unsqueeze(1) / ((1 - scene.leak) * scene.alpha.abs().amax(1))
    return torch.where(hidden <= min(_SMALL, scene.eps**0.5), torch.maximum(weights, hidden), weights)


_SMALL = 1e-3
"""A distance that counts as none is at most this, and at most half the digits of the networks."""
