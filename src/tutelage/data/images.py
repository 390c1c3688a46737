"""Labelled images in memory: what is on disk, unchanged, and what networks are given."""

import hashlib
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.printing import printed


@printed
@dataclass(frozen=True, eq=False)
class Images:
    """Labelled images for training and testing.

    Attributes
    ----------
    name
        Of the data set.
    train, test
        Images uint8 [N, H, W, C].
    train_labels, test_labels
        Labels int64 [N].
    classes
        Names of the classes in the order of their labels.
    """

    name: str
    train: np.ndarray
    train_labels: np.ndarray
    test: np.ndarray
    test_labels: np.ndarray
    classes: tuple[str, ...]

    def __post_init__(self) -> None:
        for part, images, labels in (
            ("training", self.train, self.train_labels),
            ("test", self.test, self.test_labels),
        ):
            fits = (
                images.ndim == 4 and self.train.size and images.dtype == np.uint8 and labels.shape == images.shape[:1]
            )
            if not fits or labels.dtype.kind not in "iu" or images.shape[1:] != self.train.shape[1:]:
                raise TutelageError(
                    f"the {part} images of {self.name} are {images.dtype} {list(images.shape)} with labels "
                    f"{labels.dtype} {list(labels.shape)}: wanted uint8 [N, H, W, C], of one size, and integers [N]"
                )
            bad = (labels < 0) | (labels >= len(self.classes))
            if bad.any():
                where = int(np.flatnonzero(bad)[0])
                raise TutelageError(
                    f"the label of {part} image {where} of {self.name} is {labels[where]}, and there are "
                    f"{len(self.classes)} classes: labels must be from 0 to {len(self.classes) - 1}"
                )

    @property
    def shape(self) -> tuple[int, int, int]:
        """Height, width, channels."""
        height, width, channels = self.train.shape[1:]
        return height, width, channels

    def of_classes(self, *chosen: int) -> "Images":
        """The images of some classes alone, labelled 0, 1, ... in the order given.

        >>> x, y = np.zeros((4, 1, 1, 1), np.uint8), np.array([0, 1, 2, 1])
        >>> Images("four", x, y, x, y, ("a", "b", "c")).of_classes(1, 0).train_labels.tolist()
        [1, 0, 0]
        """
        if not chosen or not set(chosen) <= set(range(len(self.classes))):
            raise TutelageError(f"classes {list(chosen)} are not all among the {len(self.classes)} of {self.name}")
        place = np.full(len(self.classes), -1)
        place[list(chosen)] = range(len(chosen))
        parts = {}
        for part in ("train", "test"):
            labels = place[getattr(self, f"{part}_labels")]
            parts[part], parts[f"{part}_labels"] = getattr(self, part)[labels >= 0], labels[labels >= 0]
        return replace(self, classes=tuple(self.classes[c] for c in chosen), **parts)

    def channel_moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of every channel over the training images, pixels counted from 0 to 1: [C]."""
        count = self.train[..., 0].size
        levels = np.arange(256) / 255
        weights = np.stack([np.bincount(self.train[..., c].ravel(), minlength=256) for c in range(self.shape[2])])
        mean = weights @ levels / count
        return mean, np.sqrt(np.maximum(weights @ levels**2 / count - mean**2, 0))

    def tensors(
        self, device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Training images [N, C, H, W] and labels [N], test images and labels, as tensors.

        Every channel has mean 0 and deviation 1 over the training images; the test images are moved by the same.
        """
        mean, deviation = (torch.as_tensor(m, dtype=dtype, device=device) for m in self.channel_moments())
        deviation = torch.where(deviation > 0, deviation, 1)

        def moved(images: np.ndarray) -> Tensor:
            pixels = torch.tensor(images, device=device).to(dtype).div_(255)  # a copy: files may be read-only
            return pixels.sub_(mean).div_(deviation).permute(0, 3, 1, 2).contiguous()

        train_labels, test_labels = (torch.as_tensor(y, device=device) for y in (self.train_labels, self.test_labels))
        return moved(self.train), train_labels, moved(self.test), test_labels


def digest(images: Images) -> str:
    """SHA-256 of the decoded arrays, shapes included, whatever file they were read from.

    Parameters
    ----------
    images
        A data set.

    Returns
    -------
    str
        Hexadecimal digits.
    """
    sum_ = hashlib.sha256()
    for array in (images.train, images.train_labels, images.test, images.test_labels):
        plain = np.ascontiguousarray(array, dtype=np.uint8 if array.ndim == 4 else np.int64)
        sum_.update(repr(plain.shape).encode())
        sum_.update(plain.data)
    return sum_.hexdigest()
