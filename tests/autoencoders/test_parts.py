"""Parts of small models, members side by side."""

import math

import pytest
import torch

from tutelage import draws
from tutelage.autoencoders.parts import (
    CategoricalDecoder,
    NormalDecoder,
    TableEncoder,
    categorical_models,
    normal_models,
)
from tutelage.errors import TutelageError


def test_a_member_is_the_same_whoever_stands_beside_it():
    alone, together = normal_models([7]), normal_models([3, 7])
    z = torch.linspace(-2, 2, 5).view(1, 5, 1)
    for a, b in zip(alone.decoder.moments(z), together.decoder.moments(z.expand(2, -1, -1)), strict=True):
        torch.testing.assert_close(a[0], b[1])


def test_encoder_and_estimator_start_apart():
    model = categorical_models([0, 1])
    assert not torch.equal(model.encoder.mean, model.estimator.mean)


def test_normal_densities_integrate_to_one():
    decoder = NormalDecoder([0, 1]).double()
    x = torch.linspace(-12, 12, 4001, dtype=torch.float64).view(1, -1, 1).expand(2, -1, -1)
    density = decoder.log_density(x, torch.full_like(x, 0.3)).exp()
    mass = density.sum(1) * float(x[0, 1, 0] - x[0, 0, 0])
    torch.testing.assert_close(mass, torch.ones(2, dtype=torch.float64), rtol=0, atol=1e-6)


def test_sampled_symbols_follow_their_probabilities():
    decoder = CategoricalDecoder([5], 4)
    with torch.no_grad():
        decoder.net.biases[-1].copy_(torch.tensor([0.0, 1.0, -1.0, 0.5]))
    count = 40_000
    z = torch.full((1, count, 1), 0.7)
    x = decoder.sample(z, draws.uniforms(draws.keys([0], "test"), count).float())
    share = torch.bincount(x[0], minlength=4) / count
    wanted = decoder.log_probabilities(z)[0, 0].exp().detach()
    error = (wanted * (1 - wanted) / count).sqrt()
    assert bool(((share - wanted).abs() < 4.5 * error).all())


def test_table_rows_and_all_symbols_agree():
    table = TableEncoder([0, 1], 3, latent=2)
    z = torch.randn(2, 6, 2, generator=torch.Generator().manual_seed(0))
    every = table.log_densities(z)
    for symbol in range(3):
        one = table.log_density(z, torch.full((2, 6), symbol))
        torch.testing.assert_close(every[..., symbol], one)


def test_select_copies_members():
    model = normal_models([0, 1, 2])
    chosen = model.select([2])
    assert chosen.members == 1
    assert chosen.decoder.net.weights[0].dtype == torch.float64
    assert next(model.decoder.parameters()).dtype == torch.float32
    torch.testing.assert_close(chosen.decoder.net.weights[1][0].float(), model.decoder.net.weights[1][2])


def test_prior_entropy():
    assert normal_models([0], latent=2).prior_entropy == pytest.approx(math.log(2 * math.pi * math.e))


def test_a_table_refuses_numbers_and_one_symbol_is_none():
    with pytest.raises(TutelageError, match="whole numbers"):
        TableEncoder([0], 3).moments(torch.zeros(1, 2))
    with pytest.raises(TutelageError, match="symbols must be at least 2"):
        categorical_models([0], symbols=1)
