"""Folders of pictures, one folder a class, as ImageNet is kept: train/CLASS/*.jpg and val/CLASS/*.jpg."""

from pathlib import Path

import numpy as np

from tutelage.data.images import Images
from tutelage.errors import Refusal

_KINDS = {".jpg", ".jpeg", ".png", ".webp", ".bmp"}


def image_folder(folder: Path | str, size: int = 224, test: str = "val") -> Images:
    """Pictures of a folder, the shorter side scaled to ``size`` * 256/224 and the middle square of ``size`` kept.

    Classes are the folders of ``train`` in the order of their names; those of the test folder must be among them.
    """
    root = Path(folder)
    if not (root / "train").is_dir() or not (root / test).is_dir():
        raise Refusal(f"{root} has no folders 'train' and '{test}' with one folder a class: name the folder above them")
    classes = tuple(sorted(p.name for p in (root / "train").iterdir() if p.is_dir()))
    strange = sorted({p.name for p in (root / test).iterdir() if p.is_dir()} - set(classes))
    if strange:
        raise Refusal(f"{root / test} holds the class '{strange[0]}', which {root / 'train'} does not")
    train, train_labels = _pictures(root / "train", classes, size)
    held, held_labels = _pictures(root / test, classes, size)
    return Images(root.name, train, train_labels, held, held_labels, classes)


def _pictures(folder: Path, classes: tuple[str, ...], size: int) -> tuple[np.ndarray, np.ndarray]:
    found = [
        (path, label)
        for label, name in enumerate(classes)
        for path in sorted((folder / name).glob("*"))
        if path.suffix.lower() in _KINDS
    ]
    if not found:
        raise Refusal(f"{folder} holds no pictures ({', '.join(sorted(_KINDS))}) in the folders of its classes")
    images = np.stack([_picture(path, size) for path, _ in found])
    return images, np.array([label for _, label in found], dtype=np.int64)


def _picture(path: Path, size: int) -> np.ndarray:
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path) as picture:
            rgb = picture.convert("RGB")
            scale = size * 256 / 224 / min(rgb.size)
            rgb = rgb.resize([max(size, round(side * scale)) for side in rgb.size], Image.Resampling.BILINEAR)
            left, top = ((side - size) // 2 for side in rgb.size)
            return np.asarray(rgb.crop((left, top, left + size, top + size)))
    except (OSError, UnidentifiedImageError) as error:
        raise Refusal(f"{path} is not a picture that can be read ({error}): remove it or fetch it again") from None
