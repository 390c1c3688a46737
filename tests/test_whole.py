"""What counts as a whole number, and what is said of the rest."""

import numpy as np
import pytest
import torch

from tutelage.errors import TutelageError
from tutelage.whole import recorded_steps, whole


@pytest.mark.parametrize(
    "value", [3, 3.0, np.int64(3), np.uint8(3), np.float32(3), np.array(3.0), torch.tensor(3), torch.tensor(3.0)]
)
def test_numbers_without_a_fraction_are_ints(value):
    assert whole(value) == 3
    assert type(whole(value)) is int


@pytest.mark.parametrize(
    "value", [1.5, float("nan"), float("inf"), "3", None, [3], 3j, np.float32(0.5), torch.tensor(0.5), np.array([1.0])]
)
def test_anything_else_is_none(value):
    assert whole(value) is None


def test_recorded_steps_keep_their_order():
    assert recorded_steps(np.array([4.0, 2.0, 4.0])) == (4, 2, 4)
    assert recorded_steps(()) == ()


@pytest.mark.parametrize("steps", [[0, 1.5], [float("nan")], ["a"], "12", [None], 5, None])
def test_other_recorded_steps_are_one_sentence(steps):
    with pytest.raises(TutelageError, match="recorded steps must be"):
        recorded_steps(steps)
