"""Few labels: subsets with a number of images per class, some held for selection, the rest without labels (Phuong 2021,
6.4).
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tutelage import draws
from tutelage.errors import TutelageError


@dataclass(frozen=True, eq=False)
class Subset:
    """Row numbers: what is trained on, what is held for selection, what is used without its label: int64 [n] each."""

    train: Tensor
    held: Tensor
    unlabelled: Tensor


def class_subset(
    labels: Tensor | np.ndarray,
    per_class: int,
    *,
    held: int = 50,
    unlabelled: int | None = None,
    classes: int | None = None,
    seed: int = 0,
) -> Subset:
    """X images per class, ``held`` of them for selection, the others for training; more of each class without labels.

    CIFAR(X) of Phuong 2021 is per_class=X with 50 held, ImageNet(X) holds X // 10. unlabelled: images per class, all
    that are left of each class unless given. classes: how many there are, as many as the labels name unless given.
    Which images: drawn from the seed's own stream, so a larger X of the same seed holds the images of a smaller one.

    >>> rows = class_subset(torch.arange(12) % 3, 3, held=1, unlabelled=1)
    >>> len(rows.train), len(rows.held), len(rows.unlabelled)
    (6, 3, 3)
    """
    y = torch.as_tensor(labels).cpu()
    if unlabelled is not None and unlabelled < 0:
        raise TutelageError(f"unlabelled must be at least 0, got {unlabelled}")
    if not 0 <= held < per_class:
        raise TutelageError(f"held must be from 0 to {per_class - 1} of {per_class} images per class, got {held}")
    if y.ndim != 1 or not len(y) or y.min() < 0:
        raise TutelageError("labels must be one class per sample, counted from 0, for at least one sample")
    count = int(y.max()) + 1 if classes is None else classes
    order = draws.permutations(draws.keys([seed], "class subset"), len(y), 0)[0]
    parts: list[tuple[Tensor, Tensor, Tensor]] = []
    for c in range(count):
        rows = order[y[order] == c]
        wanted = per_class + (unlabelled or 0)
        if len(rows) < wanted:
            shortage = "is absent" if not len(rows) else f"has {len(rows)} images"
            raise TutelageError(f"class {c} {shortage}, and {wanted} per class are needed: ask for fewer")
        rest = rows[per_class:] if unlabelled is None else rows[per_class:wanted]
        parts.append((rows[held:per_class], rows[:held], rest))
    return Subset(*(torch.cat(part) for part in zip(*parts, strict=True)))
