"""Images asked for by the batch are the tensors that would have been made of all of them."""

import numpy as np
import pytest
import torch

from tutelage.data import Images
from tutelage.data.pixels import pixels
from tutelage.errors import TutelageError


@pytest.fixture
def some():
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 256, (12, 6, 6, 3), dtype=np.uint8), np.arange(12) % 3
    return Images("some", x, y, x[:4] // 2, y[:4], ("a", "b", "c"))


def test_rows_and_slices_are_those_of_the_whole(some):
    whole, _, whole_test, _ = some.tensors()
    train, test = pixels(some)
    rows = torch.tensor([7, 0, 7])
    assert torch.equal(train[rows], whole[rows])
    assert torch.equal(train[2:5], whole[2:5])
    assert torch.equal(test[:9], whole_test)
    assert train.shape == tuple(whole.shape)
    assert len(train) == 12


def test_a_part_of_a_part_and_middles(some):
    whole, _, whole_test, _ = some.tensors()
    train, test = pixels(some, middle=4)
    few = train.of(torch.tensor([9, 3, 5])).of([2, 0])
    assert torch.equal(few[:2], whole[[5, 9]])
    assert torch.equal(few.of([1], middle=2)[:1], whole[[9], :, 2:4, 2:4])
    assert torch.equal(test[1:3], whole_test[1:3, :, 1:5, 1:5])
    assert test.shape == (4, 3, 4, 4)


def test_a_middle_larger_than_the_images_is_refused(some):
    with pytest.raises(TutelageError, match="6 x 6"):
        pixels(some, middle=7)
