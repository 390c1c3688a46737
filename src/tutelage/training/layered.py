"""Training of layered networks on images: members side by side, each with batches and augmentation of its own."""

from collections.abc import Callable
from dataclasses import dataclass
from math import cos, pi
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from tutelage import draws
from tutelage.errors import Refusal
from tutelage.networks.layered import Layered

OnEpoch = Callable[[int, Layered], None]
"""Called with the number of epochs done and the model in evaluation mode, before the first and after each."""


@dataclass(frozen=True)
class Fit:
    """How layered networks are trained.

    loss: "mse" to given outputs (half the squared error, summed over outputs), "cross-entropy" to classes or
    probabilities, or "binary" cross-entropy of one output to classes 0 and 1; optimiser: "sgd" (with momentum) or
    "adam"; the rate falls to 0 along half a cosine with ``cosine``.
    """

    epochs: int
    batch: int = 128
    loss: Literal["mse", "cross-entropy", "binary"] = "cross-entropy"
    optimiser: Literal["sgd", "adam"] = "sgd"
    learning_rate: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 0.0
    cosine: bool = True

    def __post_init__(self) -> None:
        if self.epochs < 0 or self.batch < 1 or self.learning_rate < 0:
            raise Refusal("a fit needs epochs of at least 0, a batch of at least 1 and a rate of at least 0")


def fit(
    model: Layered,
    points: Tensor,
    labels: Tensor,
    settings: Fit,
    *,
    augment: Callable[[Tensor, Tensor, int], Tensor] | None = None,
    teach: Callable[[Tensor], Tensor] | None = None,
    on_epoch: OnEpoch | None = None,
) -> Tensor:
    """Train all members in place; returns the mean training loss of every epoch [epochs, S].

    points [N, ...], shared by all members; labels [N] (classes) or [S or 1, N, C] (outputs or probabilities).
    augment: (points of a batch [S, B, ...], keys of the members' streams [S], place of the first) -> points; teach:
    labels of the augmented points [S, B, ...] -> [S, B, C], in the place of ``labels``. A member's batches,
    augmentation and start depend on its seed alone. An epoch is once through the points, an incomplete
    last batch left out.
    """
    if len(points) < settings.batch:
        raise Refusal(f"a batch of {settings.batch} needs as many samples; there are {len(points)}")
    steps = len(points) // settings.batch
    optimiser = _optimiser(model, settings)
    key = draws.keys(model.seeds, "layered-batches", points.device)
    moves = draws.keys(model.seeds, "layered-augmentation", points.device)
    losses = torch.zeros(settings.epochs, model.members, dtype=torch.float64, device=points.device)
    for epoch in range(settings.epochs + 1):
        if on_epoch:
            model.eval()
            on_epoch(epoch, model)
        if epoch == settings.epochs:
            break
        model.train()
        order = draws.permutations(key, len(points), epoch)
        for step in range(steps):
            for group in optimiser.param_groups:
                group["lr"] = settings.learning_rate * _factor(settings, epoch * steps + step, settings.epochs * steps)
            rows = order[:, step * settings.batch : (step + 1) * settings.batch]
            x = points[rows]
            if augment:
                x = augment(x, moves, (epoch * steps + step) * settings.batch)
            wanted = teach(x) if teach else _labels(labels, rows)
            each = member_losses(model(x), wanted, settings.loss)
            optimiser.zero_grad(set_to_none=True)
            each.sum().backward()
            optimiser.step()
            losses[epoch] += each.detach() / steps
        if not losses[epoch].isfinite().all():
            lost = torch.nonzero(~losses[epoch].isfinite())[:, 0].tolist()
            raise Refusal(f"members {lost} diverged in epoch {epoch + 1}: lower the learning rate")
    return losses.cpu()


def member_losses(outputs: Tensor, wanted: Tensor, loss: str) -> Tensor:
    """Mean loss of every member over its batch: outputs [S, B, C], wanted [S, B, C] or classes [S, B] -> [S]."""
    if loss == "mse":
        return (outputs - wanted).square().sum(-1).mean(1) / 2
    if loss == "binary":
        if outputs.shape[-1] != 1 or wanted.ndim != 2:
            raise Refusal(f"binary cross-entropy needs one output and classes, not {outputs.shape[-1]} outputs")
        margin = (2 * wanted - 1) * outputs.squeeze(-1)
        return functional.softplus(-margin).mean(1)
    if wanted.ndim == 2:
        return (
            functional.cross_entropy(outputs.flatten(0, 1), wanted.flatten(), reduction="none").view_as(wanted).mean(1)
        )
    return -(wanted * outputs.log_softmax(-1)).sum(-1).mean(1)


def accuracy(model: Layered, points: Tensor, labels: Tensor, batch: int = 1000) -> Tensor:
    """Share of points [N, ...] that every member puts into their class [N]: float64 [S].

    One output stands for two classes, told apart by its sign.
    """
    right = torch.zeros(model.members, dtype=torch.float64, device=points.device)
    with torch.no_grad():
        for x, y in zip(points.split(batch), labels.split(batch), strict=True):
            outputs = model(x)
            said = (outputs.squeeze(-1) > 0) if outputs.shape[-1] == 1 else outputs.argmax(-1)
            right += (said == y).sum(1)
    return (right / len(points)).cpu()


def _optimiser(model: Layered, settings: Fit) -> torch.optim.Optimizer:
    if settings.optimiser == "sgd":
        return torch.optim.SGD(
            model.parameters(), settings.learning_rate, settings.momentum, weight_decay=settings.weight_decay
        )
    return torch.optim.Adam(model.parameters(), settings.learning_rate, weight_decay=settings.weight_decay)


def _factor(settings: Fit, step: int, total: int) -> float:
    return 0.5 * (1 + cos(pi * step / total)) if settings.cosine else 1.0


def _labels(labels: Tensor, rows: Tensor) -> Tensor:
    """Labels of rows [S, B]: classes [S, B], or outputs [S, B, C]."""
    if labels.ndim == 1:
        return labels[rows]
    members = torch.arange(len(rows), device=rows.device)[:, None] if labels.shape[0] > 1 else 0
    return labels[members, rows]
