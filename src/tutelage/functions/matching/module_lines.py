"""The straight line between two modules of one architecture, before and after their channels are matched."""

import copy
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.nn.modules.batchnorm import _BatchNorm

from tutelage.errors import TutelageError
from tutelage.functions.matching.channels import By, match_channels

_BATCH = 500  # images at a time
_WAYS: tuple[By, ...] = ("weights", "activations")
Line = tuple[Tensor, Tensor | None]


def between_modules(
    first: nn.Module, second: nn.Module, points: Tensor, labels: Tensor, by: str, repair: bool, steps: int
) -> tuple[Any, ...]:
    """What a :class:`.barriers.Barrier` of two modules holds, in order; see :func:`.barriers.barrier`."""
    ways = _WAYS if by == "best" else (by,)
    if any(way not in _WAYS for way in ways):
        raise TutelageError(f"by must be 'weights', 'activations' or 'best', got '{by}'")
    if len(labels) != len(points):
        raise TutelageError(f"labels must have one entry for each of {len(points)} images, got {len(labels)}")
    if repair and not any(isinstance(m, _BatchNorm) for m in first.modules()):
        raise TutelageError("repair measures the statistics of batch norms again, and the modules have none")
    _try(first, points[:1])
    images = points.split(_BATCH)
    # Both ways are judged half-way, where a line is worst as a rule; one evaluation each.
    candidates = [match_channels(first, second, images, by=way).module for way in ways]  # type: ignore[arg-type]
    halves = [_judged(between(first, c, 0.5), images, labels)[0] for c in candidates]
    best = min(range(len(ways)), key=halves.__getitem__)
    moved = candidates[best]
    places = torch.linspace(0, 1, steps + 1, dtype=torch.float64)
    plain, matched = (_line(first, other, places, images, labels, False) for other in (second, moved))
    repaired: Line = _line(first, moved, places, images, labels, True) if repair else (None, None)  # type: ignore[assignment]
    return places, plain[0], matched[0], repaired[0], plain[1], matched[1], repaired[1], moved, (ways[best],)


def _try(module: nn.Module, image: Tensor) -> None:
    """Raise where the module does not take images of this shape."""
    try:
        with torch.no_grad():
            copy.deepcopy(module).eval()(image.to(next(module.parameters())))
    except (RuntimeError, ValueError) as error:
        raise TutelageError(
            f"the modules do not take images of shape {list(image.shape[1:])} ({str(error).splitlines()[0][:120]}): "
            "give points [N, C, H, W] as they were trained on"
        ) from None


def between(first: nn.Module, second: nn.Module, place: float) -> nn.Module:
    """The module on the line: every parameter and buffer of floating point is the mean of the two."""
    module, there = copy.deepcopy(first).eval(), second.state_dict()
    mixed = {
        name: torch.lerp(array, there[name].to(array), place) if array.is_floating_point() else array
        for name, array in first.state_dict().items()
    }
    module.load_state_dict(mixed)
    return module


def _line(first, second, places: Tensor, images, labels: Tensor, repair: bool) -> Line:
    judged = []
    for place in places.tolist():
        module = between(first, second, place)
        judged.append(_judged(remeasured(module, images) if repair else module, images, labels))
    loss = torch.tensor([[loss] for loss, _ in judged], dtype=torch.float64)
    if judged[0][1] is None:
        return loss, None
    return loss, torch.tensor([[right] for _, right in judged], dtype=torch.float64)


def remeasured(module: nn.Module, images: tuple[Tensor, ...]) -> nn.Module:
    """The module with the means and variances of its batch norms measured on these images."""
    for norm in (m for m in module.modules() if isinstance(m, _BatchNorm)):
        norm.reset_running_stats()
        norm.momentum = None  # the plain mean over batches
        norm.train()
    with torch.no_grad():
        for batch in images:
            module(batch.to(next(module.parameters())))
    return module.eval()


def _judged(module: nn.Module, images: tuple[Tensor, ...], labels: Tensor) -> tuple[float, float | None]:
    """Cross-entropy and share of right answers for classes, half the squared error for numbers."""
    with torch.no_grad():
        answers = torch.cat([module(batch.to(next(module.parameters()))).double().cpu() for batch in images])
    if labels.is_floating_point():
        if labels.shape != answers.shape:
            raise TutelageError(f"labels of shape {list(labels.shape)} do not fit outputs {list(answers.shape)}")
        return ((answers - labels.double()).square().sum(1).mean() / 2).item(), None
    if labels.ndim != 1 or labels.min() < 0 or labels.max() >= answers.shape[1]:
        raise TutelageError(f"labels must be classes [N] from 0 to {answers.shape[1] - 1}, or numbers [N, C]")
    right = (answers.argmax(1) == labels).double().mean().item()
    return cross_entropy(answers, labels.long()).item(), right
