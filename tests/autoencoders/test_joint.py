"""Any three modules as one model, held against one whose information is known."""

import math

import pytest
import torch
from torch import nn

from tutelage.autoencoders import normal_optimum
from tutelage.autoencoders.joint import Joint
from tutelage.autoencoders.likelihoods import Likelihood
from tutelage.autoencoders.streams import NamedDraws
from tutelage.errors import TutelageError

CPU = torch.device("cpu")


class Line(nn.Module):
    """Mean slope times the input, one log-variance."""

    def __init__(self, slope: float, variance: float) -> None:
        super().__init__()
        self.slope, self.log_variance = nn.Parameter(torch.tensor(slope)), math.log(variance)

    def forward(self, x):
        return self.slope * x, torch.full_like(x, self.log_variance)


def _optimum(target: float) -> Joint:
    """The best model of N(0, 1) with that information: encoder and estimator are its posterior."""
    best = normal_optimum(target)
    parts = (Line(best.rho, best.deviation**2) for _ in range(3))
    return Joint(*parts, Likelihood("normal"))


def test_bounds_meet_at_the_information():
    joint = _optimum(1.3)
    joint.fits(torch.zeros(2, 1))
    found = joint.bounds(4000, 4, NamedDraws(0, CPU))
    assert abs(found.lower - 1.3) < 4.5 * found.lower_error
    assert abs(found.upper - 1.3) < 4.5 * found.upper_error
    assert found.lower_error < 0.05


def test_weights_of_the_posterior_are_the_marginal():
    joint = _optimum(0.7)
    x = torch.linspace(-2, 2, 9).unsqueeze(1)
    joint.fits(x)
    wanted = torch.distributions.Normal(0.0, 1.0).log_prob(x[:, 0])
    found = joint.log_marginal(x, joint.encoder, 1, NamedDraws(0, CPU))
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-5)


def test_the_elbo_has_no_gap_there():
    joint = _optimum(0.7)
    x = NamedDraws(1, CPU).normal("data", torch.Size((20_000, 1)))
    joint.fits(x)
    fit, kl = joint.terms(x, NamedDraws(2, CPU).normal("code", torch.Size((20_000, 1))))
    bound = (fit - kl).detach()
    error = float(bound.std()) / len(x) ** 0.5
    assert abs(float(bound.mean()) - normal_optimum(0.7).elbo) < 4.5 * error


def test_the_size_of_the_code_is_asked_for_once_it_is_known():
    joint = _optimum(1.0)
    with pytest.raises(TutelageError, match="not known yet"):
        joint.samples(NamedDraws(0, CPU), 3)
    assert not joint.fits(torch.zeros(2, 1))
    assert joint.latent == 1
    assert joint.prior_entropy == pytest.approx(0.5 * math.log(2 * math.pi * math.e))
