"""What Phuong 2021 says of a linear student with one layer that starts at 0: Theorem 5.1 and the steps of its proof."""

import math
from collections.abc import Sequence

import torch

from tutelage.certificates.records import Finding, Part, check
from tutelage.distillation.certificates.scene import DistillationScene, distillation_certificate


@distillation_certificate("stays-in-span", source="Lemma D.1", needs="course")
def stays_in_span(scene: DistillationScene, *, tolerance: float = 1e-10) -> Sequence[Finding]:
    """With one layer and w(0) = 0, w stays in the data's span."""
    outside = scene.transfer.across(scene.way.w).norm(dim=2).amax(0) / scene.goal.norm(dim=1)
    return [
        Finding(
            [Part("all records", (), check("part outside, of |w_hat|", float(outside[s]), "<=", tolerance))],
            scene.at_first_from_zero(s),
        )
        for s in range(scene.members)
    ]


@distillation_certificate("loss-falls", source="(5.8), (D.19)", needs="course")
def loss_falls(scene: DistillationScene, *, tolerance: float = 1e-5) -> Sequence[Finding]:
    """Along the flow of one layer, dl/dt = -|gradient|^2, so that the loss falls.

    The derivative is a central difference at every record whose gradient is above rounding.
    """
    way, transfer = scene.way, scene.transfer
    g = transfer.gradient(way.w)
    step = (1e-4 * transfer.safe_step)[:, None]
    difference = (transfer.loss(way.w - step * g) - transfer.loss(way.w + step * g)) / (2 * step[:, 0])
    speed = g.square().sum(2)
    clear = speed > 1e-10 * speed.amax(0)
    off = torch.where(clear, (difference / speed.clamp_min(1e-300) + 1).abs(), 0.0).amax(0)
    loss = way.loss()
    rise = (loss[1:] - loss[:-1]).amax(0) / loss[0] if len(loss) > 1 else torch.zeros(scene.members)
    return [
        Finding(
            [
                Part("derivative", (), check("relative difference", float(off[s]), "<=", tolerance)),
                Part("records", (), check("largest rise, of the first loss", float(rise[s]), "<=", 1e-12)),
            ],
            (check("layers", way.layers, "<=", 1),),
        )
        for s in range(scene.members)
    ]


@distillation_certificate("linear-rate", source="(D.20)", needs="course")
def linear_rate(scene: DistillationScene, *, floor: float = 1e-16) -> Sequence[Finding]:
    """With one layer, l(t) <= l(0) exp(-c t); the same inequality gives exp(-2 c t), and c = mu.

    floor: of the first loss; below it the records show the solver's tolerance, not the flow, and are not judged.
    """
    way = scene.way
    logs = scene.transfer.log_loss(way.w)
    fall = logs - logs[0]
    times = torch.tensor(way.times, dtype=torch.float64).unsqueeze(1) - way.times[0]
    clear = fall > math.log(floor)
    rate = scene.log_mu.exp()
    excesses = [torch.where(clear, fall + k * rate * times, -torch.inf).amax(0) for k in (1, 2)]
    return [
        Finding(
            [
                Part(words, (), check("largest log l(t) + c t - log l(0)", float(e[s]), "<=", 1e-9, c=float(rate[s])))
                for words, e in zip(("as printed", "twice the rate"), excesses, strict=True)
            ],
            (check("layers", way.layers, "<=", 1), scene.full_rank(s)),
        )
        for s in range(scene.members)
    ]


@distillation_certificate("distance-by-loss", source="(D.21), (D.27)", needs="course")
def distance_by_loss(scene: DistillationScene) -> Sequence[Finding]:
    """All along, l(t) >= (mu/2) |P_X w(t) - w_hat|^2; with one layer from 0, P_X w = w."""
    way, transfer = scene.way, scene.transfer
    distance = (transfer.along(way.w) - scene.goal).norm(dim=2)
    clear = distance > 1e-9 * scene.goal.norm(dim=1)
    short = scene.log_mu + 2 * distance.clamp_min(1e-300).log() - transfer.log_loss(way.w)
    worst = torch.where(clear, short, -torch.inf).amax(0) - math.log(2)
    return [
        Finding(
            [Part("all records", (), check("largest log of the ratio", float(worst[s]), "<=", 1e-9))],
            (scene.full_rank(s),),
        )
        for s in range(scene.members)
    ]


@distillation_certificate("learns-projection", source="Theorem 5.1", needs="course")
def learns_projection(scene: DistillationScene, *, tolerance: float = 1e-6) -> Sequence[Finding]:
    """One layer from 0 ends at w_hat: the teacher for n >= d, its projection onto the data's span for n < d.

    Not decided where the last record does not fit the labels yet.
    """
    off = (scene.way.w[-1] - scene.goal).norm(dim=1) / scene.goal.norm(dim=1)
    return [
        Finding(
            [Part("last record", (), _judged(scene, s, "distance from w_hat, of |w_hat|", float(off[s]), tolerance))],
            (*scene.at_first_from_zero(s), scene.full_rank(s)),
        )
        for s in range(scene.members)
    ]


def _judged(scene: DistillationScene, s: int, name: str, value: float, tolerance: float):
    arrived = value <= tolerance or scene.arrived(s, tolerance)
    return check(name, value, "<=", tolerance, "" if arrived else "the flow has not settled", decided=arrived)
