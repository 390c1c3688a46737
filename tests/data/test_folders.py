import numpy as np
import pytest
from PIL import Image

from tutelage.data import image_folder
from tutelage.errors import TutelageError


def picture(path, colour, size=(40, 20)):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, colour).save(path)


def test_classes_are_folders_and_the_middle_square_is_kept(tmp_path):
    picture(tmp_path / "train/wolf/1.png", (200, 0, 0))
    picture(tmp_path / "train/ant/1.png", (0, 100, 0))
    picture(tmp_path / "train/ant/2.jpg", (0, 100, 0), size=(20, 64))
    picture(tmp_path / "val/wolf/9.png", (200, 0, 0))
    (tmp_path / "train/ant/notes.txt").write_text("no picture")
    images = image_folder(tmp_path, size=8)
    assert images.classes == ("ant", "wolf")
    assert images.train.shape == (3, 8, 8, 3)
    assert images.train_labels.tolist() == [0, 0, 1]
    assert images.test_labels.tolist() == [1]
    assert np.ptp(images.train[2].reshape(-1, 3), axis=0).max() == 0
    assert images.train[2, 0, 0].tolist() == [200, 0, 0]


def test_the_middle_of_a_wide_picture(tmp_path):
    wide = np.zeros((8, 24, 3), np.uint8)
    wide[:, 8:16] = 255
    for part in ("train", "val"):
        (tmp_path / part / "a").mkdir(parents=True)
        Image.fromarray(wide).save(tmp_path / part / "a/1.png")
    images = image_folder(tmp_path, size=8)
    assert images.train[0].shape == (8, 8, 3)
    assert images.train[0, :, 2:6].min() == 255


def test_bad_folders_are_refused(tmp_path):
    with pytest.raises(TutelageError, match="no folders 'train' and 'val'"):
        image_folder(tmp_path)
    picture(tmp_path / "train/a/1.png", (1, 2, 3))
    (tmp_path / "val/b").mkdir(parents=True)
    with pytest.raises(TutelageError, match="class 'b'"):
        image_folder(tmp_path)
    (tmp_path / "val/b").rmdir()
    (tmp_path / "val/a").mkdir()
    with pytest.raises(TutelageError, match="holds no pictures"):
        image_folder(tmp_path)
    (tmp_path / "val/a/1.png").write_bytes(b"x")
    with pytest.raises(TutelageError, match="not a picture"):
        image_folder(tmp_path)


def test_so_many_of_each_class_and_a_scale_of_ones_own(tmp_path):
    for i in range(4):
        picture(tmp_path / f"train/a/{i}.png", (10 * i, 0, 0), size=(12, 10))
    picture(tmp_path / "val/a/1.png", (0, 0, 0), size=(12, 10))
    images = image_folder(tmp_path, size=10, scaled=10, per_class=2)
    assert images.train[:, 5, 5, 0].tolist() == [0, 10]
    assert images.train.shape == (2, 10, 10, 3)
    with pytest.raises(TutelageError, match="at most 9, to which"):
        image_folder(tmp_path, size=10, scaled=9)
