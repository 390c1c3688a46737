"""Rules in as many dimensions as units: against closed forms and samples, and their stated error."""

import math

import pytest
import torch

from tutelage.networks.activations import value_and_derivative
from tutelage.population import Units
from tutelage.population.averages import error_of, noise_term, single_samples
from tutelage.population.nodes import rule, sampled_noise
from tutelage.population.overlaps import overlaps


def drawn(kind, k, m, c=2, members=2, scale=1.0):
    g = torch.Generator().manual_seed(5)
    w, v = (scale * torch.randn(members, n, 8, dtype=torch.float64, generator=g) / 8**0.5 for n in (k, m))
    a, b = (torch.randn(members, n, c, dtype=torch.float64, generator=g) for n in (k, m))
    return overlaps(Units(v, b, kind), Units(w, a, kind))


@pytest.mark.parametrize("units", [2, 3, 4, 6, 8])
def test_rules_have_the_moments_of_normal_numbers(units):
    z, weights = rule(units)
    assert math.isclose(weights.sum(), 1, rel_tol=1e-12)
    assert (weights @ z).abs().max() < 1e-12
    assert ((z * weights[:, None]).mT @ z - torch.eye(units)).abs().max() < 1e-8
    assert abs(weights @ z[:, 0] ** 4 - 3) < (1e-6 if units < 5 else 0.02)


@pytest.mark.parametrize(("k", "m", "most"), [(1, 1, 1e-6), (2, 1, 1e-4), (2, 2, 1e-3), (3, 2, 1e-2), (4, 4, 1e-2)])
def test_the_noise_of_erf_units_is_the_closed_form_within_the_stated_error(k, m, most):
    """Three times the difference from a rule of half the points, or three quarters per axis, covers the error."""
    now = drawn("erf", k, m, members=6)
    exact, found, shorter = noise_term(now), sampled_noise(now), sampled_noise(now, shorter=True)
    size = exact.abs().amax((1, 2))
    actual, stated = ((x - found).abs().amax((1, 2)) / size for x in (exact, shorter))
    assert (actual <= 3 * stated + 1e-11).all()
    assert actual.max() < most


@pytest.mark.parametrize("kind", ["gelu", "softplus"])
@pytest.mark.parametrize(("k", "m"), [(2, 2), (4, 4)])
def test_the_stated_error_covers_that_against_samples(kind, k, m):
    """Means over 400,000 samples; the stated error is added to four standard errors."""
    now = drawn(kind, k, m, members=1)
    root = now.root()[0]
    g = torch.Generator().manual_seed(2)
    u = torch.randn(400_000, k + m, dtype=torch.float64, generator=g) @ root
    active, bend = value_and_derivative(kind, u)
    delta = bend[:, :k] * (active @ torch.cat([now.c, -now.taught], 1)[0] @ now.c[0].T)
    samples = delta[:, :, None] * delta[:, None]
    found = single_samples(now)[0]
    stated = error_of(now) * found.abs().max()
    assert ((samples.mean(0) - found).abs() < 4.5 * samples.std(0) / len(samples) ** 0.5 + stated).all()
    assert error_of(now) < (1e-4 if k == 2 else 2e-2)


def test_a_perfect_student_has_no_noise():
    for k in (2, 4):
        start = torch.eye(k, 8, dtype=torch.float64)[None]
        units = Units(start, torch.ones(1, k, 1), "silu")
        now = overlaps(units, units)
        assert sampled_noise(now).abs().max() < 1e-13
        assert error_of(now) < 1e-9
