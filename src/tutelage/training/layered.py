"""Training of layered networks on images: members side by side, each with batches and augmentation of its own."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from tutelage import draws
from tutelage.errors import TutelageError
from tutelage.networks.layered import Layered
from tutelage.training.settings import Supported, Training, set_rate

OnEpoch = Callable[[int, Layered], None]
"""Called with the number of epochs done and the model in evaluation mode, before the first and after each."""


_SUPPORTED = Supported(
    "fit", "epochs", "epochs", losses=("mse", "cross-entropy", "binary-cross-entropy"), whole_batch=True
)


def fit(
    model: Layered,
    points: Tensor,
    labels: Tensor,
    settings: Training,
    *,
    augment: Callable[[Tensor, Tensor, int], Tensor] | None = None,
    teach: Callable[[Tensor], Tensor] | None = None,
    on_epoch: OnEpoch | None = None,
) -> Tensor:
    """Train all members in place; returns the mean training loss of every epoch [epochs, S].

    settings: a length in epochs; the loss is "mse" to given outputs, "cross-entropy" to classes or probabilities, or
    "binary-cross-entropy" of one output to classes 0 and 1.
    points [N, ...], shared by all members; labels [N] (classes) or [S or 1, N, C] (outputs or probabilities).
    augment: (points of a batch [S, B, ...], keys of the members' streams [S], place of the first) -> points; teach:
    labels of the augmented points [S, B, ...] -> [S, B, C], in the place of ``labels``. A member's batches,
    augmentation and start depend on its seed alone. An epoch is once through the points, an incomplete
    last batch left out.
    """
    _SUPPORTED.check(settings)
    batch, steps, total = (
        settings.batch_size(len(points)),
        settings.per_epoch(len(points)),
        settings.length(len(points)),
    )
    epochs, rates = total // steps, settings.rates(total, steps)
    optimiser = settings.optimiser.for_module(model.parameters(), settings.rate)
    key = draws.keys(model.seeds, "layered-batches", points.device)
    moves = draws.keys(model.seeds, "layered-augmentation", points.device)
    losses = torch.zeros(epochs, model.members, dtype=torch.float64, device=points.device)
    for epoch in range(epochs + 1):
        if on_epoch:
            model.eval()
            on_epoch(epoch, model)
        if epoch == epochs:
            break
        model.train()
        order = draws.permutations(key, len(points), epoch)
        for step in range(steps):
            set_rate(next(rates), optimiser)
            rows = order[:, step * batch : (step + 1) * batch]
            x = points[rows]
            if augment:
                x = augment(x, moves, (epoch * steps + step) * batch)
            wanted = teach(x) if teach else _labels(labels, rows)
            each = member_losses(model(x), wanted, settings.loss)
            optimiser.zero_grad(set_to_none=True)
            each.sum().backward()
            optimiser.step()
            losses[epoch] += each.detach() / steps
        if not losses[epoch].isfinite().all():
            lost = torch.nonzero(~losses[epoch].isfinite())[:, 0].tolist()
            raise TutelageError(f"members {lost} diverged in epoch {epoch + 1}: lower the learning rate")
    return losses.cpu()


def member_losses(outputs: Tensor, wanted: Tensor, loss: str) -> Tensor:
    """Mean loss of every member over its batch: outputs [S, B, C], wanted [S, B, C] or classes [S, B] -> [S]."""
    if loss == "mse":
        return (outputs - wanted).square().sum(-1).mean(1) / 2
    if loss == "binary-cross-entropy":
        if outputs.shape[-1] != 1 or wanted.ndim != 2:
            raise TutelageError(
                f"binary cross-entropy needs one output and classes as labels, got {outputs.shape[-1]} outputs"
            )
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
            predicted = (outputs.squeeze(-1) > 0) if outputs.shape[-1] == 1 else outputs.argmax(-1)
            right += (predicted == y).sum(1)
    return (right / len(points)).cpu()


def _labels(labels: Tensor, rows: Tensor) -> Tensor:
    """Labels of rows [S, B]: classes [S, B], or outputs [S, B, C]."""
    if labels.ndim == 1:
        return labels[rows]
    members = torch.arange(len(rows), device=rows.device)[:, None] if labels.shape[0] > 1 else 0
    return labels[members, rows]
