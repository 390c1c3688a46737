"""What Theorems 3 to 7 of Tian 2020 share: a small gradient on an augmented data set brings a student near a
teacher.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from tutelage.certificates.records import Condition, Finding, Part, check, unknown
from tutelage.errors import TutelageError
from tutelage.specialisation.certificates._aligned import ALPHA, apart_condition
from tutelage.specialisation.certificates._bands import REGULAR, Constants, constants, hyperplanes, needed
from tutelage.specialisation.certificates.hyperplanes import distances
from tutelage.specialisation.certificates.scene import Scene
from tutelage.training.inputs.augmentation import teacher_agnostic

OBSERVED = "samples in the band where a student unit is active"
SPREAD = "at most d + 1 samples of the band lie on one hyperplane"
GRADIENT = "gradient on the augmented samples is small"
BOUNDARIES = "all boundaries are known"
ALIGNED = "distance from the nearest student unit"

Augmentation = Literal["agnostic", "aware"]
_POINTS = 1 << 14  # augmented points looked at at once


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


@dataclass(frozen=True)
class Band:
    """The band of one teacher unit at the width eps' that the proof works with."""

    student: int
    width: float
    count: int
    share: float
    constants: Constants | None


def findings(
    scene: Scene, around: list[Surroundings], epsilon: float, apart: float | None, augmentation: Augmentation
) -> list[Finding]:
    """One finding per member, one part per teacher unit."""
    if not epsilon > 0:
        raise TutelageError(f"epsilon must be above 0, got {epsilon}")
    separation = epsilon if apart is None else apart
    if separation < epsilon:
        raise TutelageError(f"epsilon ({epsilon}) must be at most the teachers' separation epsilon_0 ({separation})")
    least = torch.full((scene.members,), separation, dtype=torch.float64)
    teachers = apart_condition(scene, distances(scene), least)
    gamma = 2 * math.sqrt(scene.students.inputs) if augmentation == "agnostic" else 2.0
    widest = epsilon / (1 + gamma)  # M_2 is at least 1 + gamma, so eps' is at most this
    height = scene.sample_heights
    active = (height[..., scene.m :] > 0).to(height.dtype)
    in_band = (height[..., : scene.m].abs() <= widest).to(height.dtype)
    counts = torch.bmm(in_band.mT, active)  # [S, m, n]
    nearest, who = distances(scene).worst[:, : scene.m, scene.m :].min(2)
    out = []
    for s in range(scene.members):
        parts = []
        for j in range(scene.m):
            conditions = _conditions(scene, around[s], s, j, counts[s, j], gamma, epsilon, augmentation)
            k = int(who[s, j])
            conclusion = check(ALIGNED, float(nearest[s, j]), "<=", epsilon, f"student unit {k}", student=k)
            parts.append(Part(f"teacher unit {j}", tuple(conditions), conclusion))
        shared = [c for c in (teachers[s], around[s].boundaries) if c]
        settings = {"epsilon": epsilon, "epsilon_0": separation, "gamma": gamma, "boundaries": around[s].count}
        out.append(Finding(parts, shared, settings))
    return out


def _conditions(
    scene: Scene,
    around: Surroundings,
    s: int,
    j: int,
    counts: Tensor,
    gamma: float,
    epsilon: float,
    augmentation: Augmentation,
) -> list[Condition]:
    """Regular, observed, spread, small gradient: those of teacher unit j of member s."""
    regular = check(REGULAR, float(not scene.flat[s, j]), ">=", 1)
    enough = needed(scene, gamma, around.count)
    plenty = counts >= enough
    k = int((around.alpha[:, j] * plenty).argmax() if plenty.any() else counts.argmax())
    if scene.flat[s, j] or counts[k] < enough:
        text = f"student unit {k}; (gamma + 3) K (d + 1) are needed"
        few = check(OBSERVED, int(counts[k]), ">=", enough, text, student=k)
        why = "not evaluated, for want of samples"
        return [regular, few, unknown(ALPHA, why), unknown(SPREAD, why), unknown(GRADIENT, why)]
    band = _narrowed(scene, around, s, j, k, gamma, epsilon)
    lemma = band.constants
    text = f"student unit {k}, share {band.share:.2f}, half-width {band.width:.3g}"
    data: dict[str, Any] = {"student": k, "kappa": band.share, "width": band.width}
    observed = check(OBSERVED, band.count, ">=", enough, text, **data)
    if lemma is None:
        spread = check(SPREAD, 1, "<=", 0, "eta is infinite")
    else:
        data = {"eta": lemma.eta, "mu": lemma.mu, "M_1": lemma.first, "M_2": lemma.second}
        spread = check(SPREAD, 0, "<=", 0, f"eta {lemma.eta:.3g}, mu {lemma.mu:.3g}", **data)
    alpha, most = float(around.alpha[k, j]), float(around.alpha.max())
    coefficient = check(ALPHA, alpha, ">", 8 * scene.eps * most, f"student unit {k}", student=k)
    return [regular, observed, coefficient, spread, _gradient(scene, around, s, j, band, augmentation)]


def _narrowed(scene: Scene, around: Surroundings, s: int, j: int, k: int, gamma: float, epsilon: float) -> Band:
    """The widest band I_j(eps') for which (M_1 eps', M_2 eps') is within epsilon, by narrowing it until it is.

    eps' = eps / (c K^{3/2} sqrt d) in the paper, whose c is whatever this asks for (Tian 2020, Theorem 6).
    """
    plane = torch.cat([scene.normals[s, j], scene.offsets[s, j : j + 1]])
    others = around.planes[around.index != j]
    height = scene.sample_heights[s, :, j].abs()
    active = scene.sample_heights[s, :, scene.m + k] > 0
    width = epsilon / (1 + gamma)
    while True:
        inside = (height <= width) & active
        lemma = constants(scene.points[s][inside], plane, others, gamma, around.count)
        share = float(inside.sum()) / max(1, int((height <= width).sum()))
        if not math.isfinite(lemma.eta):
            return Band(k, width, int(inside.sum()), share, None)
        allowed = epsilon / max(lemma.first, lemma.second)
        if allowed >= width or not inside.any():
            return Band(k, width, int(inside.sum()), share, lemma)
        width = allowed


def _gradient(scene: Scene, around: Surroundings, s: int, j: int, band: Band, augmentation: Augmentation) -> Condition:
    """|g_1| on the samples and on the augmentation of those in the band, which are all that the proof looks at."""
    height = scene.sample_heights[s]
    inside = (height[:, j].abs() <= band.width) & (height[:, scene.m + band.student] > 0)
    points = scene.points[s][inside]
    if augmentation == "agnostic":
        moved = teacher_agnostic(points, 2 * math.sqrt(points.shape[1]) * band.width)
    else:
        move = 2 * band.width * scene.normals[s, j]
        moved = torch.cat([points, points + move, points - move])
    member = Scene(scene.teacher[s], scene.students[s], points[None], scene.eps)
    largest = [float(member.gradient_at(part[None]).abs().max()) for part in moved.split(_POINTS) if len(part)]
    on_samples = max(float(scene.gradients[0][s].abs().max()), float(scene.rounding[s]))
    value, where = max([(on_samples, "a sample"), *((g, "a moved sample") for g in largest)])
    bound = float(around.alpha[band.student, j]) * (1 - scene.leak) * band.width / 5
    return check(GRADIENT, value, "<=", bound, f"{where}; {len(moved)} points around the boundary", points=len(moved))


def first_layers(scene: Scene) -> list[Surroundings]:
    """The boundaries of two-layer networks: those of all units that have one."""
    planes, out = hyperplanes(scene), []
    for s in range(scene.members):
        index = (~scene.flat[s]).nonzero().flatten()
        out.append(Surroundings(planes[s, index], index, scene.alpha[s].abs(), scene.units))
    return out
