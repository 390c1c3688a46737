"""Small datasets in the published formats, made here; nothing is downloaded."""

import gzip
from pathlib import Path

import numpy as np
import pytest

IDX = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")


def idx_bytes(array: np.ndarray) -> bytes:
    return bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes() + array.tobytes()


@pytest.fixture
def arrays() -> dict[str, np.ndarray]:
    """The four arrays of a tiny MNIST."""
    rng = np.random.default_rng(0)
    shapes = ((6, 28, 28), (6,), (4, 28, 28), (4,))
    return {n: rng.integers(0, 10, s, dtype=np.uint8) for n, s in zip(IDX, shapes, strict=True)}


@pytest.fixture
def idx_folder(tmp_path: Path, arrays: dict[str, np.ndarray]) -> Path:
    """Two files plain and two packed."""
    folder = tmp_path / "published"
    folder.mkdir()
    for place, (name, array) in enumerate(arrays.items()):
        data = idx_bytes(array)
        if place % 2:
            (folder / f"{name}.gz").write_bytes(gzip.compress(data))
        else:
            (folder / name).write_bytes(data)
    return folder
