"""What Phuong 2021, appendix D.1 says of the distillation loss: gradient, minima, convexity in the data's span."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from tutelage.certificates.records import Finding, Part, check
from tutelage.distillation.certificates.scene import DistillationScene, distillation_certificate
from tutelage.distillation.convexity import log_strong_convexity
from tutelage.distillation.cross_entropy import log_excess, softplus


@distillation_certificate("gradient-in-span", source="Theorem D.1")
def gradient_in_span(scene: DistillationScene, *, tolerance: float = 1e-10, probes: int = 8) -> Sequence[Finding]:
    """The gradient of the loss is the mean of (sigma(w.x_i) - y_i) x_i, and lies in the data's span."""
    transfer = scene.transfer
    w = (scene.probes(probes) * scene.goal.norm(dim=1).unsqueeze(1) / math.sqrt(transfer.dimension)).requires_grad_()
    u = transfer.heights(w)
    plain = softplus(u) - transfer.labels * u
    [twin] = torch.autograd.grad(plain.mean(-1).sum(), w)
    gradient = transfer.gradient(w.detach())
    size = gradient.norm(dim=-1).clamp_min(1e-300)
    off = ((gradient - twin).norm(dim=-1) / size).amax(0)
    outside = ((gradient - transfer.along(gradient)).norm(dim=-1) / size).amax(0)
    return [
        Finding(
            [
                Part("formula", (), check("difference from automatic differentiation", float(off[s]), "<=", tolerance)),
                Part("span", (), check("part outside the span", float(outside[s]), "<=", tolerance)),
            ]
        )
        for s in range(scene.members)
    ]


@distillation_certificate("global-minima", source="Theorem D.2")
def global_minima(scene: DistillationScene, *, tolerance: float = 1e-20, probes: int = 8) -> Sequence[Finding]:
    """The least loss is 0, and it is met where X^T w = X^T w_* and nowhere else."""
    transfer, goal = scene.transfer, scene.goal
    aside, along = transfer.across(scene.probes(probes)), transfer.along(scene.probes(probes, "other probes"))
    length = goal.norm(dim=1).unsqueeze(1) / math.sqrt(transfer.dimension)
    scale = scene.loss_at_zero.clamp_min(1e-300)
    at = (transfer.loss(goal + length * aside) / scale).amax(0)
    elsewhere = transfer.log_loss(goal + length * along).amin(0)
    return [
        Finding(
            [
                Part("minimisers", (), check("largest loss, in losses at 0", float(at[s]), "<=", tolerance)),
                Part("other points", (), check("least log loss", float(elsewhere[s]), ">", -math.inf)),
            ]
        )
        for s in range(scene.members)
    ]


@distillation_certificate("strong-convexity", source="Theorem D.3, with the 1/n that (D.8) leaves out")
def strong_convexity(scene: DistillationScene, *, probes: int = 32, factor: float = 1.0) -> Sequence[Finding]:
    """On {l1 <= l}, l1(v) >= l1(w) + gradient.(v - w) + (mu/2) |v - w|^2 for v - w in the data's span.

    l = l1(0) here. factor multiplies mu: n gives the constant as printed, which random pairs refute.
    """
    transfer = scene.transfer
    v, w = (_within(scene, scene.loss_at_zero, probes, name) for name in ("first", "second"))
    w = w.flip(0)  # one near the rim with one near the middle
    gap = log_excess(transfer.heights(v), transfer.heights(w)).logsumexp(-1) - math.log(transfer.count)
    distance = (v - w).norm(dim=-1)
    ratio = gap - 2 * distance.log() + math.log(2)  # of l1(v) - l1(w) - gradient.(v - w), which is not cancelled
    least = torch.where(distance > 1e-9 * scene.goal.norm(dim=1), ratio, torch.inf).amin(0)
    mu = log_strong_convexity(transfer, scene.loss_at_zero) + math.log(factor)
    return [
        Finding(
            [Part("random pairs", (), check("least log of 2 gap / |v - w|^2", float(least[s]), ">=", float(mu[s])))],
            (scene.full_rank(s),),
        )
        for s in range(scene.members)
    ]


@distillation_certificate("polyak-lojasiewicz", source="Corollary D.1")
def polyak_lojasiewicz(scene: DistillationScene, *, probes: int = 32) -> Sequence[Finding]:
    """On {l1 <= l}, c l1(w) <= |gradient|^2 / 2 with c = mu. l = l1(0) here."""
    transfer = scene.transfer
    w = _within(scene, scene.loss_at_zero, probes, "first")
    least = (transfer.gradient(w).square().sum(-1).log() - math.log(2) - transfer.log_loss(w)).amin(0)
    mu = log_strong_convexity(transfer, scene.loss_at_zero)
    return [
        Finding(
            [Part("random points", (), check("least log of |g|^2 / (2 l1)", float(least[s]), ">=", float(mu[s])))],
            (scene.full_rank(s),),
        )
        for s in range(scene.members)
    ]


def _within(scene: DistillationScene, level: Tensor, count: int, stream: str) -> Tensor:
    """Random points of {l1 <= level} in w_hat + span, half of them near its rim: [count, S, d]."""
    transfer = scene.transfer
    ray = torch.nn.functional.normalize(transfer.along(scene.probes(count, stream)), dim=-1)
    inner, outer = torch.zeros(2, count, scene.members, dtype=torch.float64)
    outer = outer + scene.goal.norm(dim=1)
    while bool((short := transfer.loss(scene.goal + outer.unsqueeze(-1) * ray) <= level).any()):
        outer = torch.where(short, 2 * outer, outer)
    for _ in range(50):
        middle = (inner + outer) / 2
        inside = transfer.loss(scene.goal + middle.unsqueeze(-1) * ray) <= level
        inner, outer = torch.where(inside, middle, inner), torch.where(inside, outer, middle)
    share = torch.linspace(0.1, 1.9, count, dtype=torch.float64).clamp_max(1.0).unsqueeze(1)
    return scene.goal + (share * inner).unsqueeze(-1) * ray
