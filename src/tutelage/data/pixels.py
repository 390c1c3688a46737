"""Images that stay on the host as bytes and reach a device a batch at a time: for sets too large for its memory."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from tutelage.data.images import Images
from tutelage.errors import TutelageError


@dataclass(frozen=True, eq=False)
class Pixels:
    """Images uint8 [N, H, W, C] of which rows are asked for, standardised with ``mean`` and ``deviation`` [C].

    Indexed like a tensor [n, C, H, W] on ``device``: ``pixels[rows]``, ``pixels[a:b]``. rows: which images these are,
    in order; middle: the side of the middle square that is given, None for whole images.
    """

    images: np.ndarray
    mean: Tensor
    deviation: Tensor
    rows: np.ndarray
    device: torch.device
    middle: int | None = None

    dtype = torch.float32

    @property
    def is_cuda(self) -> bool:
        return self.device.type == "cuda"

    @property
    def shape(self) -> tuple[int, int, int, int]:
        height, width, channels = self.images.shape[1:]
        return len(self), channels, self.middle or height, self.middle or width

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, which: Tensor | slice) -> Tensor:
        chosen = self.rows[which.cpu().numpy() if isinstance(which, Tensor) else which]
        top, left = ((side - (self.middle or side)) // 2 for side in self.images.shape[1:3])
        bottom, right = top + self.shape[2], left + self.shape[3]
        taken = torch.from_numpy(self.images[chosen, top:bottom, left:right]).to(self.device)
        return taken.to(self.dtype).div_(255).sub_(self.mean).div_(self.deviation).permute(0, 3, 1, 2).contiguous()

    def of(self, rows: Tensor | Sequence[int], middle: int | None = None) -> "Pixels":
        """Some of the images, without copying any; or their middle squares."""
        chosen = torch.as_tensor(rows).cpu().numpy()
        return replace(self, rows=self.rows[chosen], middle=middle or self.middle)


def pixels(images: Images, device: torch.device | str = "cpu", middle: int | None = None) -> tuple[Pixels, Pixels]:
    """Training and test images, both moved by what makes the training images' channels standard; test: their middles.

    >>> x = np.arange(2 * 4 * 4, dtype=np.uint8).reshape(2, 4, 4, 1)
    >>> train, test = pixels(Images("two", x, np.array([0, 1]), x, np.array([0, 1]), ("a", "b")), middle=2)
    >>> train[torch.tensor([1])].shape, test[0:2].shape
    (torch.Size([1, 1, 4, 4]), torch.Size([2, 1, 2, 2]))
    """
    if middle is not None and not 1 <= middle <= min(images.shape[:2]):
        raise TutelageError(
            f"middle must be from 1 to the sides of the images, {images.shape[0]} x {images.shape[1]}, got {middle}"
        )
    mean, deviation = (torch.as_tensor(m, dtype=torch.float32, device=device) for m in images.channel_moments())
    deviation = torch.where(deviation > 0, deviation, 1)

    def of(array: np.ndarray) -> Pixels:
        return Pixels(array, mean, deviation, np.arange(len(array)), torch.device(device))

    return of(images.train), replace(of(images.test), middle=middle)
