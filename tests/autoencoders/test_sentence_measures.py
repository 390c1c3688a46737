"""Bounds around the exact information of a tiny language, the distribution of resampled codes, and reconstructions."""

import itertools
import math

import pytest
import torch

from tutelage.autoencoders.exact import grid
from tutelage.autoencoders.objective import log_weights, standard_normal
from tutelage.autoencoders.sentence_measures import (
    collapsed,
    interpolation,
    on_data,
    reconstructions,
    resampled_codes,
    sentence_bounds,
    shares_kept,
)
from tutelage.autoencoders.sentence_training import train_sentences
from tutelage.autoencoders.sequences import sentence_models
from tutelage.autoencoders.settings import SentenceObjective, settled_adam
from tutelage.errors import TutelageError

DATA = torch.cartesian_prod(torch.arange(1, 5), torch.arange(1, 5))
SEEDS = (0, 1)
RESAMPLE = 3


@pytest.fixture(scope="module")
def trained():
    """Two members with one latent: a VAE, and one that was asked for 1.2 nats."""
    model = sentence_models(SEEDS, 5, 2, latent=1, hidden=12, embedding=6)
    how = SentenceObjective(samples=64, resample=RESAMPLE, penalty=1.0)
    train_sentences(model, DATA, (None, 1.2), SEEDS, settled_adam(250, 32, 2e-2), objective=how)
    return model


def _exact_information(model) -> torch.Tensor:
    """By enumeration of all sentences and quadrature over the latent: [S]."""
    rows = [[*w, *[0] * (2 - n)] for n in range(3) for w in itertools.product(range(1, 5), repeat=n)]
    x, (z, log_dz) = torch.tensor(rows), grid(1)
    model = model.select(range(model.members))
    pairs = x.repeat(len(z), 1).expand(2, -1, -1), z.repeat_interleave(len(x), 0).expand(2, -1, -1)
    log_p = model.decoder.log_density(*pairs).view(2, len(z), len(x))
    log_prior = (standard_normal(z) + log_dz).unsqueeze(1)
    log_marginal = (log_p + log_prior).logsumexp(1, keepdim=True)
    return ((log_p + log_prior).exp() * (log_p - log_marginal)).sum((1, 2)).detach()


def test_the_exact_information_lies_between_the_bounds(trained):
    exact = _exact_information(trained).tolist()
    assert exact[0] < 0.1
    assert abs(exact[1] - 1.2) < 0.3
    for information, found in zip(exact, sentence_bounds(trained, SEEDS), strict=True):
        assert found.lower - 4 * found.lower_error <= information <= found.upper + 4 * found.upper_error
        assert found.upper - found.lower < 0.6


def test_resampled_codes_have_the_law_of_their_weights(trained):
    """Of two codes fixed beforehand, the first is taken with probability w_1 / (w_1 + w_2)."""
    count = 4000
    x = DATA[:1].expand(2, -1, -1)
    noise = torch.tensor([0.3, -1.1]).view(1, 2, 1, 1).expand(2, 2, 1, 1)
    share = log_weights(trained, x, noise).softmax(1)[:, 0, 0].detach()
    uniform = torch.rand(2, count, generator=torch.Generator().manual_seed(0))
    many = x.expand(2, count, -1), noise.expand(2, 2, count, 1)
    codes = resampled_codes(trained, *many, uniform).detach()
    first = codes[..., 0] > codes[..., 0].mean(1, keepdim=True)  # the noise of the first is the larger one
    error = (share * (1 - share) / count).sqrt()
    assert bool(((first.double().mean(1) - share).abs() < 4 * error).all())


def test_what_comes_back(trained):
    again = reconstructions(trained, DATA, SEEDS, RESAMPLE, copies=40)
    assert again.shape == (2, 40, 16, 2)
    exact, words = (share.mean(1).tolist() for share in shares_kept(DATA, again))
    assert exact[1] > 2 * exact[0]
    assert words[1] > words[0] + 0.1
    assert again.equal(reconstructions(trained, DATA, SEEDS, RESAMPLE, copies=40))


def test_copies_and_members_have_draws_of_their_own(trained):
    again = reconstructions(trained, DATA, SEEDS, RESAMPLE, copies=2)
    assert not again[0, 0].equal(again[0, 1])
    assert again[:, 0].equal(reconstructions(trained, DATA, SEEDS, RESAMPLE)[:, 0])


def test_the_way_begins_and_ends_at_the_codes(trained):
    way = interpolation(trained, DATA[0], DATA[-1], 5)
    ends = trained.encoder.moments(DATA[[0, -1]].expand(2, -1, -1))[0]
    assert way[:, [0, -1]].equal(trained.decoder.sample(ends))
    with pytest.raises(TutelageError, match="steps must be at least 2"):
        interpolation(trained, DATA[0], DATA[-1], 1)


def test_on_data(trained):
    found = on_data(trained, DATA, SEEDS, RESAMPLE)
    assert float(found.kl[0]) < 0.1 < float(found.kl[1])
    assert bool((found.bound < -math.log(16) + 0.2).all())  # no model beats the entropy of the data by more than noise
    assert bool((found.bound > -math.log(16) - 0.8).all())
    with pytest.raises(TutelageError, match="at least 2 sentences"):
        on_data(trained, DATA[:1], SEEDS, RESAMPLE)
    with pytest.raises(TutelageError, match="at least 2 samples"):
        sentence_bounds(trained, SEEDS, samples=1)


def test_collapse_is_told_by_either_number():
    assert collapsed(0.001, 3.0)
    assert collapsed(3.0, 0.001)
    assert not collapsed(0.1, 0.1)
