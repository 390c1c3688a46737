"""Datasets on this machine: one folder, one checked file per dataset."""

import os
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from tutelage.data.formats import Parts
from tutelage.data.images import Images, digest
from tutelage.data.sets import Dataset, find
from tutelage.errors import TutelageError
from tutelage.files import write_atomically

VARIABLE = "TUTELAGE_DATA"
_NAMES = "train", "train_labels", "test", "test_labels"


def cache_folder(folder: Path | str | None = None) -> Path:
    """The folder of datasets: the one given, else ``$TUTELAGE_DATA``, else ``tutelage`` in the user's cache."""
    if folder or os.environ.get(VARIABLE):
        return Path(folder or os.environ[VARIABLE]).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tutelage"


def load_images(name: str, folder: Path | str | None = None) -> Images:
    """Load a data set from files on this machine.

    Parameters
    ----------
    name
        A key of :data:`DATASETS`.
    folder
        Folder of the fetched file or of the publisher's own files; default as in :func:`fetch`.

    Returns
    -------
    Images
        The decoded arrays have the recorded digest.

    Examples
    --------
    >>> images = load_images("fashion-mnist")  # doctest: +SKIP
    """
    dataset, root = find(name), cache_folder(folder)
    if path_of(dataset, root).exists():
        return checked(dataset, _stored(path_of(dataset, root)), path_of(dataset, root))
    for place in (root / name, root):
        parts = read_published(dataset, place)
        if parts is not None:
            return checked(dataset, parts, place)
    if not dataset.sources:
        raise TutelageError(
            f"the dataset '{name}' comes with scikit-learn, which is not installed: pip install scikit-learn"
        )
    raise TutelageError(
        f"the dataset '{name}' is not in {root}: run `tutelage data fetch {name}`, or name the folder that holds it "
        f"with --data or ${VARIABLE}"
    )


def at_hand(name: str, folder: Path | str | None = None) -> bool:
    """Whether the files of a dataset are in the folder; damaged ones raise an error, not passed over."""
    dataset, root = find(name), cache_folder(folder)
    return path_of(dataset, root).exists() or any(read_published(dataset, p) is not None for p in (root / name, root))


def path_of(dataset: Dataset, root: Path) -> Path:
    """The file of a fetched dataset."""
    return root / f"{dataset.name}.safetensors"


def read_published(dataset: Dataset, folder: Path) -> Parts | None:
    """The arrays from the first format whose files are all in the folder."""
    for read in dataset.formats:
        parts = read(folder)
        if parts is not None:
            return parts
    return None


def keep(dataset: Dataset, parts: Parts, root: Path, place: Path) -> Path:
    """Check arrays and write them as the dataset's one file, whole or not at all."""
    checked(dataset, parts, place)
    path = path_of(dataset, root)
    write_atomically(path, save({n: np.ascontiguousarray(a) for n, a in zip(_NAMES, parts, strict=True)}))
    return path


def checked(dataset: Dataset, parts: Parts, place: Path) -> Images:
    """The arrays as images, an error unless they are the dataset's own, by count and digest."""
    images = Images(dataset.name, *parts, classes=dataset.classes)
    counts = len(images.train), len(images.test)
    if counts != dataset.counts:
        raise TutelageError(
            f"{place} holds {counts[0]:,} + {counts[1]:,} images and '{dataset.name}' has {dataset.counts[0]:,} + "
            f"{dataset.counts[1]:,}: fetch it again with `tutelage data fetch {dataset.name} --again`"
        )
    if dataset.digest is not None and digest(images) != dataset.digest:
        raise TutelageError(
            f"what is in {place} differs from the recorded '{dataset.name}' and is not used: fetch it again with "
            f"`tutelage data fetch {dataset.name} --again`"
        )
    return images


def _stored(path: Path) -> Parts:
    try:
        arrays = load(path.read_bytes())
        train, train_labels, test, test_labels = (arrays[name] for name in _NAMES)
    except (OSError, SafetensorError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise TutelageError(
            f"{path} cannot be read ({error}): fetch it again with `tutelage data fetch {path.stem} --again`"
        ) from None
    return train, train_labels, test, test_labels
