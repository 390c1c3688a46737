import json
import tarfile

import numpy as np
import pytest

from tutelage.data import formats
from tutelage.errors import TutelageError


def test_idx_files_packed_or_not(idx_folder, arrays):
    train, labels, test, test_labels = formats.idx(idx_folder)
    wanted = list(arrays.values())
    assert (train[..., 0] == wanted[0]).all()
    assert (labels == wanted[1]).all()
    assert (test[..., 0] == wanted[2]).all()
    assert (test_labels == wanted[3]).all()
    assert labels.dtype == np.int64


def test_missing_files_are_none_and_damaged_ones_are_named(idx_folder):
    path = idx_folder / "train-images-idx3-ubyte"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    with pytest.raises(TutelageError, match="train-images-idx3-ubyte is not a whole idx file"):
        formats.idx(idx_folder)
    path.write_bytes(b"\0\0\x08\x03")
    with pytest.raises(TutelageError, match="not a whole idx file"):
        formats.idx(idx_folder)
    packed = idx_folder / "train-labels-idx1-ubyte.gz"
    path.write_bytes(whole)
    packed.write_bytes(packed.read_bytes()[:-9])
    with pytest.raises(TutelageError, match="cannot be unpacked"):
        formats.idx(idx_folder)
    path.unlink()
    assert formats.idx(idx_folder) is None


def rows(count, labels, seed):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 10, (count, labels + 3072), dtype=np.uint8)


def test_cifar10_binary_from_folder_and_archive(tmp_path):
    batches = {f"data_batch_{i}.bin": rows(3, 1, i) for i in range(1, 6)} | {"test_batch.bin": rows(2, 1, 9)}
    inside = tmp_path / "cifar-10-batches-bin"
    inside.mkdir()
    for name, data in batches.items():
        (inside / name).write_bytes(data.tobytes())
    first = formats.cifar10_binary(tmp_path)
    assert first[0].shape == (15, 32, 32, 3)
    assert first[2].shape == (2, 32, 32, 3)
    assert first[1][3] == batches["data_batch_2.bin"][0, 0]
    # red, green and blue planes of 1024 pixels each, row by row
    assert first[0][4, 2, 5, 1] == batches["data_batch_2.bin"][1, 1 + 1024 + 2 * 32 + 5]
    packed = tmp_path / "packed"
    packed.mkdir()
    with tarfile.open(packed / "cifar-10-binary.tar.gz", "w:gz") as tar:
        tar.add(inside, "cifar-10-batches-bin")
    second = formats.cifar10_binary(packed)
    assert all((a == b).all() for a, b in zip(first, second, strict=True))
    (packed / "cifar-10-binary.tar.gz").write_bytes((packed / "cifar-10-binary.tar.gz").read_bytes()[:400])
    with pytest.raises(TutelageError, match="not whole"):
        formats.cifar10_binary(packed)
    (inside / "test_batch.bin").write_bytes(b"12345")
    with pytest.raises(TutelageError, match="not whole"):
        formats.cifar10_binary(tmp_path)


def test_cifar100_keeps_the_fine_label(tmp_path):
    train, test = rows(4, 2, 0), rows(2, 2, 1)
    (tmp_path / "train.bin").write_bytes(train.tobytes())
    (tmp_path / "test.bin").write_bytes(test.tobytes())
    _, labels, images, _ = formats.cifar100_binary(tmp_path)
    assert (labels == train[:, 1]).all()
    assert images[1, 0, 0, 2] == test[1, 2 + 2048]


def test_sheets_of_images(tmp_path):
    from PIL import Image

    pixels = rows(2, 0, 3).reshape(2, 1024, 3)
    for name in (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"):
        Image.fromarray(pixels).save(tmp_path / f"{name}.png")
    (tmp_path / "train_lables.json").write_text(json.dumps(list(range(10))))
    assert formats.cifar10_sheets(tmp_path) is None
    (tmp_path / "test_lables.json").write_text(json.dumps([1, 2]))
    train, labels, test, test_labels = formats.cifar10_sheets(tmp_path)
    assert train.shape == (10, 32, 32, 3)
    assert (train[1] == pixels[1].reshape(32, 32, 3)).all()
    assert labels.tolist() == list(range(10))
    assert test_labels.tolist() == [1, 2]
    assert len(test) == 2
    (tmp_path / "test_batch.png").write_bytes(b"not a picture")
    with pytest.raises(TutelageError, match=r"test_batch\.png is not a whole sheet"):
        formats.cifar10_sheets(tmp_path)


def test_digits_are_those_of_scikit_learn():
    pytest.importorskip("sklearn")
    from pathlib import Path

    train, labels, test, _ = formats.digits(Path())
    assert train.shape == (1437, 8, 8, 1)
    assert test.shape == (360, 8, 8, 1)
    assert train.max() == 255
    assert labels[:10].tolist() == list(range(10))


@pytest.mark.parametrize(
    "content",
    [
        bytes([0, 0, 8, 3]) + b"\xff" * 12 + b"x",
        bytes([0, 0, 8, 3]) + np.array([2**31, 2**31, 4], ">u4").tobytes(),  # 2^64 numbers, which is 0 to 64 bits
        bytes([0, 0, 8, 255]) + b"\0\0\0\1" * 255 + b"x",
        bytes([0, 0, 8, 1]) + b"\0\0\0\1x",
        bytes([0, 0, 8, 3]) + bytes(12),
        b"",
    ],
)
def test_heads_of_idx_files_that_are_none(idx_folder, content):
    (idx_folder / "train-images-idx3-ubyte").write_bytes(content)
    with pytest.raises(TutelageError, match="not a whole idx file of 3 axes"):
        formats.idx(idx_folder)


def test_damage_inside_packed_files_is_named(idx_folder):
    packed = idx_folder / "train-labels-idx1-ubyte.gz"
    whole = bytearray(packed.read_bytes())
    whole[10:16] = b"\xff" * 6
    packed.write_bytes(whole)
    with pytest.raises(TutelageError, match="cannot be unpacked"):
        formats.idx(idx_folder)
