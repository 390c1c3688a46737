"""A sample near one boundary and away from all others (Tian 2020, Lemma 6)."""

import math
from collections.abc import Sequence
from typing import Any

import torch

from tutelage.certificates.records import Condition, Finding, Part, check, unknown
from tutelage.errors import TutelageError
from tutelage.specialisation.certificates._bands import REGULAR, SAMPLES, constants, hyperplanes, nearest, needed
from tutelage.specialisation.certificates.scene import Scene, certificate, unit_name

SPREAD = "at most d + 1 samples of the band lie on one hyperplane"
UNALIGNED = "no other unit is aligned by (M_1 eps, M_2 eps)"
FREE = "samples in the band and outside every other"


@certificate("free-point", source="Tian 2020, Lemma 6")
def free_point(scene: Scene, *, epsilon: float = 0.1, gamma: float = 2.0) -> Sequence[Finding]:
    r"""A band with enough samples and no unit aligned with it holds a sample outside the bands of all other units.

    D is the samples within ``epsilon`` of teacher boundary j, the others are all units of teacher and student, and
    their bands have half-width gamma epsilon. eta and mu are measured on D along the directions the proof uses.
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
            conclusion = check(FREE, number[s][j], ">=", 1, where, **({"sample": first[s][j]} if where else {}))
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
