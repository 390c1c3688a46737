"""eta and mu are the least that Def. 6 of Tian 2020 allows along a direction, and over all where they say exact."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tutelage import TutelageError
from tutelage.specialisation.certificates.eta_mu import eta_along, eta_mu, mu_along, widest_eta


def samples(seed, count, dimension):
    return torch.randn(count, dimension, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@given(seed=st.integers(0, 10_000), count=st.integers(1, 25), dimension=st.integers(1, 4))
def test_along_a_direction_eta_is_the_least_for_all_intervals(seed, count, dimension):
    p = samples(seed, count, 1)[:, 0]
    ordered = p.sort().values.tolist()
    best = 0.0
    for i in range(count):
        for last in range(i + dimension + 1, count):
            best = max(best, (last - i - dimension) / (count * (ordered[last] - ordered[i]) / 2))
    assert float(widest_eta(p[None], dimension)[0]) == pytest.approx(best, rel=1e-9)


@given(seed=st.integers(0, 10_000), count=st.integers(1, 25), dimension=st.integers(1, 4))
def test_for_a_hyperplane_eta_and_mu_satisfy_the_definition_at_every_width_and_no_less_does(seed, count, dimension):
    p = samples(seed, count, 1)[:, 0]
    eta, mu = float(eta_along(p[None], dimension)[0]), float(mu_along(p[None])[0])
    widths = p.abs().tolist()
    counts = [sum(abs(v) <= e for v in p.tolist()) for e in widths]
    assert all(n <= eta * e * count + dimension + 1 + 1e-9 for n, e in zip(counts, widths, strict=True))
    tails = [sum(abs(v) >= e for v in p.tolist()) for e in widths]
    assert all(n <= mu / e**2 * count + 1e-9 for n, e in zip(tails, widths, strict=True))
    if eta > 0:
        assert any(n > 0.999 * eta * e * count + dimension + 1 for n, e in zip(counts, widths, strict=True))
    assert any(n > 0.999 * mu / e**2 * count for n, e in zip(tails, widths, strict=True))


def test_in_the_plane_no_direction_beats_the_extreme_ones():
    x = samples(3, 30, 2)
    found = eta_mu(x)
    assert found.exact
    angles = torch.linspace(0, math.pi, 20_001, dtype=torch.float64)
    projections = torch.stack([angles.cos(), angles.sin()], dim=1) @ x.T
    eta, mu = float(widest_eta(projections, 2).max()), float(mu_along(projections).max())
    assert eta <= found.eta * (1 + 1e-12)
    assert mu <= found.mu * (1 + 1e-12)
    assert mu > 0.99 * found.mu


def test_in_many_dimensions_it_says_that_these_are_bounds():
    x = samples(4, 500, 6)
    few, many = eta_mu(x, directions=8), eta_mu(x, directions=64, extra=torch.eye(6, dtype=torch.float64))
    assert not few.exact
    assert "lower bounds over" in few.method
    assert many.mu <= many.mu_upper
    assert many.mu_upper == pytest.approx(float(torch.linalg.eigvalsh(x.T @ x / 500)[-1]))
    assert many.directions > few.directions
    assert eta_mu(x, directions=8) == few


def test_samples_on_one_hyperplane_have_no_eta():
    found = eta_mu(torch.cat([torch.zeros(5, 2), samples(1, 20, 2)]))
    assert found.eta == math.inf
    assert found.plain()["eta"] is None
    assert eta_mu(torch.zeros(4, 1)).mu == 0


def test_shapes_are_refused():
    with pytest.raises(TutelageError, match=r"shape \[N, d\], one set of samples, got"):
        eta_mu(torch.zeros(2, 3, 1))
