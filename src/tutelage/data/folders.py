"""Folders of pictures, one folder per class, as ImageNet is kept: train/CLASS/*.jpg and val/CLASS/*.jpg."""

from pathlib import Path

import numpy as np

from tutelage.data.images import Images
from tutelage.errors import TutelageError
from tutelage.settings import one_line

_KINDS = {".jpg", ".jpeg", ".png", ".webp", ".bmp"}


def image_folder(
    folder: Path | str, size: int = 224, test: str = "val", *, scaled: int | None = None, per_class: int | None = None
) -> Images:
    """Images from a folder of class folders, cropped to squares.

    Parameters
    ----------
    folder
        Has ``train`` and the test folder, each with one folder per class.
    size
        Side of the middle square that is kept.
    test
        Name of the test folder.
    scaled
        Length of the shorter side before cropping; default: ``size`` * 256/224.
    per_class
        At most so many training images per class, the first by name.

    Returns
    -------
    Images
        Classes in the order of the names of the training folders.

    Examples
    --------
    >>> import tempfile
    >>> from PIL import Image
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for place in ("train/cat", "train/dog", "val/cat", "val/dog"):
    ...         (Path(folder) / place).mkdir(parents=True)
    ...         Image.new("RGB", (40, 30)).save(Path(folder) / place / "a.png")
    ...     images = image_folder(folder, size=16)
    >>> images.train.shape
    (2, 16, 16, 3)
    """
    root = Path(folder)
    if not (root / "train").is_dir() or not (root / test).is_dir():
        raise TutelageError(
            f"{root} has no folders 'train' and '{test}' with one folder per class: name the folder above them"
        )
    classes = tuple(sorted(p.name for p in (root / "train").iterdir() if p.is_dir()))
    strange = sorted({p.name for p in (root / test).iterdir() if p.is_dir()} - set(classes))
    if strange:
        raise TutelageError(f"{root / test} holds the class '{strange[0]}', which {root / 'train'} does not")
    scaled = scaled or round(size * 256 / 224)
    if scaled < size:
        raise TutelageError(f"size must be at most {scaled}, to which pictures are scaled, got {size}")
    if per_class is not None and per_class < 1:
        raise TutelageError(f"per_class must be at least 1, got {per_class}")
    train, train_labels = _pictures(root / "train", classes, size, scaled, per_class)
    held, held_labels = _pictures(root / test, classes, size, scaled, None)
    return Images(root.name, train, train_labels, held, held_labels, classes)


def _pictures(
    folder: Path, classes: tuple[str, ...], size: int, scaled: int, per_class: int | None
) -> tuple[np.ndarray, np.ndarray]:
    pictures = [
        (path, label)
        for label, name in enumerate(classes)
        for path in sorted(p for p in (folder / name).glob("*") if p.suffix.lower() in _KINDS)[:per_class]
    ]
    if not pictures:
        raise TutelageError(f"{folder} holds no pictures ({', '.join(sorted(_KINDS))}) in the folders of its classes")
    images = np.empty((len(pictures), size, size, 3), np.uint8)
    for image, (path, _) in zip(images, pictures, strict=True):
        image[:] = _picture(path, size, scaled)
    return images, np.array([label for _, label in pictures], dtype=np.int64)


def _picture(path: Path, size: int, scaled: int) -> np.ndarray:
    from PIL import Image

    try:
        with Image.open(path) as picture:
            rgb = picture.convert("RGB")
            scale = scaled / min(rgb.size)
            rgb = rgb.resize([max(size, round(side * scale)) for side in rgb.size], Image.Resampling.BILINEAR)
            left, top = ((side - size) // 2 for side in rgb.size)
            return np.asarray(rgb.crop((left, top, left + size, top + size)))
    except Exception as error:  # what decoders raise at damaged pictures has no common base
        raise TutelageError(
            f"{path} is not a picture that can be read ({one_line(str(error))}): remove it or fetch it again"
        ) from None
