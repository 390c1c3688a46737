"""Convolutional parts: shapes, starts, refusals."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tutelage.autoencoders import conv_decoder, conv_encoder
from tutelage.autoencoders.likelihoods import Likelihood
from tutelage.errors import TutelageError


@settings(max_examples=10, deadline=None)
@given(
    st.sampled_from([(1, 28, 28), (1, 8, 8), (3, 12, 20)]),
    st.integers(1, 5),
    st.sampled_from(["normal", "bernoulli", "categorical"]),
)
def test_a_decoder_speaks_of_what_the_encoder_reads(shape, latent, kind):
    likelihood = Likelihood(kind)
    out = conv_decoder(shape, latent, kind, width=3, levels=4)(torch.zeros(2, latent))
    assert likelihood.shape(out) == (2, *shape)
    x = likelihood.sample(out, torch.full((2, *shape), 0.5))
    assert likelihood.log_density(out, x).shape == (2,)
    mean, log_variance = conv_encoder(shape, latent, width=3)(x.float())
    assert mean.shape == log_variance.shape == (2, latent)


def test_a_start_is_its_seeds():
    one, same, other = (conv_decoder((1, 8, 8), 2, seed=seed) for seed in (0, 0, 1))
    for a, b, c in zip(one.parameters(), same.parameters(), other.parameters(), strict=True):
        assert torch.equal(a, b)
        assert a.ndim < 2 or not torch.equal(a, c)
    weight = conv_encoder((1, 8, 8), 2).net[2].weight.detach()
    spread = float(weight.std()) * weight[0].numel() ** 0.5
    assert spread == pytest.approx(1, abs=0.1)  # uniform in +-sqrt(3 / fan in)


def test_what_cannot_be_built_is_refused():
    for build, words in (
        (lambda: conv_encoder((1, 9, 8), 2), "multiples of 4"),
        (lambda: conv_encoder((8, 8), 2), "channels, height, width"),
        (lambda: conv_encoder((1, 8, 8), 0), "at least 1"),
        (lambda: conv_decoder((1, 8, 8), 2, "distribution"), "'distribution'"),
        (lambda: conv_decoder((1, 8, 8), 2, "categorical", levels=1), "at least 2 levels"),
    ):
        with pytest.raises(TutelageError, match=words):
            build()
