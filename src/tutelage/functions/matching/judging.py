"""Losses and accuracies of networks on points with labels."""

from collections.abc import Iterable

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from tutelage.errors import TutelageError
from tutelage.networks import Network, outputs


def labels_for(labels: Tensor, x: Tensor, classes: int) -> Tensor:
    """Labels as [S, N, C] numbers or [S, N] classes."""
    if not isinstance(labels, Tensor):
        raise TutelageError(f"labels must be a torch tensor, got {type(labels).__name__}")
    targets = labels.detach().cpu()
    if targets.dtype.is_floating_point:
        targets = targets.double()
        if not targets.isfinite().all():
            raise TutelageError("some labels are not finite: leave these points out")
        targets = targets.expand(len(x), *targets.shape) if targets.ndim == 2 else targets
        if targets.shape == (*x.shape[:2], classes):
            return targets
    else:
        targets = targets.expand(len(x), *targets.shape) if targets.ndim == 1 else targets
        if targets.shape == x.shape[:2] and targets.numel() and targets.min() >= 0 and targets.max() < classes:
            return targets.long()
    raise TutelageError(
        f"labels of shape {list(labels.shape)} do not fit {x.shape[1]} points and {classes} outputs: give numbers "
        f"[N, {classes}] or classes [N] from 0 to {classes - 1}"
    )


def judged(networks: Iterable[Network], x: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor | None]:
    """Losses [T, S] and, for classes, shares of right answers [T, S]; outputs are kept of one network at a time."""
    each = [_judged(outputs(network, x), wanted) for network in networks]
    losses, right = zip(*each, strict=True)
    return torch.stack(losses), None if right[0] is None else torch.stack(right)


def _judged(answers: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor | None]:
    """Loss [S] and, for classes, share of right answers [S] of outputs [S, N, C]."""
    if wanted.ndim == 3:
        return (answers - wanted).square().sum(2).mean(1) / 2, None
    loss = cross_entropy(answers.mT, wanted, reduction="none").mean(1)
    return loss, (answers.argmax(2) == wanted).double().mean(1)
