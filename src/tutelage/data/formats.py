"""The formats datasets are published in, read into plain arrays. Nothing here unpickles anything."""

import gzip
import json
import tarfile
from pathlib import Path

import numpy as np

from tutelage.errors import Refusal

Parts = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Training images uint8 [N, H, W, C], training labels int64 [N], test images, test labels."""

CIFAR10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
_IDX = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")


def idx(folder: Path) -> Parts | None:
    """The four files of MNIST and its relatives, packed by gzip or not; None when they are not all there."""
    paths = [next((p for p in (folder / n, folder / f"{n}.gz") if p.exists()), None) for n in _IDX]
    if any(path is None for path in paths):
        return None
    train, train_labels, test, test_labels = (_idx_array(path) for path in paths if path)
    return train[..., None], train_labels.astype(np.int64), test[..., None], test_labels.astype(np.int64)


def _idx_array(path: Path) -> np.ndarray:
    """One idx file: two zero bytes, the type (8 is uint8), the number of axes, their lengths, the data."""
    try:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError) as error:
        raise Refusal(f"{path} cannot be unpacked ({error}): fetch it again") from None
    axes = data[3] if len(data) > 4 and data[:3] == b"\0\0\x08" else 0
    shape = np.frombuffer(data, ">u4", count=axes, offset=4) if axes and len(data) >= 4 + 4 * axes else np.zeros(0)
    if not axes or len(data) != 4 + 4 * axes + int(np.prod(shape, dtype=np.int64)):
        raise Refusal(f"{path} is not a whole idx file: fetch it again")
    return np.frombuffer(data, np.uint8, offset=4 + 4 * axes).reshape([int(n) for n in shape]).copy()


def cifar10_binary(folder: Path) -> Parts | None:
    """The publisher's binary version, unpacked or in its archive: one byte of label, then 3 x 32 x 32 pixels."""
    names = [f"data_batch_{i}.bin" for i in range(1, 6)], ["test_batch.bin"]
    return _binary(folder, "cifar-10-binary.tar.gz", "cifar-10-batches-bin", names, labels=1)


def cifar100_binary(folder: Path) -> Parts | None:
    """The publisher's binary version: a coarse label, a fine label, then the pixels; the fine label is kept."""
    return _binary(folder, "cifar-100-binary.tar.gz", "cifar-100-binary", (["train.bin"], ["test.bin"]), labels=2)


def _binary(folder: Path, archive: str, inside: str, names: tuple[list[str], list[str]], labels: int) -> Parts | None:
    parts: list[np.ndarray] = []
    for several in names:
        raw = _first_found(folder, archive, inside, several)
        if raw is None:
            return None
        if len(raw) == 0 or len(raw) % (labels + 3072):
            raise Refusal(f"{', '.join(several)} in {folder} are not whole: fetch them again")
        rows = np.frombuffer(raw, np.uint8).reshape(-1, labels + 3072)
        images = rows[:, labels:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        parts += [np.ascontiguousarray(images), rows[:, labels - 1].astype(np.int64)]
    return parts[0], parts[1], parts[2], parts[3]


def _first_found(folder: Path, archive: str, inside: str, names: list[str]) -> bytes | None:
    """The files one after another, from the folder, the folder of the archive, or the archive itself."""
    for place in (folder, folder / inside):
        if all((place / name).exists() for name in names):
            return b"".join((place / name).read_bytes() for name in names)
    if not (folder / archive).exists():
        return None
    try:
        with tarfile.open(folder / archive) as tar:
            members = [tar.extractfile(f"{inside}/{name}") for name in names]
            return b"".join(member.read() for member in members if member)
    except (KeyError, OSError, tarfile.TarError, EOFError) as error:
        raise Refusal(f"{folder / archive} is not whole ({error}): fetch it again") from None


def cifar10_sheets(folder: Path) -> Parts | None:
    """CIFAR-10 as sheets: PNG files of 10,000 rows, one image a row, and labels as JSON (spelt ``lables`` there)."""
    batches = [folder / f"data_batch_{i}.png" for i in range(1, 6)]
    files = [*batches, folder / "test_batch.png", folder / "train_lables.json", folder / "test_lables.json"]
    if not all(path.exists() for path in files):
        return None
    train = np.concatenate([_sheet(path) for path in batches])
    labels = [np.asarray(json.loads(path.read_text()), dtype=np.int64) for path in files[-2:]]
    return train, labels[0], _sheet(files[5]), labels[1]


def _sheet(path: Path) -> np.ndarray:
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path) as sheet:
            return np.asarray(sheet.convert("RGB")).reshape(-1, 32, 32, 3)
    except (OSError, UnidentifiedImageError, ValueError) as error:
        raise Refusal(f"{path} is not a whole sheet of images ({error}): fetch it again") from None


def digits(folder: Path) -> Parts | None:
    """The 1,797 handwritten digits of 8 x 8 that come with scikit-learn; the last 360 are for testing."""
    try:
        from sklearn.datasets import load_digits  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError:
        return None
    images, labels = load_digits(return_X_y=True)
    pixels = np.round(images * 255 / 16).astype(np.uint8).reshape(-1, 8, 8, 1)
    labels = labels.astype(np.int64)
    return pixels[:-360], labels[:-360], pixels[-360:], labels[-360:]
