"""Products of two slopes and two units: against samples, quadrature and closed forms where there are some."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tutelage import TutelageError
from tutelage.networks.activations import value_and_derivative
from tutelage.population._fourfold import NODES, fourfold
from tutelage.population.kernels import KINDS, kernel

SLOPE = 0.3


def vectors(seed: int, count: int = 4, d: int = 4) -> torch.Tensor:
    return torch.randn(1, count, d, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("kind", KINDS)
def test_against_samples(kind):
    w = vectors(1)
    x = torch.randn(300_000, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    value, bend = value_and_derivative(kind, x @ w[0].T, SLOPE)
    exact = fourfold(w @ w.mT, 4, kind, SLOPE)[0]
    scores = []
    for k, l, p, q in ((0, 0, 0, 0), (0, 0, 0, 1), (0, 0, 1, 2), (0, 1, 0, 1), (0, 1, 0, 2), (0, 1, 2, 2), (0, 1, 2, 3),
                       (3, 2, 1, 0), (2, 3, 2, 1)):  # fmt: skip
        product = bend[:, k] * bend[:, l] * value[:, p] * value[:, q]
        stderr = product.std() / len(product) ** 0.5
        scores.append(((product.mean() - exact[k, l, p, q]) / stderr).item())
    assert max(map(abs, scores)) < 4
    assert sum(s * s for s in scores) / len(scores) < 4


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.floats(1e-6, 1.0))
def test_relu_where_slopes_and_units_are_the_same(seed, apart):
    """1(u) relu(u) = relu(u), so I_4(k, l, k, l) is the kernel and I_4(k, l, k, q) does not need the slope of k."""
    w = vectors(seed, 3)
    w = torch.cat([w, w[:, :1] + apart * vectors(seed + 1, 1)], 1)
    exact, k = fourfold(w @ w.mT, 4, "relu")[0], kernel(w, w)[0]
    scale = k.max()
    for i in range(4):
        for j in range(4):
            assert (exact[i, j, i, j] - k[i, j]).abs() < 1e-5 * scale
            assert (exact[i, j, i] - exact[j, j, i]).abs().max() < 1e-5 * scale


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.floats(1e-7, 1.0), st.sampled_from(("relu", "leaky", "abs")))
def test_the_rule_has_points_enough(seed, apart, kind):
    w = vectors(seed, 2)
    w = torch.cat([w, w + apart * vectors(seed + 1, 2)], 1)
    few, many = (fourfold(w @ w.mT, 4, kind, SLOPE, nodes) for nodes in (NODES, 600))
    assert (few - many).abs().max() < 5e-6 * kernel(w, w, kind, SLOPE).max()


@pytest.mark.parametrize("seed", [5, 6, 7])
def test_relu_against_a_grid_over_the_sphere(seed):
    """Four different arguments in three dimensions; the radius gives E r^2 = 3, the rest is a mean over directions."""
    w, fine = vectors(seed, 4, 3), 1_000
    middles = (torch.arange(fine, dtype=torch.float64) + 0.5) / fine
    height, turn = torch.meshgrid(2 * middles - 1, 2 * math.pi * middles, indexing="ij")
    ring = (1 - height**2).sqrt()
    u = torch.stack([ring * turn.cos(), ring * turn.sin(), height], -1) @ w[0].T
    met = 3 * ((u[..., 0] > 0) * (u[..., 1] > 0) * u[..., 2].clamp_min(0) * u[..., 3].clamp_min(0)).mean()
    assert abs(fourfold(w @ w.mT, 2, "relu")[0, 0, 1, 2, 3] - met) < 1e-4


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(KINDS))
def test_order_within_each_pair_does_not_matter_and_gates_scale(seed, kind):
    w = vectors(seed)
    c = w @ w.mT
    exact = fourfold(c, 4, kind, SLOPE)
    assert torch.allclose(exact, exact.transpose(1, 2), atol=1e-12)
    assert torch.allclose(exact, exact.transpose(3, 4), atol=1e-12)
    if kind != "erf":
        assert torch.allclose(fourfold(9 * c, 4, kind, SLOPE), 9 * exact, atol=1e-9)


def test_members_are_independent_and_linear_has_no_slope():
    w = torch.cat([vectors(1), vectors(2)])
    c = w @ w.mT
    together = fourfold(c, 3, "relu")
    assert together.shape == (2, 3, 3, 4, 4)
    assert torch.allclose(together[1:], fourfold(c[1:], 3, "relu"), atol=1e-14)
    assert torch.allclose(fourfold(c, 3, "linear"), c[:, None, None].expand(-1, 3, 3, -1, -1))


def test_an_unknown_activation_is_refused():
    with pytest.raises(TutelageError, match="tanh"):
        fourfold(torch.eye(2, dtype=torch.float64)[None], 1, "tanh")
