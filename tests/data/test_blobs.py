"""Images for rehearsals: the same every time, and their classes can be told apart."""

import numpy as np

from tutelage.data.blobs import blobs
from tutelage.data.images import digest


def test_classes_take_turns_and_nearest_means_tell_them_apart():
    images = blobs(100, 40, side=12, noise=0.5)
    assert images.shape == (12, 12, 1)
    assert np.bincount(images.train_labels).tolist() == [10] * 10
    means = np.stack([images.train[images.train_labels == c].astype(float).mean(0) for c in range(10)])
    off = ((images.test[:, None].astype(float) - means) ** 2).sum((2, 3, 4))
    assert (off.argmin(1) == images.test_labels).mean() > 0.95


def test_more_images_are_no_other_images():
    few, many = blobs(20, 10), blobs(30, 10)
    assert np.array_equal(few.train, many.train[:20])
    assert digest(few) == digest(blobs(20, 10))
