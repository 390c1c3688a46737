"""Bounds of the information hold around the exact one, and say why when they look odd."""

import math

import pytest
import torch
from torch import nn

from tutelage.autoencoders import normal_optimum, settled_adam
from tutelage.autoencoders.bounds import Bounds, Joint, NamedDraws, bounds, from_samples
from tutelage.autoencoders.exact import evaluate
from tutelage.autoencoders.likelihoods import Likelihood
from tutelage.autoencoders.parts import categorical_models, normal_models
from tutelage.autoencoders.training import normal_data, train_models
from tutelage.errors import TutelageError


def test_bounds_enclose_the_exact_information():
    model = normal_models([0, 1], hidden=16)
    train_models(model, normal_data, [0.8, 0.3], [0, 1], settled_adam(300, 64, 5e-3))
    exact = evaluate(model)
    for found, information, infomax in zip(bounds(model, [0, 1]), exact.information, exact.infomax, strict=True):
        assert found.lower < float(information) + 4 * found.lower_error
        assert found.upper > float(information) - 4 * found.upper_error
        assert abs(found.lower - float(infomax)) < 4.5 * found.lower_error
        assert found.upper - found.lower < 0.15


def test_more_codes_tighten_the_upper_bound():
    model = categorical_models([0], symbols=5)
    for parameter in model.decoder.parameters():
        parameter.data *= 4
    few, many = (bounds(model, [0], codes=k)[0].upper for k in (1, 64))
    information = float(evaluate(model).information)
    assert few > many > information - 0.05


def test_a_negative_bound_says_why():
    found = bounds(categorical_models([0], symbols=4), [0])[0]
    assert found.lower < 0.01
    odd = Bounds(-0.2, 0.01, 0.3, 0.01)
    assert "worse than the prior" in str(odd)
    assert odd.interval == (0.0, 0.3)
    assert "more samples" in Bounds(0.9, 0.01, 0.4, 0.01).why
    assert Bounds(0.5, 0.1, 0.4, 0.1).interval == (0.5, 0.5)
    assert Bounds(0.1, 0.1, 0.4, 0.1).why == ""


def test_large_latents_are_served():
    [found] = bounds(normal_models([0], latent=6), [0], samples=500)
    assert found.upper > found.lower


def test_what_cannot_be_bounded_is_refused():
    model = normal_models([0])
    with pytest.raises(TutelageError, match="at least 2 samples"):
        bounds(model, [0], samples=1)
    with pytest.raises(TutelageError, match="one per member"):
        bounds(model, [0, 1])
    with pytest.raises(TutelageError, match="diverged"):
        from_samples(torch.full((3,), torch.nan), torch.zeros(3), torch.zeros(3), 1.0)
    with pytest.raises(TutelageError, match="at least 2 samples"):
        from_samples(torch.zeros(1), torch.zeros(1), torch.zeros(1), 1.0)


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


def test_names_and_seeds_have_streams_of_their_own():
    size = torch.Size((5,))
    stream = NamedDraws(1, CPU)
    assert not torch.equal(stream.normal("a", size), stream.normal("b", size))
    assert not torch.equal(NamedDraws(1, CPU).normal("a", size), NamedDraws(2, CPU).normal("a", size))
    assert not torch.equal(NamedDraws(1, CPU).normal("a", size), NamedDraws(1, CPU, "held-out-").normal("a", size))


def test_what_is_made_ahead_does_not_change_the_draws():
    whole = NamedDraws(3, CPU).uniform("a", torch.Size((70_000,)))
    stream = NamedDraws(3, CPU)
    parts = torch.cat([stream.uniform("a", torch.Size((10_000,))) for _ in range(7)])
    assert torch.equal(whole, parts)
    assert 0 < float(whole.min()) < float(whole.max()) < 1


def test_rows_are_below_the_bound():
    rows = NamedDraws(0, CPU).rows(1000, 7)
    assert rows.min() == 0
    assert rows.max() == 6
