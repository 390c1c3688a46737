"""Where the gradient is zero, a teacher unit that is observed has a student unit with the same boundary.

Two theorems with one thought: Tian 2020, Theorem 1 (Tian 2019, Theorem 2) for two layers, Tian 2019, Theorem 4 for the
lowest layer of deep networks. Cross the boundary of teacher unit j along a short segment on which student unit k is
active. The gradient of k changes its slope there by alpha_kj times the kink of unit j, and only a student unit with
the same boundary can bring the slope back. So if the gradient is zero at three points of the segment and alpha_kj is
not, such a student unit exists.

The code turns this round. For every teacher unit it looks for the segment and the observer that say most
(:func:`look`), then writes down each condition with its value and its bound (:func:`_findings`), and the distance to
the nearest student boundary as the conclusion. A gradient in floating point is never zero: what rounding can leave of
it counts as zero, and where even that could hide the unit, nothing is decided. The cost is one gradient at three points
per segment and unit.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite

import torch
from torch import Tensor

from tutelage.certificates.records import Condition, Finding, Part, check, unknown
from tutelage.functions.checks import rounded_up
from tutelage.networks import alpha, fan_out, forward
from tutelage.specialisation.certificates.evidence import Evidence, evidence, seen_by
from tutelage.specialisation.certificates.hyperplanes import Distances, aligned_at, distances, rounding
from tutelage.specialisation.certificates.scene import Scene, certificate


@certificate("alignment", source="Tian 2020, Theorem 1; Tian 2019, Theorem 2")
def alignment(scene: Scene, *, tolerance: float | None = None, alignment: float | None = None) -> Sequence[Finding]:
    r"""Where the gradient is zero, every observed teacher unit has a student unit with the same boundary.

    R_0 is the convex hull of the samples, and the gradient is asked for at the samples and at the three points the
    proof uses for each teacher unit j (:mod:`.evidence`). There :math:`\alpha_{kj}` can be cancelled by students with
    this boundary alone, unless what is left of the gradient hides it:
    :math:`4\max|g_k| \ge |\alpha_{kj}|\,\mathrm{kink}`, which only a tolerance above rounding allows.

    tolerance: the largest gradient taken for zero; alignment: the distance up to which two boundaries count as the
    same (Tian 2020, Def. 3). Both are at the level of rounding by default.
    """
    return _advised(scene, tolerance, alignment)


@certificate("deep-alignment", source="Tian 2019, Theorem 4", layers="deep")
def deep_alignment(
    scene: Scene, *, tolerance: float | None = None, alignment: float | None = None
) -> Sequence[Finding]:
    r"""Where the gradient is zero, a teacher unit of the lowest layer seen in one linear region has a student unit.

    The region R is the one around three points that straddle the boundary while every unit above keeps its sign, so
    that :math:`\alpha_{kj}(R)` is a number. Whether such a region exists is searched on segments between samples:
    where none is found the certificate says that it is not decided.
    """
    return _advised(scene, tolerance, alignment)


GRADIENT = "gradient is zero"
APART = "teacher units are not co-linear"
REGULAR = "the unit has weights"
_VISIBLE = "boundary is visible in the data"
OBSERVED = "observed by a student unit"
ALPHA = "alpha is not zero"
RESOLVED = "the gradient is too small to hide the unit"
ALIGNED = "a student unit has this boundary"


@dataclass(frozen=True, eq=False)
class Look:
    """The numbers of one scene, stacked: one row per member, one column per teacher unit."""

    found: Evidence
    between: Distances
    tolerance: Tensor  # [S]
    alignment: Tensor  # [S, m]
    observer: Tensor  # [S, m]
    segment: Tensor  # [S, m]
    alpha: Tensor  # [S, m]
    left_over: Tensor  # [S, m], the largest gradient of the observer at its triple
    hidden: Tensor  # [S, m], the gradient that could hide the unit: |alpha| kink / 4
    observed: Tensor  # bool [S, m]


def look(scene: Scene, tolerance: float | None, alignment: float | Tensor | None, roomy: bool = False) -> Look:
    """For every teacher unit the observer and the triple that say most about it.

    That is where the gradient is smallest beside what would hide the unit; roomy: where |alpha| times the distance
    from the observer's own boundary is largest.
    """
    between, near = distances(scene), aligned_at(scene, alignment)
    every = torch.cat([near, rounding(scene).unsqueeze(1).expand(-1, scene.n)], dim=1)
    triples = evidence(scene, range(scene.m), between.same(every))
    coefficients = _coefficients(scene, triples)  # [S, m, T, n]
    hidden = coefficients.abs() * triples.kink.unsqueeze(3) / 4
    # Never below rounding: a gradient that cancels by chance must not make a segment look better than it can be.
    left = torch.maximum(triples.gradients.abs().amax(3), scene.rounding[:, None, None, None])
    if roomy:
        room = scene.heights(triples.points[:, :, :, 0].flatten(1, 2))[..., scene.m :]
        score = coefficients.abs() * room.view_as(left)
    else:
        score = hidden / left
    # An inactive observer scores -1, so it is taken only where no student observes the unit; `observed` then says so.
    best = torch.where(triples.active, score, -1).flatten(2).argmax(2)
    segment, observer = best // scene.n, best % scene.n

    def picked(values: Tensor) -> Tensor:
        return torch.where(triples.active, values, 0).flatten(2).gather(2, best.unsqueeze(2)).squeeze(2)

    allowed = scene.tolerance(tolerance)
    return Look(
        triples,
        between,
        allowed,
        near,
        observer,
        segment,
        picked(coefficients.abs()),
        picked(left),
        picked(hidden),
        triples.active.flatten(2).any(2),
    )


def _coefficients(scene: Scene, triples: Evidence) -> Tensor:
    """alpha_kj |w~_j| at every triple, constant around it: [S, m, T, n]."""
    segments = triples.kink.shape[2]
    if scene.students.depth == 2:
        return scene.alpha.mT.unsqueeze(2).expand(-1, -1, segments, -1)
    middles = triples.points[:, :, :, 0].flatten(1, 2)
    v, v_teacher = (fan_out(n, forward(n, middles), 1)[..., : n.widths[1]] for n in (scene.students, scene.teacher))
    unit = torch.arange(scene.m, device=middles.device).repeat_interleave(segments)
    unit = unit.view(1, -1, 1, 1).expand(scene.members, -1, scene.n, 1)
    at = alpha(v, v_teacher).gather(3, unit).squeeze(3).view(scene.members, scene.m, segments, scene.n)
    return at * scene.lengths[:, : scene.m, None, None]


def gradient_condition(scene: Scene, triples: Evidence, tolerance: Tensor) -> list[Condition]:
    """|g_1| at every sample and at the points of the proof, the largest of both: one condition per member."""
    on_samples, at_sample = scene.gradients[0].abs().flatten(1).max(1)
    used = (triples.kink > 0)[..., None, None] * triples.gradients.abs()
    between = used.flatten(1).amax(1)
    out = []
    rows = on_samples.tolist(), at_sample.tolist(), between.tolist(), tolerance.tolist()
    for sample, index, other, bound, nothing in zip(*rows, scene.says_nothing(tolerance).tolist(), strict=True):
        row, unit = divmod(index, scene.n)
        where = f"sample {row}, student unit {unit}" if sample >= other else "a point of the proof between two samples"
        data = {"on_samples": sample, "between_samples": other, "sample": row, "unit": unit}
        value = max(sample, other)
        advice = (
            f"train longer, or let this gradient count as zero with the option tolerance={rounded_up(value, 2)} and "
            "choose with the option alignment how near a boundary must be"
        )
        condition = check(
            GRADIENT, value, "<=", bound, where, vacuous=nothing, quantity="gradient", advice=advice, **data
        )
        out.append(condition)
    return out


def _advised(scene: Scene, tolerance: float | None, alignment: float | None) -> list[Finding]:
    """The findings; where the gradient is too large, with options under which the theorem decides, if it does.

    The pair is made of the distances and the gradient that are there. The findings are made with it once more, and the
    advice says what came of it.
    """
    view = look(scene, tolerance, alignment)
    findings = _findings(scene, view)
    missed = [s for s, finding in enumerate(findings) if finding.conditions[0].holds is False]
    if not missed:
        return findings
    other = look(scene, tolerance, _distances_there(view, scene.m) if alignment is None else alignment)
    gradients = gradient_condition(scene, other.found, other.tolerance)
    needed = [float(rounded_up(float(condition.value or 0), 2)) for condition in gradients]
    other = replace(other, tolerance=other.tolerance.new_tensor(needed))
    for s, found in enumerate(_findings(scene, other)):
        if s in missed:
            first, *rest = findings[s].conditions
            findings[s] = replace(findings[s], conditions=(replace(first, advice=_advice(found)), *rest))
    return findings


def _distances_there(view: Look, m: int) -> Tensor:
    """The largest distance of an observed teacher unit from a student, but less than half that of two teachers: [S]."""
    nearest = view.between.worst[:, :m, m:].amin(2)
    nearest = torch.where(view.observed & nearest.isfinite(), nearest, 0).amax(1)
    teachers = view.between.worst[:, :m, :m] + torch.diag_embed(torch.full_like(view.alpha, torch.inf))
    half = torch.where(teachers.isfinite(), teachers, torch.inf).flatten(1).amin(1) / 2
    there = torch.maximum(torch.minimum(nearest, 0.9 * half), view.alignment.amax(1))
    return nearest.new_tensor([float(rounded_up(value, 2)) for value in there.tolist()])


def _advice(found: Finding) -> str:
    """What to do about a gradient that is too large, from the findings under options that let it count as zero."""
    tolerance, alignment = (found.settings[name] for name in ("tolerance", "alignment"))
    if not isfinite(tolerance):
        return "train longer: the gradient is not finite, and no tolerance lets it count as zero"
    pair = f"tolerance={tolerance:g} and alignment={alignment:g}"
    counts = Counter(found.verdicts)
    if counts["holds"] or counts["fails"]:
        words = ", ".join(f"{verdict} for {counts[verdict]}" for verdict in ("holds", "fails") if counts[verdict])
        of = f" of {len(found.parts)} teacher units" if len(found.parts) > 1 else " teacher unit"
        return f"train longer, or check with the options {pair}: the theorem then {words}{of}"
    return f"train longer: even with the options {pair} the theorem decides nothing ({' and '.join(counts)})"


def apart_condition(scene: Scene, between: Distances, near: Tensor) -> list[Condition]:
    """The nearest two boundaries of teacher units; near: what counts as one boundary [S] or [S, m]."""
    apart = between.worst[:, : scene.m, : scene.m]
    apart = apart + torch.diag_embed(torch.full_like(apart[:, 0], torch.inf))
    nearest, at = apart.flatten(1).min(1)
    pairs = [divmod(index, scene.m) for index in at.tolist()]
    return [
        check(APART, value, ">", bound, f"teacher units {i} and {j}" if scene.m > 1 else "the only one", units=[i, j])
        for value, bound, (i, j) in zip(
            nearest.tolist(), near.view(scene.members, -1).amax(1).tolist(), pairs, strict=True
        )
    ]


def _findings(scene: Scene, view: Look) -> list[Finding]:
    """One finding per member, one part per teacher unit."""
    gradient = gradient_condition(scene, view.found, view.tolerance)
    apart = apart_condition(scene, view.between, view.alignment)
    u = scene.sample_heights[..., : scene.m]
    rarer = torch.minimum((u > 0).sum(1), (u < 0).sum(1)).tolist()
    nearest, who = view.between.worst[:, : scene.m, scene.m :].min(2)
    turned = view.between.reversed[:, : scene.m, scene.m :].gather(2, who.unsqueeze(2)).squeeze(2)
    observed = observed_conditions(scene, view)
    out = []
    for s in range(scene.members):
        parts = []
        for j in range(scene.m):
            conditions = (
                check(REGULAR, float(not scene.flat[s, j]), ">=", 1, "" if not scene.flat[s, j] else "all are 0"),
                check(_VISIBLE, rarer[s][j], ">=", 1, "samples on its rarer side"),
                observed[s][j],
                alpha_condition(scene, view, s, j),
                _resolved(view, s, j),
            )
            unit = int(who[s, j])
            sense = ", turned over" if turned[s, j] else ""
            conclusion = check(
                ALIGNED,
                float(nearest[s, j]),
                "<=",
                float(view.alignment[s, j]),
                f"student unit {unit}{sense}",
                quantity="distance",
                student=unit,
                reversed=bool(turned[s, j]),
            )
            parts.append(Part(f"teacher unit {j}", conditions, conclusion))
        settings = {"tolerance": float(view.tolerance[s]), "alignment": float(view.alignment[s].max())}
        out.append(Finding(parts, (gradient[s], apart[s]), settings))
    return out


def observed_conditions(scene: Scene, view: Look) -> list[list[Condition]]:
    """Whether a student observes each teacher unit: by a segment that was tried, else by all segments at once.

    For two layers the second is exact. In deeper networks it says only that a student is active somewhere on the
    boundary, and no tried segment crosses it inside one linear region, so nothing is decided.
    """
    out = [[_on_segment(view, s, j) for j in range(scene.m)] for s in range(scene.members)]
    for j in (~view.observed).any(0).nonzero().flatten().tolist():
        sees = seen_by(scene, torch.full((scene.members,), j, device=view.observed.device))
        for s in (~view.observed[:, j]).nonzero().flatten().tolist():
            number = int(sees[s].sum())
            if number == 0:
                out[s][j] = check(OBSERVED, 0, ">=", 1, "no segment between two samples crosses it where one is active")
            else:
                text = f"student unit {int(sees[s].nonzero()[0])} sees it, but on no segment that was tried"
                out[s][j] = check(OBSERVED, number, ">=", 1, text, decided=False)
    return out


def alpha_condition(scene: Scene, view: Look, s: int, j: int) -> Condition:
    """alpha_kj of the best observer; 0 on the tried segments decides nothing in deep networks."""
    if not view.observed[s, j]:
        return unknown(ALPHA, "no observer was found")
    value, least, k = float(view.alpha[s, j]), 8 * scene.eps * float(view.alpha[s].max()), int(view.observer[s, j])
    certain = scene.students.depth == 2 or value > least
    return check(ALPHA, value, ">", least, f"student unit {k}", decided=certain, student=k)


def _resolved(view: Look, s: int, j: int) -> Condition:
    """Not a condition of the papers: where a gradient within the tolerance could hide the unit, nothing is decided."""
    left, hidden = float(view.left_over[s, j]), float(view.hidden[s, j])
    return check(RESOLVED, left, "<", hidden, "at three points", decided=left < hidden)


def _on_segment(view: Look, s: int, j: int) -> Condition:
    k, t = int(view.observer[s, j]), int(view.segment[s, j])
    a, b = view.found.ends[s, j, t].tolist()
    point = view.found.points[s, j, t, 0].tolist()
    where = f"student unit {k}, between samples {a} and {b}"
    return check(OBSERVED, float(view.observed[s, j]), ">=", 1, where, student=k, samples=[a, b], point=point)
