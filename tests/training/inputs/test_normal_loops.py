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


def test_the_quantile_of_the_loop_is_that_of_the_draws_far_in_the_tails():
    from tutelage.training.inputs._normal_loops import _quantile

    p = torch.cat(
        [2.0 ** -torch.arange(1, 53, dtype=torch.float64), 1 - 2.0 ** -torch.arange(2, 53, dtype=torch.float64)]
    )
    expected = draws.normal_quantile(p)
    found = torch.tensor([_quantile.py_func(x) if hasattr(_quantile, "py_func") else _quantile(x) for x in p.tolist()])
    torch.testing.assert_close(found.double(), expected, rtol=1e-6, atol=0)
