"""One pass over pieces gives the moments of the whole, members do not mix, large means cost no digits."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tutelage import TutelageError
from tutelage.measures.second_moments import second_moments


def activations(members, samples, units, seed=0, dtype=torch.float64, mean=0.0):
    generator = torch.Generator().manual_seed(seed)
    return (mean + torch.randn(members, samples, units, generator=generator, dtype=torch.float64)).to(dtype)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=6), st.integers(1, 3), st.integers(1, 5), st.integers(1, 5))
def test_pieces_give_the_covariances_of_the_whole(sizes, members, p, q):
    x, y = activations(members, sum(sizes), p, 1), activations(members, sum(sizes), q, 2)
    moments = second_moments(zip(x.split(sizes, dim=1), y.split(sizes, dim=1), strict=True))
    assert moments.count == sum(sizes)
    for s in range(members):
        both = torch.cat([x[s], y[s]], dim=1)
        wanted = (both - both.mean(0)).T @ (both - both.mean(0))
        assert torch.allclose(moments.xx[s], wanted[:p, :p], atol=1e-10)
        assert torch.allclose(moments.yy[s], wanted[p:, p:], atol=1e-10)
        assert torch.allclose(moments.xy[s], wanted[:p, p:], atol=1e-10)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-9), (torch.float32, 1e-2)])
def test_a_large_mean_costs_no_digits_beyond_those_of_the_activations(dtype, tolerance):
    x = activations(1, 5000, 2, dtype=torch.float64)
    moved = (x + 1e4).to(dtype)
    still = second_moments([(x, x)]).xx
    assert torch.allclose(second_moments([(moved, moved)]).xx, still, rtol=tolerance, atol=tolerance * 5000)


def test_blocks_do_not_show():
    """More samples than are multiplied at once."""
    x, y = activations(2, 5001, 3, 1), activations(2, 5001, 2, 2)
    wanted = np.cov(x[1].numpy().T, y[1].numpy().T, ddof=0) * 5001
    assert np.allclose(second_moments([(x, y)]).xy[1], wanted[:3, 3:], rtol=1e-10, atol=1e-8)


def test_what_cannot_be_compared_is_refused():
    x = activations(1, 10, 2)
    with pytest.raises(TutelageError, match="same samples"):
        second_moments([(x, x[:, :9])])
    with pytest.raises(TutelageError, match="no samples"):
        second_moments([])
    with pytest.raises(TutelageError, match="no samples"):
        second_moments([(x[:, :0], x[:, :0])])
    with pytest.raises(TutelageError, match="the first one"):
        second_moments([(x, x), (x[..., :1], x)])
    with pytest.raises(TutelageError, match="not finite"):
        second_moments([(x / 0, x)])
    with pytest.raises(TutelageError, match="shape"):
        second_moments([(x[0, 0], x[0, 0])])
