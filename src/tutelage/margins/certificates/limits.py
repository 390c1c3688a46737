"""What Phuong 2021, chapter 3 says of the end: margins, the two max-margin units, and what can be pruned.

A limit is never reached. Its parts ask that what is left at the last record lies below a tolerance, and that it did not
grow over the second half of the records' log t. What is left closes like 1/log t where the support samples span the
space, and of (3.8) more like 1/sqrt(log t) where they do not.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from tutelage import draws
from tutelage.certificates.records import Condition, Finding, Part, check
from tutelage.functions.pruning.surgery import prune
from tutelage.margins.certificates.scene import MarginScene, margin_certificate, out_of_reach, without_limit
from tutelage.margins.limits import fit, growth, kkt, limits, rescaled, two_neurons
from tutelage.margins.max_margin import MaxMargins
from tutelage.networks import outputs


@margin_certificate("smoothed-margin", source="eqs. 3.19 to 3.21")
def smoothed_margin(scene: MarginScene, *, tolerance: float = 1e-9) -> Sequence[Finding]:
    """From T on the smoothed margin of each class never falls, |W|^2 grows like log t and the loss like 1/(t log t).

    "Like" is held against factors of 4 between the ends of the second half of the records after T.
    """
    course = scene.course
    log_t = torch.tensor(course.log_times, dtype=torch.float64)
    out: list[list[Part]] = [[] for _ in range(scene.members)]
    for name, sign in (("positive", 1), ("negative", -1)):
        class_growth = growth(course, sign)
        loss_pace = class_growth.log_loss + log_t[:, None] + log_t.clamp_min(1e-9).log()[:, None]
        for s in range(scene.members):
            after = (log_t >= max(float(course.settled()[s]), 2.0)) & (class_growth.log_loss[:, s] < 0)
            met = (
                check("units of the sign", int((course.groups[s] == sign).sum()), ">=", 1),
                check("records after T with a small loss", int(after.sum()), ">=", 2),
            )
            if not all(c.holds for c in met):
                out[s].append(Part(f"{name} class", met, out_of_reach("not evaluated, for want of units or records")))
                continue
            margin = class_growth.smoothed_margin[after, s]
            late = slice(int(after.sum()) // 2, None)
            fall = float((margin[:-1] - margin[1:]).max() / margin.max())
            spreads = [
                float(v.max() - v.min()) for v in (class_growth.pace[after, s][late].log(), loss_pace[after, s][late])
            ]
            four = math.log(4)
            out[s] += [
                Part(f"{name} margin", met, check("largest fall", fall, "<=", tolerance)),
                Part(f"{name} norm", met, check("spread of log(|W|^2 / log t)", spreads[0], "<=", four)),
                Part(f"{name} loss", met, check("spread of log(l t log t)", spreads[1], "<=", four)),
            ]
    return [Finding(out[s], (*scene.separable(s), scene.exponential())) for s in range(scene.members)]


@margin_certificate("max-margin-limit", source="Theorem 3.1")
def max_margin_limit(scene: MarginScene, *, tolerance: float = 0.1, need_span: bool = True) -> Sequence[Finding]:
    """W/|W| tends to u w_+^T + z w_-^T and a/|a| to u |w_+| - z |w_-|, u and z non-negative with disjoint supports.

    need_span=False leaves out the condition that the support samples of each class span the space, which the paper
    takes from earlier work and believes to be superfluous.
    """
    if not isinstance(scene.margins, MaxMargins):
        return without_limit(scene)
    fitted = fit(scene.course.w, scene.course.a, scene.margins)
    out = []
    for s in range(scene.members):
        parts = [
            Part(name, (), conclusion)
            for name, left in (("first layer", fitted.first[:, s]), ("second layer", fitted.second[:, s]))
            for conclusion in _closing(scene, left, tolerance)
        ]
        out.append(Finding(parts, _assumed(scene, s, need_span)))
    return out


@margin_certificate("two-neuron-function", source="Corollary 3.1")
def two_neuron_function(
    scene: MarginScene, *, tolerance: float = 0.1, points: int = 256, need_span: bool = True
) -> Sequence[Finding]:
    """h(x)/|theta|^2 tends to u rho(w_+.x) - z rho(w_-.x) everywhere.

    At Gaussian points and the samples, over the largest value of the limit; u and z come from the fit of Theorem 3.1.
    """
    if not isinstance(scene.margins, MaxMargins):
        return without_limit(scene)
    course, plus, minus = scene.course, scene.margins.positive, scene.margins.negative
    keys = draws.keys(range(scene.members), "points of the corollary")
    drawn = draws.normals(keys, points * course.data.dimension).view(scene.members, points, -1)
    x = torch.cat([drawn, course.data.x], 1)
    fitted = fit(course.w, course.a, scene.margins)
    u, z = (c.square().sum(2) * m.norm / 2 for c, m in ((fitted.u, plus), (fitted.z, minus)))
    off = []
    for place in range(len(course.log_times)):
        size = 2 * course.w[place].square().sum((1, 2))
        h = outputs(course.network(place), x).squeeze(2) / size[:, None]
        rays = [(x @ m.w.unsqueeze(2)).squeeze(2).relu() for m in (plus, minus)]
        limit = u[place, :, None] * rays[0] - z[place, :, None] * rays[1]
        off.append((h - limit).abs().amax(1) / limit.abs().amax(1).clamp_min(1e-300))
    left = torch.stack(off)
    return [
        Finding(
            [Part("the function", (), c) for c in _closing(scene, left[:, s], tolerance)], _assumed(scene, s, need_span)
        )
        for s in range(scene.members)
    ]


@margin_certificate("sharper-limits", source="section 3.3.3, made explicit")
def sharper_limits(scene: MarginScene, *, tolerance: float = 0.1, need_span: bool = False) -> Sequence[Finding]:
    """|W_+-|^2/log t tends to |w_+-|, the share of |W_+|^2 to |w_+|/(|w_+|+|w_-|), the smoothed margins to 1/(2|w_+-|).

    The factors u and z of Corollary 3.1 both tend to 1/(2(|w_+|+|w_-|)). Differences are relative.
    """
    if not isinstance(scene.margins, MaxMargins):
        return without_limit(scene)
    course, wanted = scene.course, limits(scene.margins)
    plus, minus = growth(course, 1), growth(course, -1)
    fitted = fit(course.w[-1], course.a[-1], scene.margins)
    u, z = (
        c.square().sum(1) * m.norm / 2
        for c, m in ((fitted.u, scene.margins.positive), (fitted.z, scene.margins.negative))
    )
    share = plus.norm[-1] / (plus.norm[-1] + minus.norm[-1]).clamp_min(1e-300)
    compared = (
        ("pace of J_+", plus.pace[-1], wanted.pace_plus),
        ("pace of J_-", minus.pace[-1], wanted.pace_minus),
        ("smoothed margin of J_+", plus.smoothed_margin[-1], wanted.smoothed_plus),
        ("smoothed margin of J_-", minus.smoothed_margin[-1], wanted.smoothed_minus),
        ("share of J_+", share, wanted.share),
        ("factor u", u, wanted.factor),
        ("factor z", z, wanted.factor),
    )
    out = []
    for s in range(scene.members):
        groups = scene.course.groups[s]
        both = check("groups with units", int((groups == 1).any()) + int((groups == -1).any()), ">=", 2)
        parts = [
            Part(name, (), check("relative difference", abs(float(met[s] / goal[s]) - 1), "<=", tolerance))
            for name, met, goal in compared
        ]
        out.append(Finding(parts, (*_assumed(scene, s, need_span), both)))
    return out


@margin_certificate("end-is-kkt", source="eq. B.47")
def end_is_kkt(scene: MarginScene, *, tolerance: float = 0.1) -> Sequence[Finding]:
    """The end of the course, scaled to margin 1, is nearly a KKT point of the least-norm network of margin 1.

    With the multipliers of Lemma B.6, on all of whose residuals the tolerance is put.
    """
    if not isinstance(scene.margins, MaxMargins):
        return without_limit(scene)
    data, end = scene.course.data, scene.course.network()
    right = (data.y * outputs(end, data.x).squeeze(2) > 0).sum(1)
    residuals = kkt(rescaled(end, data), data, scene.margins)
    out = []
    for s in range(scene.members):
        fits = check("samples on the right side", int(right[s]), ">=", data.count)
        parts = [
            Part(name, (fits,), check(what, float(value[s]), "<=", tolerance))
            for name, what, value in (
                ("feasible", "largest 1 - y h", residuals.infeasible),
                ("slack", "largest lambda |y h - 1| of the largest", residuals.slack),
                ("stationary", "what is left of theta", residuals.stationary),
            )
        ]
        out.append(Finding(parts, (*scene.separable(s), scene.exponential())))
    return out


@margin_certificate("two-neuron-pruning", source="section 3.2")
def two_neuron_pruning(scene: MarginScene, *, tolerance: float = 0.1) -> Sequence[Finding]:
    """At the end the network can be pruned to one unit per group.

    By merging units whose directions differ by at most the tolerance, and by the sums of a_j w_j over J_+ and J_-,
    whose outputs on the samples may differ by this share of the largest.
    """
    course = scene.course
    end = course.network()
    h = outputs(end, course.data.x).squeeze(2)
    two = outputs(two_neurons(end, course.groups), course.data.x).squeeze(2)
    off = (h - two).abs().amax(1) / h.abs().amax(1).clamp_min(1e-300)
    widths = prune(end, tolerance=tolerance).widths[:, 0]
    out = []
    for s in range(scene.members):
        alive = sum(bool((course.groups[s] == g).any()) for g in (1, -1))
        parts = [
            Part("merged", (), check("units left", int(widths[s]), "<=", alive)),
            Part("two units", (), check("difference of outputs", float(off[s]), "<=", tolerance)),
        ]
        out.append(Finding(parts, (*scene.separable(s), scene.grouped(s), scene.exponential())))
    return out


def _closing(scene: MarginScene, left: Tensor, tolerance: float) -> list[Condition]:
    """What is left at the last record, and how much it grew over the second half of log t."""
    log_t = torch.tensor(scene.course.log_times, dtype=torch.float64)
    late = left[log_t >= log_t[-1] / 2]
    last = check("what is left", float(left[-1]), "<=", tolerance, f"log t = {log_t[-1]:.4g}")
    return [last, check("growth of what is left", float(late[-1] - late[0]), "<=", 1e-9)]


def _assumed(scene: MarginScene, s: int, need_span: bool) -> tuple[Condition, ...]:
    """The assumptions of Theorem 3.1 for one member."""
    assert isinstance(scene.margins, MaxMargins)
    groups, d = scene.course.groups[s], scene.course.data.dimension
    spans = [
        check(f"rank of the support of class {name}", int(scene.margins.of(sign).rank[s]), ">=", d)
        for name, sign in (("+1", 1), ("-1", -1))
    ]
    alive = check("units in J_+ and J_-", int(((groups == 1) | (groups == -1)).sum()), ">=", 1)
    conditions = (*scene.separable(s), scene.balanced(s), scene.grouped(s), scene.exponential(), alive)
    return (*conditions, *spans) if need_span else conditions
