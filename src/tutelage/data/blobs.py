"""Images made on the spot, for rehearsals: ten patterns under noise."""

import torch

from tutelage import draws
from tutelage.data.images import Images


def blobs(train: int, test: int, side: int = 8, noise: float = 1.0) -> Images:
    """Grey images of ten patterns, drawn once and for all, each pixel under normal noise; classes take turns.

    >>> blobs(20, 10).train.shape
    (20, 8, 8, 1)
    """
    count = train + test
    y = torch.arange(count) % 10
    patterns, pixels = (
        draws.normals(draws.keys([part], "blobs"), many * side**2).view(many, side, side)
        for part, many in enumerate((10, count))
    )
    grey = (128 + 40 * (patterns[y] + noise * pixels)).clamp(0, 255).to(torch.uint8).numpy()[..., None]
    labels = y.numpy()
    return Images("blobs", grey[:train], labels[:train], grey[train:], labels[train:], tuple("0123456789"))
