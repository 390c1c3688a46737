"""The compiled loop has the bits of tutelage.draws, in the centre and in both tails."""

import pytest
import torch

from tutelage import draws
from tutelage.training.inputs.distributions import _WORTHWHILE, normals


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_loop_has_the_same_bits(dtype):
    key = draws.keys([3, 2**63 - 1, 7], "loops")
    count = _WORTHWHILE // 100
    drawn = normals(key, count, 100, dtype)
    assert torch.equal(drawn, draws.normals(key, count * 100, dtype=dtype).view(3, count, 100))
    assert drawn.max() > 4
    assert drawn.min() < -4
