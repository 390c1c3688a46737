"""Unspecialised students are prunable (Tian 2020, Theorem 2; Tian 2019, Theorem 3)."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from tutelage.certificates.records import Condition, Finding, Part, check
from tutelage.specialisation.certificates.alignment import apart_condition, gradient_condition
from tutelage.specialisation.certificates.evidence import Evidence, evidence, seen_by
from tutelage.specialisation.certificates.hyperplanes import Distances, aligned_at, distances, rounding
from tutelage.specialisation.certificates.scene import Scene, certificate

UNALIGNED = "a student unit is unaligned"
_OBSERVERS = "independent observers"
RESOLVED = "the gradient is too small to hide a fan-out"
_FAN_OUT = "net fan-out of the units with this boundary"


@dataclass(frozen=True, eq=False)
class BoundaryGroups:
    """Students by boundary, one row per unit: the unit that stands for its group, their net fan-out and its bound.

    leader: the first student with this boundary [S, n]; unaligned: bool [S, n], leaders that share no teacher's
    boundary; net: sum of v_k' |w~_k'| over the group [S, n, C]; bound: what the gradient leaves possible for its norm
    [S, n]; rank: independent observers met [S, n]; observers: bool [S, n, n].
    """

    between: Distances
    found: Evidence
    same: Tensor
    leader: Tensor
    unaligned: Tensor
    net: Tensor
    bound: Tensor
    rank: Tensor
    observers: Tensor


def groups(scene: Scene, alignment: float | None) -> BoundaryGroups:
    """Students with the same boundary taken together, and what their observers say about them."""
    return scene.once(("groups", alignment), lambda: _groups(scene, alignment))


def _groups(scene: Scene, alignment: float | None) -> BoundaryGroups:
    between = distances(scene)
    same = between.same(rounding(scene))
    triples = evidence(scene, range(scene.m, scene.units), same)
    shared = same[:, scene.m :, scene.m :]
    leader = shared.int().argmax(2)
    leads = leader == torch.arange(scene.n, device=leader.device)
    near = (between.worst[:, scene.m :, : scene.m] <= aligned_at(scene, alignment).unsqueeze(1)).any(2)
    fan_out = scene.students.weights[1]
    net = shared.to(fan_out.dtype) @ (fan_out * scene.lengths[:, scene.m :, None])
    size = torch.maximum(triples.gradients.abs().amax(3), scene.rounding[:, None, None, None])
    each = torch.where(triples.active, 4 * size / triples.kink.unsqueeze(3), torch.inf).amin(2)  # [S, n, observers]
    observers = each.isfinite()
    stacked = fan_out.unsqueeze(1) * observers.unsqueeze(3)  # [S, n, observers, C]
    values = torch.linalg.svdvals(stacked)
    values = torch.nn.functional.pad(values, (0, max(0, scene.students.outputs - values.shape[2])))
    rank = (values > values[..., :1] * scene.n * scene.eps).sum(2)
    least = values[..., scene.students.outputs - 1]
    bound = torch.where(observers, each, 0).norm(dim=2) / least + _floor(scene)[:, None]
    bound = torch.where(rank >= scene.students.outputs, bound, torch.inf)
    unaligned = leads & ~near & ~scene.flat[:, scene.m :]
    return BoundaryGroups(between, triples, same, leader, unaligned, net, bound, rank, observers)


def _floor(scene: Scene) -> Tensor:
    """What rounding can leave of a net fan-out that is 0: [S]."""
    return 8 * scene.eps * strengths(scene).sum(1)


def strengths(scene: Scene) -> Tensor:
    """|v_k| |w~_k| of every student: [S, n]."""
    return scene.students.weights[1].norm(dim=2) * scene.lengths[:, scene.m :]


def resolved(bound: float, strongest: float) -> Condition:
    """Not a condition of the papers: a bound above the strongest fan-out of all students says nothing of any."""
    return check(RESOLVED, bound, "<", strongest, "bound and strongest fan-out", decided=bound < strongest)


@certificate("pruning", source="Tian 2020, Theorem 2; Tian 2019, Theorem 3")
def pruning(scene: Scene, *, tolerance: float | None = None, alignment: float | None = None) -> Sequence[Finding]:
    r"""Where the gradient is zero, an unaligned student unit with C independent observers has no net fan-out.

    :math:`\sum_{k'} v_{k'} \|\tilde w_{k'}\| = 0` over the units with its boundary; alone on it, its :math:`v_k = 0`.
    Observer o gives :math:`|v_o \cdot u| \le 4\max|g_o|/\mathrm{kink}` for that sum u (:mod:`.evidence`), so what is
    left of the gradient bounds :math:`\|u\|` by the norm of these over the smallest singular value of the stacked
    :math:`v_o`; where a tolerance above rounding lets that bound exceed every fan-out, nothing is decided. Units that
    are turned over share the boundary and count (:mod:`.hyperplanes`); the papers leave them out, and then the sum need
    not vanish.

    tolerance: the largest gradient taken for zero; alignment: how near (Tian 2020, Def. 3) a teacher unit must be for a
    student to count as aligned. Both are at the level of rounding by default.
    """
    grouping = groups(scene, alignment)
    near = aligned_at(scene, alignment)
    allowed = scene.rounding if tolerance is None else torch.full_like(scene.rounding, tolerance)
    gradient = gradient_condition(scene, grouping.found, allowed)
    apart = apart_condition(scene, grouping.between, near)
    observers = observer_conditions(scene, grouping)
    net, bound = grouping.net.norm(dim=2).tolist(), grouping.bound.tolist()
    strongest = strengths(scene).amax(1).tolist()
    out = []
    for s in range(scene.members):
        parts = []
        for k in grouping.unaligned[s].nonzero().flatten().tolist():
            others = [u for u in grouping.same[s, scene.m + k, scene.m :].nonzero().flatten().tolist() if u != k]
            about = f"student unit {k}" + (f" (with {', '.join(map(str, others))})" if others else "")
            conclusion = check(_FAN_OUT, net[s][k], "<=", bound[s][k], units=[k, *others])
            parts.append(Part(about, (observers[s][k], resolved(bound[s][k], strongest[s])), conclusion))
        settings = {"tolerance": float(allowed[s]), "alignment": float(near[s].max())}
        out.append(Finding(parts or [_nothing()], (gradient[s], apart[s]), settings))
    return out


def _nothing() -> Part:
    """The part of a member none of whose students is unaligned."""
    none = check(UNALIGNED, 0, ">=", 1, "every one has the boundary of a teacher unit, or none at all")
    return Part("no student unit", (none,), check(_FAN_OUT, 0, "<=", 0))


def observer_conditions(scene: Scene, grouping: BoundaryGroups) -> list[dict[int, Condition]]:
    """For every unaligned student, by its number: whether C of its observers are independent.

    Where the tried segments show too few, all segments between samples are asked: with them too few, it is certain.
    """
    outputs, out = scene.students.outputs, []
    rank, number = grouping.rank.tolist(), grouping.observers.sum(2).tolist()
    for s in range(scene.members):
        row = {}
        for k in grouping.unaligned[s].nonzero().flatten().tolist():
            row[k] = check(_OBSERVERS, rank[s][k], ">=", outputs, f"{number[s][k]} observers met")
        out.append(row)
    short = grouping.unaligned & (grouping.rank < outputs)
    for k in short.any(0).nonzero().flatten().tolist():
        sees = seen_by(scene, torch.full((scene.members,), scene.m + k, device=short.device))
        sees = sees & ~grouping.same[:, scene.m + k, scene.m :]
        ranks = torch.linalg.matrix_rank(scene.students.weights[1] * sees.unsqueeze(2), rtol=scene.n * scene.eps)
        for s in short[:, k].nonzero().flatten().tolist():
            if int(ranks[s]) >= outputs:
                text = f"{int(sees[s].sum())} observers, not all of them met on a segment that was tried"
                out[s][k] = check(_OBSERVERS, rank[s][k], ">=", outputs, text, decided=False)
    return out


_TURNED = "no unaligned unit is turned over"
_FLAT = "every student unit has weights"
_CONTRIBUTION = "contribution of the unaligned units to the output"


@certificate("prunable-part", source="Tian 2020, Corollary 1; Tian 2019, Corollary 2")
def prunable_part(scene: Scene, *, tolerance: float | None = None, alignment: float | None = None) -> Sequence[Finding]:
    r"""Where the gradient is zero and observers suffice, all unaligned student units together add nothing.

    .. math:: \max_i \Bigl\|\sum_{k} v_k f_k(x_i)\Bigr\| \le \sum_s \mathrm{bound}_s \max_i |f_s(x_i)|

    over the groups s of ``pruning``, whose net fan-outs are bounded there. The corollary needs a condition the papers
    do not state: v relu(u) - v relu(-u) = v u has no kink for an observer to see and yet is not zero, so no two
    unaligned units may be each other turned over.

    Examples
    --------
    A student that is its teacher with two units more, whose fan-outs cancel:

    >>> import tutelage as tt
    >>> from tutelage.networks import Network
    >>> teacher = tt.teachers.Levels(inputs=4, hidden=3, outputs=2).build([0], dtype=torch.float64)
    >>> w, b, v = (torch.full(size, 0.2, dtype=torch.float64) for size in ((1, 4, 1), (1, 1), (1, 1, 2)))
    >>> below, above = torch.cat([teacher.weights[0], w, 2 * w], 2), torch.cat([teacher.weights[1], v, -v / 2], 1)
    >>> student = Network((below, above), (torch.cat([teacher.biases[0], b, 2 * b], 1), teacher.biases[1]))
    >>> x = 1.5 * torch.randn(1, 300, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    >>> [certificate] = tt.certify("prunable-part", teacher, student, x)
    >>> certificate.verdict, certificate.parts[0].conclusion.data["units"]
    ('holds', [3, 4])
    """
    grouping, near = groups(scene, alignment), aligned_at(scene, alignment)
    allowed = scene.tolerance(tolerance)
    gradient = gradient_condition(scene, grouping.found, allowed)
    apart = apart_condition(scene, grouping.between, near)
    observers = observer_conditions(scene, grouping)
    of_students = slice(scene.m, None)
    member = grouping.unaligned.gather(1, grouping.leader)  # every unit of an unaligned group
    features = scene.activity.features[1]
    added = torch.bmm(features * member.unsqueeze(1), scene.students.weights[1]).norm(dim=2)
    value, sample = added.max(1)
    reach = (features.abs().amax(1) / scene.lengths[:, of_students]) * grouping.unaligned
    loosest, strongest = torch.where(grouping.unaligned, grouping.bound, 0).amax(1), strengths(scene).amax(1)
    bound = torch.where(reach > 0, grouping.bound * reach, 0).sum(1)
    turned = grouping.same[:, of_students, of_students] & grouping.between.reversed[:, of_students, of_students]
    turned = turned & member.unsqueeze(1) & member.unsqueeze(2)
    flat = scene.flat[:, of_students]
    out = []
    for s in range(scene.members):
        pairs = turned[s].triu(1).nonzero().tolist()
        who = f"student units {pairs[0][0]} and {pairs[0][1]}" if pairs else ""
        constant = flat[s].nonzero().flatten().tolist()
        outputs = scene.students.outputs
        nothing = check(_OBSERVERS, outputs, ">=", outputs, "nothing is unaligned")
        conditions = (
            min(observers[s].values(), key=_least_met, default=nothing),
            resolved(float(loosest[s]), float(strongest[s])),
            check(_TURNED, len(pairs), "<=", 0, who, pairs=pairs),
            check(_FLAT, len(constant), "<=", 0, f"student units {constant}" if constant else "", units=constant),
        )
        units = member[s].nonzero().flatten().tolist()
        conclusion = check(
            _CONTRIBUTION, float(value[s]), "<=", float(bound[s]), f"sample {int(sample[s])}", units=units
        )
        settings = {"tolerance": float(allowed[s]), "alignment": float(near[s].max())}
        part = Part(f"{len(units)} student units", conditions, conclusion)
        out.append(Finding([part], (gradient[s], apart[s]), settings))
    return out


def _least_met(condition: Condition) -> tuple[bool, bool, float]:
    """False before not decided before true, then by value."""
    return condition.holds is not False, condition.holds is not None, condition.value or 0.0
