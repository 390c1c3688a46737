import numpy as np
import pytest
import torch

from tutelage.arrays import doubles
from tutelage.errors import TutelageError


@pytest.mark.parametrize("value", [[[1, 2]], np.array([[1, 2]]), torch.tensor([[1, 2]]), torch.tensor([[1.0, 2.0]])])
def test_numbers_of_any_kind_are_float64(value):
    assert doubles(value, "w").equal(torch.tensor([[1.0, 2.0]], dtype=torch.float64))


def test_an_array_is_copied_and_a_tensor_keeps_its_gradient():
    given = np.ones(2)
    given.flags.writeable = False
    doubles(given, "w")[0] = 5
    assert given[0] == 1
    assert doubles(torch.ones(2, requires_grad=True), "w").requires_grad


@pytest.mark.parametrize("value", [None, "abc", [[1, 2], [3]], object(), [1j], torch.ones(2) * 1j])
def test_what_is_no_array_of_numbers_is_an_error_that_names_it(value):
    with pytest.raises(TutelageError, match=r"^w must be a tensor or an array of numbers"):
        doubles(value, "w")
