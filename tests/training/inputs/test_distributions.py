"""Each distribution is held to its own mean, covariance and marginals."""

import pytest
import torch
from scipy import stats

from tutelage import draws
from tutelage.errors import TutelageError
from tutelage.training.inputs import CorrelatedGaussian, Distribution, Gaussian, Sphere, StudentT, Uniform

COUNT, DIMENSION = 20_000, 3
EYE = torch.eye(DIMENSION, dtype=torch.float64)


def correlations(rho):
    return torch.tensor([[rho ** abs(i - j) for j in range(DIMENSION)] for i in range(DIMENSION)], dtype=torch.float64)


CASES = {
    "gaussian": (Gaussian(std=1.5), 2.25 * EYE, stats.norm(scale=1.5)),
    "uniform": (Uniform(half_width=2.0), 4 / 3 * EYE, stats.uniform(-2, 4)),
    # on a sphere of three dimensions each coordinate is uniform (Archimedes)
    "sphere": (Sphere(radius=2.0), 4 / 3 * EYE, stats.uniform(-2, 4)),
    "correlated": (CorrelatedGaussian(std=2.0, correlation=0.7), 4 * correlations(0.7), stats.norm(scale=2)),
    "anti-correlated": (CorrelatedGaussian(correlation=-0.6), correlations(-0.6), stats.norm()),
    "uncorrelated": (CorrelatedGaussian(correlation=0.0), EYE, stats.norm()),
    # nine degrees of freedom: the products whose mean is taken have a variance
    "student-t": (StudentT(freedom=9.0, scale=0.5), 0.25 * 9 / 7 * EYE, stats.t(9, scale=0.5)),
}
HEAVY = {
    "three": (StudentT(freedom=3.0), stats.t(3)),
    "cauchy": (StudentT(freedom=1.0, scale=2.0), stats.cauchy(scale=2)),
    "fractional": (StudentT(freedom=2.5), stats.t(2.5)),
}


def points(distribution, dtype, seed=0):
    return distribution.points(draws.keys([seed], "train"), COUNT, DIMENSION, dtype)[0].double()


@pytest.mark.parametrize("name", CASES)
def test_mean_and_covariance_lie_within_five_standard_errors(name, dtype):
    distribution, covariance, _ = CASES[name]
    x = points(distribution, dtype)
    assert (x.mean(0).abs() < 5 * (covariance.diagonal() / COUNT).sqrt()).all()
    products = x[:, :, None] * x[:, None, :]
    error = products.std(0) / COUNT**0.5
    assert ((products.mean(0) - covariance).abs() < 5 * error).all()


@pytest.mark.parametrize("name", CASES)
def test_marginals_pass_kolmogorov_and_smirnov(name, dtype):
    distribution, _, marginal = CASES[name]
    for coordinate in points(distribution, dtype).T.numpy():
        assert stats.kstest(coordinate, marginal.cdf).pvalue > 1e-3


@pytest.mark.parametrize("name", HEAVY)
def test_heavy_tails_pass_kolmogorov_and_smirnov(name, dtype):
    distribution, marginal = HEAVY[name]
    x = points(distribution, dtype)
    assert x.isfinite().all()
    for coordinate in x.T.numpy():
        assert stats.kstest(coordinate, marginal.cdf).pvalue > 1e-3


@pytest.mark.parametrize("dimension", [1, 2, 7])
def test_points_of_a_sphere_have_its_radius(dtype, dimension):
    x = Sphere(radius=3.0).points(draws.keys([0, 1], "train"), 500, dimension, dtype)
    torch.testing.assert_close(x.norm(dim=-1), torch.full((2, 500), 3.0, dtype=dtype), rtol=1e-6, atol=0)


def test_uniform_points_stay_within_their_width(dtype):
    assert points(Uniform(half_width=0.7), dtype).abs().max() <= torch.tensor(0.7, dtype=dtype)


@pytest.mark.parametrize(
    ("distribution", "doubled"),
    [
        (Gaussian(), Gaussian(std=2.0)),
        (Uniform(), Uniform(half_width=2.0)),
        (Sphere(), Sphere(radius=2.0)),
        (CorrelatedGaussian(), CorrelatedGaussian(std=2.0)),
        (StudentT(), StudentT(scale=2.0)),
    ],
)
def test_the_scale_multiplies_every_point(distribution, doubled, dtype):
    assert torch.equal(points(doubled, dtype), 2 * points(distribution, dtype))


@pytest.mark.parametrize(
    ("distribution", "settings"),
    [
        (Gaussian, {"std": 0}),
        (Gaussian, {"std": float("nan")}),
        (Uniform, {"half_width": -1}),
        (Sphere, {"radius": float("inf")}),
        (CorrelatedGaussian, {"correlation": 1}),
        (CorrelatedGaussian, {"correlation": -1.0}),
        (StudentT, {"freedom": 0}),
        (StudentT, {"scale": "wide"}),
    ],
)
def test_settings_out_of_range_are_refused_by_name(distribution, settings):
    with pytest.raises(TutelageError, match=next(iter(settings))):
        distribution(**settings)


@pytest.mark.parametrize("name", CASES)
def test_laws_come_back_from_their_own_dump(name):
    distribution = CASES[name][0]
    assert Distribution.parse(distribution.model_dump()) == distribution
