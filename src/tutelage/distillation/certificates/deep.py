"""What Phuong 2021 says of deep linear students: Theorem 5.2, the steps of its proof, and the exact end."""

import math
from collections.abc import Sequence

import torch

from tutelage.certificates.records import Condition, Finding, Part, check, unknown
from tutelage.distillation.certificates.scene import DistillationScene, distillation_certificate
from tutelage.distillation.convexity import distance_to_sublevel
from tutelage.distillation.deep import guaranteed, imbalance, limit, norm_cap
from tutelage.distillation.flows import induced_flow

_SETTLED = 1e-6
"""Of the logits: a student this near to its labels is taken to have arrived."""


@distillation_certificate("induced-flow", source="Lemma D.2", needs="layers")
def follows_induced_flow(scene: DistillationScene, *, tolerance: float = 1e-6) -> Sequence[Finding]:
    """From a balanced start the product moves by -|w|^(2(L-1)/L) (g + (L-1) P_w g)."""
    way = scene.way
    twin = induced_flow(scene.transfer, way.w[0], way.layers, [t - way.times[0] for t in way.times])
    off = ((way.w - twin.w).norm(dim=2) / scene.goal.norm(dim=1)).amax(0)
    return [
        Finding(
            [Part("all records", (), check("difference, of |w_hat|", float(off[s]), "<=", tolerance))],
            (scene.balanced(s),),
        )
        for s in range(scene.members)
    ]


@distillation_certificate("balance-kept", source="(5.13)", needs="layers")
def balance_kept(scene: DistillationScene, *, tolerance: float = 1e-7) -> Sequence[Finding]:
    """Gradient flow keeps W_{l+1}^T W_{l+1} - W_l W_l^T as it was; descent lets it drift in proportion to its step."""
    places = range(len(scene.way.times))
    off = torch.stack([imbalance(scene.way.network(i)) for i in places]).amax(0)
    size = scene.goal.norm(dim=1) ** (2 / scene.way.layers)
    return [
        Finding(
            [Part("all records", (), check("imbalance, of |W|^2", float(off[s] / size[s]), "<=", tolerance))],
            (scene.balanced(s),),
        )
        for s in range(scene.members)
    ]


@distillation_certificate("deep-rate", source="(D.25)", needs="course")
def deep_rate(scene: DistillationScene, *, floor: float = 1e-16) -> Sequence[Finding]:
    """l(t) <= l(0) exp(-c delta^(2(L-1)/L) t), delta the distance of {l1 <= l(0)} from 0; twice the rate holds too.

    floor: of the first loss; below it the records show the solver's tolerance, not the flow, and are not judged.
    """
    way, transfer = scene.way, scene.transfer
    start = transfer.loss(way.w[0])
    better = start < scene.loss_at_zero
    delta = torch.zeros_like(start)
    if bool(better.any()):
        delta[better] = distance_to_sublevel(transfer[better], start[better])
    rate = scene.log_mu.exp() * delta ** (2 * (way.layers - 1) / way.layers)
    logs = transfer.log_loss(way.w)
    fall = logs - logs[0]
    times = torch.tensor(way.times, dtype=torch.float64).unsqueeze(1) - way.times[0]
    over = [torch.where(fall > math.log(floor), fall + k * rate * times, -torch.inf).amax(0) for k in (1, 2)]
    return [
        Finding(
            [
                Part(
                    words,
                    (),
                    check("largest log l(t) + rate t - log l(0)", float(o[s]), "<=", 1e-9, rate=float(rate[s])),
                )
                for words, o in zip(("as printed", "twice the rate"), over, strict=True)
            ],
            (scene.full_rank(s), scene.better_than_zero(s), scene.balanced(s)),
        )
        for s in range(scene.members)
    ]


@distillation_certificate("conserved-quantity", source="(D.32), (D.33)", needs="course")
def conserved_quantity(scene: DistillationScene, *, tolerance: float = 1e-6) -> Sequence[Finding]:
    """|P_Q w|^2 / |w|^(2(L-1)/L) does not change, so that |P_Q w| / |w| <= (|w(0)| / |w|)^(1/L)."""
    way, L = scene.way, scene.way.layers
    rest, length = scene.transfer.across(way.w).norm(dim=2), way.w.norm(dim=2)
    kept = 2 * rest.clamp_min(1e-300).log() - 2 * (L - 1) / L * length.clamp_min(1e-300).log()
    drift = (kept - kept[0]).abs().amax(0)
    ratio = (rest / length.clamp_min(1e-300)).clamp_min(1e-300).log() - (length[0] / length.clamp_min(1e-300)).log() / L
    over = ratio.amax(0)
    out = []
    for s in range(scene.members):
        aside = check("part of w(0) outside the data's span", float(rest[0, s]), ">", 0)
        parts = [
            Part("all records", (), check("largest change of its logarithm", float(drift[s]), "<=", tolerance)),
            Part("share outside the span", (), check("log of share / bound", float(over[s]), "<=", tolerance)),
        ]
        out.append(Finding(parts, (aside, scene.balanced(s))))
    return out


@distillation_certificate("norm-cap", source="(D.38), (D.39)", needs="course")
def capped_norm(scene: DistillationScene) -> Sequence[Finding]:
    """limsup |w| <= |w_hat| (1 - (|w(0)| / |w_hat|)^(2/L))^(-L/(2(L-1))) for two layers or more."""
    way, L = scene.way, scene.way.layers
    start, goal = way.w[0].norm(dim=1), scene.goal.norm(dim=1)
    cap = norm_cap(start, goal, max(L, 2))
    proof = (goal / cap).square() + (start / cap) ** (2 / L)
    out = []
    for s in range(scene.members):
        end = _at_the_end(scene, s, "length of w", float(way.w[-1, s].norm()), float(cap[s]))
        step = check("f(K) of (D.38)", float(proof[s]), "<=", 1 + 1e-12)
        conditions = (check("layers", L, ">=", 2), *scene.deep(s))
        out.append(Finding([Part("last record", (), end), Part("the step of the proof", (), step)], conditions))
    return out


@distillation_certificate("distance-cap", source="(D.40)", needs="course")
def capped_distance(scene: DistillationScene) -> Sequence[Finding]:
    """limsup |w - w_hat|^2 <= |w(0)|^(2/L) |w_hat|^2 / (|w_hat|^(2/L) - |w(0)|^(2/L)); (D.41) is misprinted."""
    way = scene.way
    eps = guaranteed(way.w[0].norm(dim=1), scene.goal.norm(dim=1), way.layers)
    off = (way.w[-1] - scene.goal).norm(dim=1)
    return [
        Finding(
            [Part("last record", (), _at_the_end(scene, s, "distance from w_hat", float(off[s]), float(eps[s])))],
            scene.deep(s),
        )
        for s in range(scene.members)
    ]


@distillation_certificate("learns-nearby", source="Theorem 5.2", needs="course")
def learns_nearby(scene: DistillationScene, *, eps: float | None = None) -> Sequence[Finding]:
    """A deep linear student ends within eps of w_hat for n < d, and at w_hat for n >= d.

    eps: the one of (5.11); without it the least that the start allows.
    """
    way, transfer = scene.way, scene.transfer
    start, goal = way.w[0].norm(dim=1), scene.goal.norm(dim=1)
    least = guaranteed(start, goal, way.layers)
    off = (way.w[-1] - scene.goal).norm(dim=1)
    out = []
    for s in range(scene.members):
        wanted = float(least[s]) if eps is None else eps
        allowed = check("least eps that the start allows (5.11)", float(least[s]), "<=", wanted)
        bound = wanted if transfer.count < transfer.dimension else _SETTLED * float(goal[s])
        end = _at_the_end(scene, s, "distance from w_hat", float(off[s]), bound)
        out.append(Finding([Part("last record", (), end)], (*scene.deep(s), allowed)))
    return out


@distillation_certificate("exact-limit", source="from (D.32) and Theorem 5.2", needs="course")
def exact_limit(scene: DistillationScene, *, tolerance: float = 1e-5) -> Sequence[Finding]:
    """A balanced student ends at w_hat + (nu / |w(0)|)^((L-1)/L) P_Q w(0), nu being its final length."""
    way = scene.way
    goal = limit(scene.transfer, way.w[0], way.layers)
    off = (way.w[-1] - goal).norm(dim=1) / goal.norm(dim=1)
    return [
        Finding(
            [
                Part(
                    "last record",
                    (),
                    _at_the_end(scene, s, "distance, of its length", float(off[s]), tolerance),
                )
            ],
            (scene.better_than_zero(s), scene.balanced(s)) if way.layers > 1 else (),
        )
        for s in range(scene.members)
    ]


def _at_the_end(scene: DistillationScene, s: int, name: str, value: float, bound: float) -> Condition:
    """A limit judged at the last record, and not decided where the student does not fit its labels yet."""
    if not math.isfinite(bound):
        return unknown(name, "there is no bound: w(0) is not shorter than w_hat")
    arrived = scene.arrived(s, _SETTLED)
    return check(name, value, "<=", bound, "" if arrived else "the flow has not settled", decided=arrived)
