"""The ELBO and the information that training climbs: closed forms against sampling, gradients against each other."""

import math

import pytest
import torch

from tutelage import draws
from tutelage.autoencoders.exact import evaluate
from tutelage.autoencoders.objective import (
    elbo,
    information_gain,
    log_weights,
    resampled_bound,
    standard_normal,
    to_prior,
)
from tutelage.autoencoders.parts import Model, NormalEncoder, categorical_models, normal_models
from tutelage.errors import TutelageError


def _moved(model: Model, scale: float = 1.0) -> Model:
    """The same models in float64, away from their start, so that codes and symbols matter."""
    found = model.select(range(model.members))
    generator = torch.Generator().manual_seed(1)
    for part in (found.decoder, found.encoder, found.estimator):
        for p in part.parameters():
            p.data += scale * 0.3 * torch.randn(p.shape, generator=generator, dtype=p.dtype)
    return found


def test_kl_to_the_prior_is_that_of_sampling():
    mean, log_std = torch.tensor([0.7], dtype=torch.float64), torch.tensor([-0.5], dtype=torch.float64)
    noise = draws.normals(draws.keys([0], "kl"), 100_000).view(-1, 1)
    z = mean + log_std.exp() * noise
    each = standard_normal(noise) - log_std.sum() - standard_normal(z)
    error = float(each.std() / len(each) ** 0.5)
    assert abs(float(each.mean()) - float(to_prior(mean, log_std))) < 4 * error


def test_elbo_agrees_with_quadrature():
    model = _moved(categorical_models([0, 1], symbols=4))
    count = 40_000
    x = draws.indices(draws.keys([0, 1], "x"), count, 4)
    noise = draws.normals(draws.keys([0, 1], "noise"), count).view(2, count, 1)
    exact = evaluate(model)
    with torch.no_grad():
        blocks = torch.stack([elbo(model, x[:, i::100], noise[:, i::100]) for i in range(100)])
    error = blocks.std(0) / 10
    assert bool(((blocks.mean(0) - exact.elbo).abs() < 4.5 * error).all())


def test_resampled_bound_grows_with_k_towards_the_likelihood():
    model = _moved(categorical_models([0], symbols=4))
    count = 20_000
    x = draws.indices(draws.keys([0], "x"), count, 4)
    noise = draws.normals(draws.keys([0], "noise"), 32 * count).view(1, 32, count, 1)
    with torch.no_grad():
        found = [float(resampled_bound(model, x, noise[:, :k])[0]) for k in (1, 4, 32)]
    exact = evaluate(model)
    assert found[0] < found[1] < found[2]
    assert found[0] == pytest.approx(float(exact.elbo[0]), abs=0.02)
    assert found[2] == pytest.approx(float(exact.likelihood[0]), abs=0.02)


def test_weights_average_to_the_marginal():
    model = _moved(normal_models([0]))
    x = torch.tensor([[[0.4]]], dtype=torch.float64)
    noise = draws.normals(draws.keys([0], "weights"), 200_000).view(1, 200_000, 1, 1)
    with torch.no_grad():
        weights = log_weights(model, x, noise).exp().flatten()
        z = torch.linspace(-8, 8, 4001, dtype=torch.float64).view(1, -1, 1)
        density = model.decoder.log_density(x.expand(1, 4001, 1), z) + standard_normal(z)
    marginal = float(density.exp().sum() * (z[0, 1, 0] - z[0, 0, 0]))
    assert abs(float(weights.mean()) - marginal) < 5 * float(weights.std() / len(weights) ** 0.5)


def test_free_bits_and_weights_change_the_kl_alone():
    model = _moved(categorical_models([0], symbols=3))
    x = torch.tensor([[0, 1, 2, 1]])
    noise = torch.zeros(1, 4, 1, dtype=torch.float64)
    kl = to_prior(*model.encoder.moments(x)).sum(-1).mean(1)
    whole, half = elbo(model, x, noise), elbo(model, x, noise, weight=0.5)
    torch.testing.assert_close(half - whole, 0.5 * kl)
    free = float(kl.detach()) + 1
    torch.testing.assert_close(elbo(model, x, noise, free_bits=free), whole + kl - free)


def test_c4_7_reinforce_is_unbiased_for_the_exact_sum():
    batches, batch = 4000, 8
    one = _moved(categorical_models([0], symbols=4, hidden=3))
    model = one.select([0] * batches)  # a member a batch
    parameter = model.decoder.net.biases[-1]
    z = draws.normals(draws.keys([0], "z"), batches * batch).view(batches, batch, 1)
    u = draws.uniforms(draws.keys([0], "u"), batches * batch).view(batches, batch)
    gain = information_gain(model, z, u, "reinforce")
    [found] = torch.autograd.grad(gain.sum(), parameter)
    [exact] = torch.autograd.grad(information_gain(model, z, u).sum(), parameter)
    off = (found - exact).view(batches, -1)
    assert bool((off.mean(0).abs() < 3.5 * off.std(0) / batches**0.5).all())
    assert float((exact.mean(0)[0].abs() / off.std(0)).max()) > 10 / batches**0.5
    assert float(gain.detach().abs().max()) == 0


def test_reparametrised_gain_agrees_with_finite_differences():
    model = _moved(normal_models([0], hidden=4))
    key = draws.keys([0], "fd")
    z = draws.normals(key, 500).view(1, 500, 1)
    noise = draws.normals(key, 500, start=500).view(1, 500, 1)
    parameter = model.decoder.net.biases[-1]
    [found] = torch.autograd.grad(information_gain(model, z, noise).sum(), parameter)
    for place in range(2):
        moved = []
        for sign in (1, -1):
            with torch.no_grad():
                parameter[0, 0, place] += sign * 1e-5
                moved.append(float(information_gain(model, z, noise)[0]))
                parameter[0, 0, place] -= sign * 1e-5
        assert (moved[0] - moved[1]) / 2e-5 == pytest.approx(float(found[0, 0, place]), rel=1e-5)


def test_the_sum_wants_a_table():
    table = categorical_models([0], symbols=3)
    other = Model(table.decoder, table.encoder, NormalEncoder([0]), 1)
    with pytest.raises(TutelageError, match="table"):
        information_gain(other, torch.zeros(1, 2, 1), torch.zeros(1, 2))


def test_gain_by_sum_is_the_mean_of_sampled_scores():
    model = _moved(categorical_models([0], symbols=4))
    count = 50_000
    z = draws.normals(draws.keys([0], "z"), count).view(1, count, 1)
    u = draws.uniforms(draws.keys([0], "u"), count).view(1, count)
    with torch.no_grad():
        scores = model.estimator.log_density(z, model.decoder.sample(z, u))[0]
        exact = float(information_gain(model, z, u)[0])
    assert abs(float(scores.mean()) - exact) < 4 * float(scores.std()) / math.sqrt(count)
