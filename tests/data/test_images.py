import numpy as np
import pytest
import torch

from tutelage.data import Images
from tutelage.data.images import digest
from tutelage.errors import TutelageError


def some(count=12, channels=3, seed=0) -> Images:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 256, (count, 5, 4, channels), dtype=np.uint8)
    y = np.arange(count) % 3
    return Images("some", x, y, x[:4] // 2, y[:4], ("a", "b", "c"))


def test_moments_are_those_of_the_pixels():
    images = some()
    pixels = images.train.reshape(-1, 3) / 255
    mean, deviation = images.channel_moments()
    assert np.allclose(mean, pixels.mean(0), atol=1e-12)
    assert np.allclose(deviation, pixels.std(0), atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_tensors_are_standardised_by_the_training_images(dtype):
    images = some()
    x, y, test, test_labels = images.tensors(dtype=dtype)
    assert x.shape == (12, 3, 5, 4)
    assert x.dtype == dtype
    assert y.tolist() == images.train_labels.tolist()
    assert x.mean((0, 2, 3)).abs().max() < 1e-6
    assert (x.std((0, 2, 3), correction=0) - 1).abs().max() < 1e-5
    mean, deviation = images.channel_moments()
    wanted = (images.test[2, 1, 3] / 255 - mean) / deviation
    assert np.allclose(test[2, :, 1, 3].numpy(), wanted, atol=1e-5)
    assert len(test_labels) == 4


def test_a_constant_channel_becomes_zero_and_not_nan():
    images = some(channels=1)
    flat = Images(
        "flat", np.full_like(images.train, 7), images.train_labels, images.test, images.test_labels, ("a",) * 3
    )
    assert (flat.tensors()[0].abs() < 1e-6).all()


def test_chosen_classes_are_renumbered():
    chosen = some().of_classes(2, 0)
    assert set(chosen.train_labels.tolist()) == {0, 1}
    assert chosen.classes == ("c", "a")
    assert (chosen.train == some().train[some().train_labels != 1]).all()


def test_bad_images_are_refused():
    good = some()
    with pytest.raises(TutelageError, match=r"labels must be from 0 to 1"):
        Images("bad", good.train, good.train_labels, good.test, good.test_labels, ("a", "b"))
    with pytest.raises(TutelageError, match="wanted uint8"):
        Images("bad", good.train.astype(float), good.train_labels, good.test, good.test_labels, good.classes)
    with pytest.raises(TutelageError, match="not all among"):
        good.of_classes(5)


def test_the_digest_sees_every_part():
    images = some()
    changed = images.test_labels.copy()
    changed[3] = 1 - changed[3]
    other = Images("some", images.train, images.train_labels, images.test, changed, images.classes)
    assert digest(images) == digest(some()) != digest(other)


def test_arrays_that_cannot_be_written_to_are_copied_without_a_warning():
    x, y = np.full((4, 2, 2, 1), 7, np.uint8), np.array([0, 1, 0, 1])
    x.setflags(write=False)
    pixels = Images("four", x, y, x, y, ("a", "b")).tensors()[0]
    pixels += 1
    assert (x == 7).all()
