"""Covariances of distributions against samples, and hidden manifolds against the equations of their covariance."""

import pytest
import torch

from tutelage import TutelageError, draws, inputs
from tutelage.networks.activations import value_and_derivative
from tutelage.population import Units, covariance_of, order_parameters

DISTRIBUTIONS = {
    "gaussian": inputs.Gaussian(std=1.5),
    "correlated": inputs.CorrelatedGaussian(std=1.5, correlation=-0.7),
    "matrix": inputs.GaussianCovariance(covariance=((2.0, 0.5, 0.0), (0.5, 1.0, 0.1), (0.0, 0.1, 3.0))),
    "decay": inputs.GaussianCovariance(decay=1.5),
    "uniform": inputs.Uniform(half_width=2.0),
    "hypercube": inputs.Hypercube(side=2.0),
    "sphere": inputs.Sphere(radius=3.0),
    "student": inputs.StudentT(freedom=9.0, scale=2.0),
    "sign": inputs.HiddenManifold(latent=2),
    "erf": inputs.HiddenManifold(latent=4, fold="erf", seed=3),
    "tanh": inputs.HiddenManifold(latent=4, fold="tanh"),
}


@pytest.mark.parametrize("distribution", DISTRIBUTIONS.values(), ids=DISTRIBUTIONS)
def test_covariances_are_those_of_samples(distribution):
    """200,000 samples; mean and products within 4.5 standard errors."""
    (x,) = distribution.points(draws.keys([1], "samples"), 200_000, 3, torch.float64)
    covariance = covariance_of(distribution, 3)
    exact = covariance.diag() if covariance.ndim == 1 else covariance
    products = x[:, :, None] * x[:, None]
    slack = 1e-12
    assert (x.mean(0).abs() < 4.5 * x.std(0) / len(x) ** 0.5).all()
    assert ((products.mean(0) - exact).abs() <= 4.5 * products.std(0) / len(x) ** 0.5 + slack).all()


@pytest.mark.parametrize(
    "distribution",
    [
        inputs.StudentT(freedom=2.0),
        inputs.GaussianCovariance(decay=1.0, mean=(1.0, 0.0, 0.0)),
        inputs.HiddenManifold(fold="relu"),
        inputs.Mixture(),
    ],
    ids=["infinite variance", "mean", "even fold", "unknown"],
)
def test_what_has_no_covariance_of_mean_0_is_one_sentence(distribution):
    with pytest.raises(TutelageError, match="mean"):
        covariance_of(distribution, 3)


def course(activation, manifold, d, rate, steps, members):
    """Online SGD on a hidden manifold, sample by sample: the overlaps w^T C w at the end [S, K + M, K + M]."""
    covariance = covariance_of(manifold, d)
    g = torch.Generator().manual_seed(4)
    taught, start = (torch.randn(2, d, dtype=torch.float64, generator=g) / d**0.5 for _ in range(2))
    w = start.expand(members, -1, -1).clone()
    x = manifold.points(draws.keys(range(members), "manifold"), steps, d, torch.float64)
    for step in range(steps):
        now = x[:, step, :, None]
        value, bend = value_and_derivative(activation, w @ now)
        error = value.sum(1) - value_and_derivative(activation, taught @ now)[0].sum(1)
        w -= rate / d * error[:, None] * bend * now.mT
    both = torch.cat([w, taught.expand(members, -1, -1)], 1)
    return Units(taught[None], torch.ones(1, 2, 1), activation), start, covariance, both @ covariance @ both.mT


@pytest.mark.parametrize("activation", ["erf", "relu"])
def test_online_sgd_on_a_hidden_manifold_follows_the_equations_of_its_covariance(activation):
    """The gap is that of fluctuations: within 4.5 standard errors and a bias of order 1/d, and far from identity."""
    d, rate, time, members = 300, 0.5, 3, 24
    manifold = inputs.HiddenManifold(latent=150, seed=1)
    teacher, start, covariance, met = course(activation, manifold, d, rate, time * d, members)
    student = Units(start[None], torch.ones(1, 2, 1), activation)
    limit = order_parameters(teacher, student, rate, [0.0, time], covariance=covariance)
    plain = order_parameters(teacher, student, rate, [0.0, time])
    moved, gaps, others = [], [], []
    for name, found in (("q", met[:, :2, :2]), ("r", met[:, 2:, :2])):
        expected, other = (getattr(run, name)[:, 0] for run in (limit, plain))
        stderr = found.std(0) / members**0.5
        assert ((found.mean(0) - expected[1]).abs() < 4.5 * stderr + 5 / d).all()
        moved.append((expected[1] - expected[0]).abs().max())
        gaps.append((found.mean(0) - expected[1]).abs().max())
        others.append((found.mean(0) - other[1]).abs().max())
    assert max(gaps) < 0.1 * max(moved)
    assert max(others) > 3 * max(gaps)


@pytest.mark.parametrize("other", [None, "gaussian"], ids=["none", "text"])
def test_what_is_no_distribution_is_said(other):
    with pytest.raises(TutelageError, match="distribution must be a recipe of"):
        covariance_of(other, 3)
