"""Bands around boundaries: the constants of Lemma 6 of Tian 2020 for one band and the hyperplanes around it."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from tutelage.specialisation.certificates.eta_mu import eta_along, mu_along
from tutelage.specialisation.certificates.scene import Scene

SAMPLES = "samples in the band"
REGULAR = "the unit has weights"
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
    apart = chord * (1 - chord.square() / 4).clamp_min(0).sqrt()
    apart = torch.where(apart > _PARALLEL, apart, 0)
    worst = torch.maximum(_over(apart, sine), _over((others[:, -1] - plane[-1]).abs(), offset))
    value, at = worst.min(0)
    return float(value), int(at)


def _over(value: Tensor, bound: float) -> Tensor:
    """value / bound where a bound of 0 leaves room for 0 alone."""
    return value / bound if bound > 0 else torch.where(value > 0, torch.inf, 0.0)
