"""The formats datasets are published in, read into plain arrays. Nothing here unpickles anything."""

import gzip
import json
import lzma
import tarfile
import zlib
from math import prod
from pathlib import Path

import numpy as np

from tutelage.errors import TutelageError
from tutelage.settings import one_line

Parts = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Training images uint8 [N, H, W, C], training labels int64 [N], test images, test labels."""

LARGEST = 1 << 30
"""The most bytes of one unpacked file."""

CIFAR10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
_IDX = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")


def idx(folder: Path) -> Parts | None:
    """The four files of MNIST and its relatives, packed by gzip or not; None when they are not all there."""
    paths = [next((p for p in (folder / n, folder / f"{n}.gz") if p.exists()), None) for n in _IDX]
    if any(path is None for path in paths):
        return None
    axes = 3, 1, 3, 1
    arrays = [_idx_array(path, wanted) for path, wanted in zip(paths, axes, strict=True) if path]
    return arrays[0][..., None], arrays[1].astype(np.int64), arrays[2][..., None], arrays[3].astype(np.int64)


def _idx_array(path: Path, axes: int) -> np.ndarray:
    """One idx file: two zero bytes, the type (8 is uint8), the number of axes, their lengths, the data."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise TutelageError(f"{path} cannot be unpacked ({one_line(str(error))}): fetch it again") from None
    begin = 4 + 4 * axes
    shape = [int(n) for n in np.frombuffer(data[4:begin], ">u4")] if len(data) >= begin else []
    if data[:4] != bytes([0, 0, 8, axes]) or not shape or len(data) != begin + prod(shape) or not prod(shape):
        raise TutelageError(f"{path} is not a whole idx file of {axes} axes: fetch it again")
    return np.frombuffer(data, np.uint8, offset=begin).reshape(shape).copy()


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
            raise TutelageError(f"{', '.join(several)} in {folder} are not whole: fetch them again")
        rows = np.frombuffer(raw, np.uint8).reshape(-1, labels + 3072)
        images = rows[:, labels:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        parts += [np.ascontiguousarray(images), rows[:, labels - 1].astype(np.int64)]
    return parts[0], parts[1], parts[2], parts[3]


def _first_found(folder: Path, archive: str, inside: str, names: list[str]) -> bytes | None:
    """The files one after another, from the folder, the folder of the archive, or the archive itself."""
    for place in (folder, folder / inside):
        if all((place / name).exists() for name in names):
            try:
                return b"".join((place / name).read_bytes() for name in names)
            except OSError as error:
                raise TutelageError(f"{', '.join(names)} in {place} cannot be read ({error.strerror})") from None
    if not (folder / archive).exists():
        return None
    try:
        with tarfile.open(folder / archive) as tar:
            members = [tar.extractfile(f"{inside}/{name}") for name in names]
            return b"".join(member.read(LARGEST) for member in members if member)
    except (KeyError, OSError, EOFError, ValueError, tarfile.TarError, zlib.error, lzma.LZMAError) as error:
        raise TutelageError(f"{folder / archive} is not whole ({one_line(str(error))}): fetch it again") from None


def cifar10_sheets(folder: Path) -> Parts | None:
    """CIFAR-10 as sheets: PNG files of 10,000 rows, one image per row, and labels as JSON (spelt ``lables`` there)."""
    batches = [folder / f"data_batch_{i}.png" for i in range(1, 6)]
    files = [*batches, folder / "test_batch.png", folder / "train_lables.json", folder / "test_lables.json"]
    if not all(path.exists() for path in files):
        return None
    train = np.concatenate([_sheet(path) for path in batches])
    labels = [_label_list(path) for path in files[-2:]]
    return train, labels[0], _sheet(files[5]), labels[1]


def _label_list(path: Path) -> np.ndarray:
    try:
        labels = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise TutelageError(f"{path} is not a list of labels ({one_line(str(error))}): fetch it again") from None
    if not isinstance(labels, list) or any(type(label) is not int or not 0 <= label < 256 for label in labels):
        raise TutelageError(f"{path} is not a list of whole numbers: fetch it again")
    return np.array(labels, dtype=np.int64)


def _sheet(path: Path) -> np.ndarray:
    from PIL import Image

    try:
        with Image.open(path) as sheet:
            return np.asarray(sheet.convert("RGB")).reshape(-1, 32, 32, 3)
    except Exception as error:  # what decoders raise at damaged pictures has no common base
        raise TutelageError(f"{path} is not a whole sheet of images ({one_line(str(error))}): fetch it again") from None


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
