"""Hermite coefficients against quadrature, the test function against samples, bounds against the loss."""

import math

import numpy as np
import pytest
import torch
from scipy.integrate import quad
from scipy.special import eval_hermitenorm

from tutelage import TutelageError
from tutelage.local import hermite
from tutelage.local.exact import loss
from tutelage.local.grouping import groups
from tutelage.local.residuals import residual
from tutelage.local.setting import LocalSetting
from tutelage.local.starts import local_students, separated_teachers


def test_coefficients_against_quadrature():
    for k in range(13):
        scale = math.sqrt(math.factorial(k) * 2 * math.pi)
        true = quad(lambda t: abs(t) * eval_hermitenorm(k, t) * math.exp(-t * t / 2) / scale, -12, 12, points=[0])[0]  # noqa: B023
        assert hermite.coefficients(k) == pytest.approx(true, abs=1e-9)


def test_squares_sum_to_one_and_make_the_kernel():
    squares = hermite.coefficients(np.arange(4001)) ** 2
    assert squares.sum() == pytest.approx(1, abs=1e-5)
    for phi in (0.4, 1.0, 2.0):
        k = 2 / math.pi * (math.sin(phi) + (math.pi / 2 - phi) * math.cos(phi))
        assert (squares * math.cos(phi) ** np.arange(4001)).sum() == pytest.approx(k, abs=1e-12)


def test_the_decay_is_5_halves_and_not_the_printed_3_halves():
    k = np.array([10_000, 100_000])
    squares = hermite.coefficients(k) ** 2
    assert squares * k**2.5 == pytest.approx(2 * math.sqrt(2) / math.pi**1.5, rel=1e-3)
    printed = squares * k**1.5
    assert printed[1] < 0.2 * printed[0]


def test_norm_and_product_against_samples_and_the_printed_norm_is_too_small():
    teachers = separated_teachers(3, 4, [0], separation=1.0)
    setting = LocalSetting(teachers, local_students(teachers, 6, [1], spread=2.0) * 1.3)
    x = torch.randn(600_000, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    t = (x @ (teachers[0] / teachers[0].norm(dim=1, keepdim=True)).T).numpy()
    degree = 4
    polynomials = eval_hermitenorm(degree, t) / math.sqrt(math.factorial(degree))
    h = torch.from_numpy(math.sqrt(math.pi / 2) - polynomials.sum(1) / hermite.coefficients(degree))
    off = residual(setting, x)[0]
    for sample, exact in (
        (h**2, hermite.squared_norm(setting, degree)[0]),
        (h * off, hermite.with_residual(setting, degree)[0]),
    ):
        assert abs(sample.mean() - exact) < 4 * sample.std() / len(x) ** 0.5
    without_diagonal = hermite.squared_norm(setting, degree)[0] - 3 / hermite.coefficients(degree) ** 2
    assert (h**2).mean() - without_diagonal > 20 * (h**2).std() / len(x) ** 0.5


@pytest.mark.parametrize(("m", "spread", "scale"), [(3, 1e-6, 1.0), (9, 0.4, 1.0), (20, 1.5, 1.2), (9, 5.0, 0.7)])
def test_bounds_are_bounds(m, spread, scale):
    seeds = range(20)
    teachers = separated_teachers(3, 4, seeds, lengths=(0.5, 2.0))
    setting = LocalSetting(teachers, scale * local_students(teachers, m, seeds, spread=spread))
    assert bool((hermite.lower_bound(setting).value <= loss(setting)).all())
    assert bool((groups(setting).angle_energy() <= hermite.angle_energy_bound(setting)).all())


def test_a_neuron_away_from_all_teachers_is_seen():
    """Theorem 2 the other way round: mass off the teachers' lines costs at least what the certificate says."""
    teachers = torch.eye(3, dtype=torch.float64)
    far = torch.ones(1, 3, dtype=torch.float64) / 3**0.5
    setting = LocalSetting(teachers, torch.cat([teachers, 0.5 * far]))
    found = hermite.lower_bound(setting).value.item()
    assert 1e-5 < found < loss(setting).item()


@pytest.mark.parametrize("degree", [0, 3, -2])
def test_odd_degrees_are_refused(degree):
    setting = LocalSetting(torch.eye(2), torch.eye(2))
    with pytest.raises(TutelageError, match="degree must be even"):
        hermite.squared_norm(setting, degree)
