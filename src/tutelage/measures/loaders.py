"""Inputs as users have them: a tensor, several tensors, or a loader of points or of points with labels."""

from collections.abc import Iterable, Iterator
from typing import Any

from torch import Tensor

from tutelage.errors import TutelageError


def points_of(batches: Tensor | Iterable[Any], name: str = "batches") -> Iterator[Tensor]:
    """The points of every batch: a batch is a tensor x, or a tuple or list that begins with x, as (x, y).

    >>> import torch
    >>> [len(x) for x in points_of([(torch.zeros(3, 2), torch.zeros(3)), torch.zeros(4, 2)])]
    [3, 4]
    """
    if isinstance(batches, Tensor):
        if batches.ndim < 2:
            raise TutelageError(f"{name} must have shape [N, ...], one row per sample, got {list(batches.shape)}")
        yield batches
        return
    if not isinstance(batches, Iterable) or isinstance(batches, str | bytes | dict):
        raise TutelageError(f"{name} must be a tensor or a loader of x or (x, y), got {type(batches).__name__}")
    for place, batch in enumerate(batches):
        x = batch[0] if isinstance(batch, tuple | list) and batch else batch
        if not isinstance(x, Tensor):
            raise TutelageError(f"batch {place} of {name} must be a tensor x or a tuple (x, y), got {type(x).__name__}")
        if x.ndim < 2:
            raise TutelageError(
                f"batch {place} of {name} has shape {list(x.shape)}: wanted inputs [N, ...], one row per sample; for a "
                "single tensor of samples pass the tensor itself"
            )
        yield x
