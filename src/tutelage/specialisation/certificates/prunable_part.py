"""All unspecialised students together add nothing (Tian 2020, Corollary 1; Tian 2019, Corollary 2)."""

from collections.abc import Sequence

import torch

from tutelage.certificates.records import Condition, Finding, Part, check
from tutelage.specialisation.certificates._aligned import apart_condition, gradient_condition
from tutelage.specialisation.certificates.hyperplanes import aligned_at
from tutelage.specialisation.certificates.pruning import OBSERVERS, groups, observer_conditions, resolved, strengths
from tutelage.specialisation.certificates.scene import Scene, certificate

TURNED = "no unaligned unit is turned over"
FLAT = "every student unit has weights"
CONTRIBUTION = "contribution of the unaligned units to the output"


@certificate("prunable-part", source="Tian 2020, Corollary 1; Tian 2019, Corollary 2")
def prunable_part(scene: Scene, *, tolerance: float | None = None, alignment: float | None = None) -> Sequence[Finding]:
    r"""Where the gradient is zero and observers suffice, all unaligned student units together add nothing.

    .. math:: \max_i \Bigl\|\sum_{k} v_k f_k(x_i)\Bigr\| \le \sum_s \mathrm{bound}_s \max_i |f_s(x_i)|

    over the groups s of ``pruning``, whose net fan-outs are bounded there. The corollary needs a condition the papers
    do not state: v relu(u) - v relu(-u) = v u has no kink for an observer to see and yet is not zero, so no two
    unaligned units may be each other turned over.
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
        nothing = check(OBSERVERS, outputs, ">=", outputs, "nothing is unaligned")
        conditions = (
            min(observers[s].values(), key=_least_met, default=nothing),
            resolved(float(loosest[s]), float(strongest[s])),
            check(TURNED, len(pairs), "<=", 0, who, pairs=pairs),
            check(FLAT, len(constant), "<=", 0, f"student units {constant}" if constant else "", units=constant),
        )
        units = member[s].nonzero().flatten().tolist()
        conclusion = check(
            CONTRIBUTION, float(value[s]), "<=", float(bound[s]), f"sample {int(sample[s])}", units=units
        )
        settings = {"tolerance": float(allowed[s]), "alignment": float(near[s].max())}
        part = Part(f"{len(units)} student units", conditions, conclusion)
        out.append(Finding([part], (gradient[s], apart[s]), settings))
    return out


def _least_met(condition: Condition) -> tuple[bool, bool, float]:
    """False before not decided before true, then by value."""
    return condition.holds is not False, condition.holds is not None, condition.value or 0.0
