"""A small gradient on finitely many samples brings a student unit near a teacher unit (Tian 2020, Theorems 3 to 7).

The gradient is zero nowhere in practice, so alignment becomes nearness: augment the samples around every boundary by
moves that cross it, along every axis (Theorems 3, 6) or across the boundary itself where the teacher is known (4, 7).
A gradient below epsilon_0 at these points leaves a student boundary within epsilon. The bound on epsilon_0 and the
number of samples depend on how many boundaries there are nearby: K units for two layers, Q pieces for deep networks
(Theorem 5), which are enumerated on the box of the samples while they are few.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from tutelage.certificates.records import Condition, Finding, Part, check, unknown
from tutelage.errors import TutelageError
from tutelage.specialisation.certificates._boundaries import (
    REGULAR,
    Constants,
    Surroundings,
    boundaries,
    constants,
    hyperplanes,
    needed,
)
from tutelage.specialisation.certificates.alignment import ALPHA, apart_condition
from tutelage.specialisation.certificates.hyperplanes import distances
from tutelage.specialisation.certificates.scene import Scene, certificate
from tutelage.training.inputs.augmentation import teacher_agnostic


@certificate("polynomial-samples", source="Tian 2020, Theorems 3 and 6")
def polynomial_samples(scene: Scene, *, epsilon: float = 0.1, epsilon_0: float | None = None) -> Sequence[Finding]:
    r"""A small gradient on enough samples, each moved along every axis, brings a student unit within epsilon.

    The proof works in a band of half-width :math:`\varepsilon' = \varepsilon/(c K^{3/2}\sqrt d)` around teacher
    boundary j, K = m + n. The paper leaves c open; here eps' is the widest with :math:`M_1\varepsilon' \le \varepsilon`
    and :math:`M_2\varepsilon' \le \varepsilon` for the eta and mu measured in the band. Asked for: more than
    :math:`(\gamma+3)K(d+1)` samples of the band where student k is active, :math:`\gamma = 2\sqrt d`, and
    :math:`\|g_1\|_\infty \le |\alpha_{kj}|(1 - c_\mathrm{leaky})\varepsilon'/5` on the samples and on those of the band
    moved by :math:`\pm 2\sqrt d\,\varepsilon' e_u` (Def. 7a). The paper writes alpha for its absolute value.

    epsilon_0: teacher units must be further apart than this (Assumption 3a); epsilon itself by default.
    """
    return findings(scene, first_layers(scene), epsilon, epsilon_0, "agnostic")


@certificate("teacher-aware-samples", source="Tian 2020, Theorems 4 and 7")
def teacher_aware_samples(scene: Scene, *, epsilon: float = 0.1, epsilon_0: float | None = None) -> Sequence[Finding]:
    r"""A small gradient on fewer samples, moved across the teacher's boundaries, brings a student unit within epsilon.

    As ``polynomial-samples`` with :math:`\gamma = 2` instead of :math:`2\sqrt d` and samples of the band moved by
    :math:`\pm 2\varepsilon' \tilde w^*_j` (Def. 7b): knowing the teacher saves the root of d in the gradient and a
    factor of it in the samples.
    """
    return findings(scene, first_layers(scene), epsilon, epsilon_0, "aware")


@certificate("deep-lowest-layer", source="Tian 2020, Theorem 5", layers="deep")
def deep_lowest_layer(
    scene: Scene, *, epsilon: float = 0.1, epsilon_0: float | None = None, regions: int = 20_000
) -> Sequence[Finding]:
    r"""A small gradient on enough samples brings a student unit of the lowest layer of a deep network within epsilon.

    As ``polynomial-samples`` with K replaced by the number Q of flat pieces that the boundaries of all hidden units of
    both networks have, and :math:`|\alpha_{kj}|` by its least value over the regions on which it is constant. Both are
    found exactly, on the box of the samples, when there are at most ``regions`` regions; otherwise the pieces that the
    samples prove there to be are counted, and at best the certificate is not decided.
    """
    around = [boundaries(scene, member, epsilon, regions) for member in range(scene.members)]
    return findings(scene, around, epsilon, epsilon_0, "agnostic")


OBSERVED = "samples in the band where a student unit is active"
SPREAD = "at most d + 1 samples of the band lie on one hyperplane"
GRADIENT = "gradient on the augmented samples is small"
ALIGNED = "distance from the nearest student unit"

Augmentation = Literal["agnostic", "aware"]
_POINTS = 1 << 14  # augmented points looked at at once


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
    # Invariant: the width asked for by the constants of the last band. A narrower band has other samples and so other
    # constants, so it is asked again until a band meets its own; the width falls in every round, and without samples it
    # ends.
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
