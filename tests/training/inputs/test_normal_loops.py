"""The compiled loop has the bits of tutelage.draws, in the centre and in both tails."""

import numpy as np
import pytest
import torch
from numba import njit

from tutelage import draws
from tutelage.training.inputs import _normal_loops
from tutelage.training.inputs.distributions import _WORTHWHILE, normals


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_loop_has_the_same_bits(dtype):
    key = draws.keys([3, 2**63 - 1, 7], "loops")
    count = _WORTHWHILE // 100
    drawn = normals(key, count, 100, dtype)
    assert torch.equal(drawn, draws.normals(key, count * 100, dtype=dtype).view(3, count, 100))
    assert drawn.max() > 4
    assert drawn.min() < -4


def test_far_tails_have_the_same_bits():
    """Beyond five deviations, which no drawn sample of these tests reaches."""
    powers, cells = 2.0 ** -np.arange(1, 54), (np.arange(1000) + 0.5) * 2.0**-52
    p = np.concatenate([powers, 1 - powers[:-1], cells, 1 - cells])
    z = np.empty_like(p)
    _quantiles(p, z)
    assert (z == draws.normal_quantile(torch.from_numpy(p)).numpy()).all()
    assert z.max() > 8


@njit
def _quantiles(p, z):
    count = len(p)
    x, m, exponent, where = np.empty(count), np.empty(count), np.empty(count), np.empty(count, np.int32)
    for i in range(count):
        z[i] = _normal_loops._centre(p[i])
    _normal_loops._tails(p, z, count, where, x, x.view(np.int64), m, m.view(np.int64), exponent)
