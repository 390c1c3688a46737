"""What Phuong 2021, chapter 3 says of the way: the equations, balance, sectors that are reached and never left."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from tutelage.certificates.records import Finding, Part, check, unknown
from tutelage.margins.certificates.scene import MarginScene, margin_certificate
from tutelage.margins.flow import NONE, linear_twin, velocity
from tutelage.margins.losses import log_loss
from tutelage.margins.sectors import signs


@margin_certificate("flow-equations", source="Lemma B.3")
def flow_equations(scene: MarginScene, *, tolerance: float = 1e-10) -> Sequence[Finding]:
    """Speeds are minus the gradient, with the span of samples on a unit's boundary taken out.

    Held against automatic differentiation for units without a sample on their boundary; for the others, the part of
    the speed along those samples is looked at. Up to log t = 30, beyond which the loss has few digits left.
    """
    course, data = scene.course, scene.course.data
    worst, along = torch.zeros(2, scene.members, dtype=torch.float64)
    for place, log_t in enumerate(course.log_times):
        if log_t > 30:
            continue
        w, a = course.w[place], course.a[place]
        dw, da = velocity(w, a, data, course.loss)
        grad_w, grad_a = _gradients(w, a, scene)
        free = (signs(w, data) != 0).all(2)
        off = torch.maximum(((dw + grad_w).norm(dim=2) * free).amax(1), ((da + grad_a).abs() * free).amax(1))
        size = torch.maximum(grad_w.norm(dim=2), grad_a.abs()).amax(1).clamp_min(1e-300)
        worst = torch.maximum(worst, off / size)
        stuck = (dw @ data.x.mT).abs() * (signs(w, data) == 0)
        along = torch.maximum(along, stuck.amax((1, 2)) / (size * data.x.norm(dim=2).amax(1)))
    return [
        Finding(
            [
                Part("units off all boundaries", (), check("difference", float(worst[s]), "<=", tolerance)),
                Part("units on a boundary", (), check("speed across it", float(along[s]), "<=", tolerance)),
            ]
        )
        for s in range(scene.members)
    ]


def _gradients(w: Tensor, a: Tensor, scene: MarginScene) -> tuple[Tensor, Tensor]:
    """dl/dw and dl/da by automatic differentiation."""
    w, a = w.clone().requires_grad_(), a.clone().requires_grad_()
    data = scene.course.data
    margin = data.y * ((w @ data.x.mT).relu() * a.unsqueeze(2)).sum(1)
    total = log_loss(scene.course.loss, margin).exp().sum()
    grad_w, grad_a = torch.autograd.grad(total, (w, a))
    return grad_w, grad_a


@margin_certificate("balance", source="Lemma B.4")
def balance(scene: MarginScene, *, tolerance: float = 1e-6) -> Sequence[Finding]:
    """Balanced units stay balanced and keep the signs of their fan-outs, and none grows faster than exp(n B V t).

    B bounds the slope of the loss and V the samples; where B is infinite the last part says nothing. An imbalance is
    held against the greatest length a unit has had, since a unit that shrinks keeps the rounding of its greater days.
    """
    course = scene.course
    lengths = course.w.norm(dim=3)
    off = ((course.a.abs() - lengths).abs() / lengths.cummax(0).values.clamp_min(1e-300)).amax((0, 2))
    flips = (course.a.sign() != course.a[0].sign()).sum((0, 2))
    allowed = course.data.count * scene.loss.bound * course.data.x.norm(dim=2).amax(1)
    times = torch.tensor(course.log_times, dtype=torch.float64).exp()[:, None]
    grown = (2 * (course.a.abs().log() - course.a[0].abs().log())).abs().amax(2)
    excess = (grown - allowed * (times - times[0])).amax(0)
    out = []
    for s in range(scene.members):
        kept = check("largest imbalance", float(off[s]), "<=", tolerance)
        parts = [
            Part("lengths", (), kept),
            Part("signs", (), check("fan-outs that changed sign", int(flips[s]), "<=", 0)),
        ]
        if math.isfinite(scene.loss.bound):
            parts.append(Part("growth", (), check("log a^2 beyond the bound", float(excess[s]), "<=", 1e-9)))
        else:
            parts.append(Part("growth", (), unknown("log a^2 beyond the bound", "the slope of this loss is unbounded")))
        out.append(Finding(parts, (scene.balanced(s),)))
    return out


@margin_certificate("early-phase", source="Lemma 3.1")
def early_phase(scene: MarginScene) -> Sequence[Finding]:
    """From some time on every unit is inactive on all samples, or in the extremal sector of its fan-out's sign.

    On orthogonally separable data, where the sectors are known; "small enough" is not checked, so a failure may say
    that the start was too large.
    """
    out = []
    for s in range(scene.members):
        sizes = [int((scene.course.groups[s] == g).sum()) for g in (0, 1, -1)]
        when = scene.course.settled()[s]
        words = f"J_0 {sizes[0]}, J_+ {sizes[1]}, J_- {sizes[2]}, log T = {when:.3g}"
        outside = int((scene.course.groups[s] == NONE).sum())
        conclusion = check("units in none of the groups", outside, "<=", 0, words)
        conditions = (*scene.separable(s), scene.balanced(s))
        out.append(Finding([Part("all units", (), conclusion)], conditions))
    return out


@margin_certificate("absorbing-sectors", source="Lemma 3.3")
def absorbing_sectors(scene: MarginScene) -> Sequence[Finding]:
    """A unit in the extremal sector of its fan-out's sign stays there for ever.

    Seen at every step of the flow, and again in the recorded weights.
    """
    course = scene.course
    groups = torch.stack([course.groups_at(place) for place in range(len(course.log_times))])
    inside = (groups == 1) | (groups == -1)
    was = inside.int().cummax(0).values.bool()
    lost = (was & ~inside).any(0)
    out = []
    for s in range(scene.members):
        entered = check("units that were in their sector", int(was[-1, s].sum()), ">=", 1)
        gone = lost[s] | (course.left[s] > 0)
        named = f"units {gone.nonzero().flatten().tolist()}" if gone.any() else ""
        part = Part("all units", (entered,), check("units that left it", int(gone.sum()), "<=", 0, named))
        out.append(Finding([part], scene.separable(s)))
    return out


@margin_certificate("growing-heights", source="Lemma B.5")
def growing_heights(scene: MarginScene, *, tolerance: float = 1e-8) -> Sequence[Finding]:
    """Once active on a sample of its fan-out's class, a unit stays so, and the height w_j.x_k never falls.

    A fall is held against the unit's length times the sample's.
    """
    course, data = scene.course, scene.course.data
    heights = course.heights()
    same_class = course.a[0].sign().unsqueeze(2) == data.y.unsqueeze(1)
    size = course.w.norm(dim=3).unsqueeze(3) * data.x.norm(dim=2)[:, None]
    active = (heights > 0) & same_class
    fall = ((heights[:-1] - heights[1:]) / size[:-1].clamp_min(1e-300) * active[:-1]).clamp_min(0)
    lost = (active[:-1] & ~active[1:]).sum((0, 2, 3))
    out = []
    for s in range(scene.members):
        several = check("records", len(course.log_times), ">=", 2)
        worst = float(fall[:, s].max()) if len(fall) else 0.0
        parts = [
            Part("activity", (), check("active samples lost", int(lost[s]), "<=", 0)),
            Part("heights", (), check("largest fall", worst, "<=", tolerance)),
        ]
        out.append(Finding(parts, (*scene.separable(s), several)))
    return out


@margin_certificate("two-linear-networks", source="proof of Theorem 3.1, eqs. 3.15 and 3.16")
def two_linear_networks(scene: MarginScene, *, tolerance: float = 1e-5) -> Sequence[Finding]:
    """Once all units are in their sectors, the network is two linear ones that learn one class each.

    These are followed by themselves from the first record at which all units of all members are in their groups.
    """
    course = scene.course
    ready = [i for i in range(len(course.log_times)) if (course.groups_at(i) != NONE).all()]
    first = check("records with all units in their groups", len(ready), ">=", 2)
    if len(ready) < 2:
        waits = unknown("distance of the two ways", "there are not two records with all units in their groups")
        part = Part("the way", (), waits)
        return [Finding([part], (*scene.separable(s), first)) for s in range(scene.members)]
    twin = linear_twin(course, ready[0])
    size = course.w[ready[0] :].flatten(2).norm(dim=2)
    off = ((twin.w - course.w[ready[0] :]).flatten(2).norm(dim=2) / size).amax(0)
    return [
        Finding(
            [Part("the way", (), check("distance of the two ways", float(off[s]), "<=", tolerance))],
            (*scene.separable(s), first),
        )
        for s in range(scene.members)
    ]


@margin_certificate("units-that-live", source="proof of Theorem 3.1")
def units_that_live(scene: MarginScene, *, errors: float = 4.0) -> Sequence[Finding]:
    """A unit that starts active on a sample of its fan-out's class is never lost, so at most half of all are in J_0.

    The second part is about all units of all members together, drawn with fair signs: their share in J_0 against 1/2
    plus so many standard errors. All units of a network are lost with probability at most 2^-p.
    """
    course, data = scene.course, scene.course.data
    active = course.heights()[0] > 0
    same_class = course.a[0].sign().unsqueeze(2) == data.y.unsqueeze(1)
    safe = (active & same_class).any(2)
    lost = safe & (course.groups == 0)
    share = float((course.groups == 0).double().mean())
    bound = 0.5 + errors * math.sqrt(0.25 / course.groups.numel())
    together = check("share of units in J_0", share, "<=", bound, f"of {course.groups.numel()} units of all members")
    out = []
    for s in range(scene.members):
        some = check("units that start active on their class", int(safe[s].sum()), ">=", 1)
        parts = [
            Part("units that start active", (some,), check("of them in J_0", int(lost[s].sum()), "<=", 0)),
            Part("all members together", (), together),
        ]
        out.append(Finding(parts, (*scene.separable(s), scene.balanced(s))))
    return out
