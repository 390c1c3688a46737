"""Quadrature against closed forms, sampling and finer grids."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tutelage import draws
from tutelage.autoencoders import Model, normal_optimum
from tutelage.autoencoders.exact import active_units, code, divergence, evaluate, grid, posterior
from tutelage.autoencoders.objective import log_weights
from tutelage.autoencoders.parts import NormalDecoder, NormalEncoder, categorical_models, normal_models
from tutelage.errors import TutelageError


def linear_normal(rho: float, own: float | None = None) -> Model:
    """Decoder N(rho z, 1 - rho^2), encoder and estimator N(own x, 1 - own^2), as nearly linear tanh networks."""
    model = normal_models([0], hidden=1).select([0])
    small = 1e-4  # tanh is linear to 1e-8 here
    for part, slope in ((model.decoder, rho), (model.encoder, own or rho), (model.estimator, own or rho)):
        w, b = part.net.weights, part.net.biases
        for p in (*w, *b):
            p.data.zero_()
        w[0].data.fill_(small)
        w[1].data.fill_(1.0)
        w[2].data[0, 0, 0] = slope / small
        b[2].data[0, 0, 1] = 0.5 * math.log1p(-(slope**2))
    return model


@settings(max_examples=8, deadline=None)
@given(st.floats(0.05, 2.0))
def test_c4_9_every_amount_of_information_has_the_same_elbo(target):
    best = normal_optimum(target)
    found = evaluate(linear_normal(best.rho))
    assert float(found.information) == pytest.approx(target, abs=1e-4)
    assert float(found.likelihood) == pytest.approx(best.elbo, abs=1e-4)
    assert float(found.elbo) == pytest.approx(best.elbo, abs=1e-4)
    assert float(found.gap) == pytest.approx(0, abs=1e-4)
    assert float(found.infomax) == pytest.approx(target, abs=1e-4)
    assert float(found.sharpness) == pytest.approx(0.5 * math.log(2 * math.pi * math.e) - target, abs=1e-4)


@settings(max_examples=8, deadline=None)
@given(st.floats(0.1, 0.9), st.floats(0.1, 0.9))
def test_c4_2_the_elbo_lacks_what_the_encoder_is_off_by(rho, own):
    found = evaluate(linear_normal(rho, own))
    torch.testing.assert_close(found.likelihood - found.elbo, found.gap, rtol=0, atol=1e-5)
    ratio, square = (1 - own**2) / (1 - rho**2), (own - rho) ** 2 / (1 - rho**2)
    assert float(found.gap) == pytest.approx(0.5 * (ratio - 1 - math.log(ratio) + square), abs=1e-4)


def test_a_finer_grid_says_the_same():
    model = categorical_models([0, 1], symbols=5)
    for parameter in model.decoder.parameters():
        parameter.data *= 4
    one, two = evaluate(model), evaluate(model, points=1601)
    for name in ("information", "infomax", "sharpness", "likelihood", "elbo", "gap", "kl"):
        torch.testing.assert_close(getattr(one, name), getattr(two, name), rtol=0, atol=1e-7)


def test_two_latents_agree_with_one_that_matters():
    flat = categorical_models([0], symbols=3, latent=2).select([0])
    line = categorical_models([0], symbols=3, latent=1).select([0])
    for mine, theirs in zip(flat.decoder.net.weights, line.decoder.net.weights, strict=True):
        mine.data.zero_()
        mine.data[:, : theirs.shape[1]] = 3 * theirs.data
        theirs.data *= 3
    found, wanted = evaluate(flat, points=81), evaluate(line, points=81)
    torch.testing.assert_close(found.information, wanted.information, rtol=0, atol=1e-6)


def test_chunks_of_members_change_nothing(monkeypatch):
    model = normal_models([0, 1, 2])
    whole = evaluate(model, points=201, data_points=101)
    monkeypatch.setattr("tutelage.autoencoders.exact._ELEMENTS", 1)
    torch.testing.assert_close(evaluate(model, points=201, data_points=101).information, whole.information)


def test_posteriors_and_codes_are_densities():
    model = categorical_models([0, 1], symbols=4)
    x = torch.arange(4)
    z, truth = posterior(model, x)
    step = float(z[1, 0] - z[0, 0])
    for density in (truth, code(model, x)[1], code(model, x, resample=5, sets=64)[1]):
        assert density.shape == (2, 4, len(z))
        torch.testing.assert_close(density.sum(2) * step, torch.ones(2, 4, dtype=torch.float64), rtol=0, atol=1e-6)


def test_resampling_brings_the_code_nearer_to_the_posterior():
    model = categorical_models([0], symbols=4)
    for parameter in model.decoder.parameters():
        parameter.data *= 5
    x = torch.arange(4)
    z, truth = posterior(model, x)
    step = float(z[1, 0] - z[0, 0])
    off = [float(divergence(code(model, x, resample=k)[1], truth, step).mean()) for k in (1, 5, 50)]
    assert off[0] > off[1] > off[2] > -1e-9
    assert off[2] < 0.2 * off[0]


def test_a_density_that_is_0_where_the_other_has_mass_is_infinitely_far():
    p = torch.tensor([0.0, 0.25, 0.75], dtype=torch.float64)
    q = torch.tensor([0.5, 0.5, 0.0], dtype=torch.float64)
    assert float(divergence(p, q, 1.0)) == math.inf
    assert float(divergence(p, p, 1.0)) == 0.0
    assert divergence(torch.stack([p, q]), torch.stack([q, q]), 1.0).tolist() == [math.inf, 0.0]
    assert float(divergence([0.0, 1.0], [0.5, 0.5], 1)) == pytest.approx(math.log(2))


def test_a_tail_that_underflows_is_not_infinite():
    z = torch.linspace(-60, 60, 4801, dtype=torch.float64)
    step = float(z[1] - z[0])
    p, q = ((-0.5 * (z / s).square()).exp() / (s * math.sqrt(2 * math.pi)) for s in (1.5, 1.0))
    assert bool(((q == 0) & (p > 0)).any())
    exact = 0.5 * 1.5**2 - 0.5 - math.log(1.5)
    assert float(divergence(p, q, step)) == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize(
    ("p", "q", "cell", "message"),
    [
        ([0.5, 0.5], [1.0], 1.0, "the same grid points"),
        ([1.5, -0.5], [0.5, 0.5], 1.0, "not negative"),
        ([0.5, 0.5], [math.nan, 0.5], 1.0, "not negative"),
        ([0.5, 0.5], [0.5, 0.5], 0.0, "cell must be positive"),
    ],
)
def test_what_is_no_density_has_no_divergence(p, q, cell, message):
    with pytest.raises(TutelageError, match=message):
        divergence(torch.tensor(p), torch.tensor(q), cell)


def test_the_resampling_density_is_that_of_resampling():
    model = categorical_models([0], symbols=3).select([0])
    for parameter in model.decoder.parameters():
        parameter.data *= 5
    sets, k = 40_000, 3
    noise = draws.normals(draws.keys([0], "brute"), sets * k).view(1, k, sets, 1)
    given_x = torch.full((1, sets), 2)
    with torch.no_grad():
        share = log_weights(model, given_x, noise).softmax(1)[0]
        mean, log_std = model.encoder.moments(given_x)
        codes = (mean[0] + log_std[0].exp() * noise[0])[..., 0]
        picked = (share * codes).sum(0)
    z, density = code(model, torch.tensor([2]), resample=k, sets=2000)
    wanted = float((density[0, 0] * z[:, 0]).sum() * (z[1, 0] - z[0, 0]))
    assert abs(float(picked.mean()) - wanted) < 0.02


def test_collapse_and_active_units():
    flat, alive = linear_normal(1e-3), linear_normal(0.9)
    assert bool(evaluate(flat).collapsed)
    assert not bool(evaluate(alive).collapsed)
    x = torch.linspace(-2, 2, 50, dtype=torch.float64).view(1, -1, 1)
    assert active_units(flat, x).tolist() == [0]
    assert active_units(alive, x).tolist() == [1]


def test_what_the_grid_cannot_hold_is_refused():
    with pytest.raises(TutelageError, match="one or two dimensions"):
        grid(3)
    narrow = linear_normal(0.5)
    narrow.decoder.net.biases[2].data[0, 0, 1] = -7.0
    with pytest.raises(TutelageError, match="more points"):
        evaluate(narrow)
    two = Model(NormalDecoder([0], 1, 2), NormalEncoder([0], 2), NormalEncoder([0], 2))
    with pytest.raises(TutelageError, match="one number per sample"):
        evaluate(two)


@pytest.mark.parametrize("points", [0, 1, -5, 2.5])
def test_a_grid_has_two_points_or_more(points):
    with pytest.raises(TutelageError, match="points must be a whole number of at least 2"):
        grid(1, points)
    with pytest.raises(TutelageError, match="data_points must be a whole number of at least 2"):
        evaluate(linear_normal(0.5), data_points=points)


@pytest.mark.parametrize("x", [[-1], [7], [0.5]])
def test_symbols_that_the_model_does_not_have_are_errors(x):
    from tutelage.autoencoders.exact import code, posterior
    from tutelage.autoencoders.parts import categorical_models

    for call in (posterior, code):
        with pytest.raises(TutelageError, match="symbols must be whole numbers from 0 to 3"):
            call(categorical_models([0], 4), torch.tensor(x))
