"""Sentences of a tiny language, all of them: probabilities, samples, and what a member may depend on."""

import itertools

import pytest
import torch

from tutelage.autoencoders.sequences import SentenceEncoder, sentence_models, step, unrolled
from tutelage.errors import TutelageError

VOCABULARY, LONGEST, LATENT = 3, 3, 2


def everything(vocabulary: int = VOCABULARY, longest: int = LONGEST) -> torch.Tensor:
    """All sentences of the words 1 .. vocabulary - 1 up to a length, the empty one among them."""
    rows = [
        [*words, *[0] * (longest - length)]
        for length in range(longest + 1)
        for words in itertools.product(range(1, vocabulary), repeat=length)
    ]
    return torch.tensor(rows)


def tiny(seeds=(0, 1), scale: float = 3.0):
    """Models with strong weights, so that nothing is nearly uniform."""
    model = sentence_models(seeds, VOCABULARY, LONGEST, latent=LATENT, hidden=4, embedding=3)
    for part in (model.decoder, model.encoder, model.estimator):
        for parameter in part.parameters():
            parameter.data *= scale
    found = model.select(range(len(seeds)))
    for part in (found.decoder, found.encoder, found.estimator):
        part.requires_grad_(False)
    return found


def test_probabilities_of_all_sentences_sum_to_one():
    model, x = tiny(), everything()
    z = torch.randn(2, 1, LATENT, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    log_p = model.decoder.log_density(x.expand(2, -1, -1), z.expand(-1, len(x), -1))
    assert torch.allclose(log_p.exp().sum(1), torch.ones(2, dtype=torch.float64), atol=1e-12)
    assert float(log_p.exp().max()) > 2 / len(x)


def test_the_sampler_follows_the_probabilities():
    model, x, count = tiny(), everything(), 20_000
    generator = torch.Generator().manual_seed(1)
    z = torch.randn(2, 1, LATENT, dtype=torch.float64, generator=generator)
    p = model.decoder.log_density(x.expand(2, -1, -1), z.expand(-1, len(x), -1)).exp()
    uniform = torch.rand(2, count, LONGEST, dtype=torch.float64, generator=generator)
    drawn = model.decoder.sample(z.expand(-1, count, -1), uniform)
    counts = (drawn.unsqueeze(2) == x).all(-1).double().mean(1)
    assert torch.allclose(counts.sum(1), torch.ones(2, dtype=torch.float64))  # nothing but sentences
    error = (p * (1 - p) / count).sqrt()
    assert bool(((counts - p).abs() < 4 * error + 1e-9).all())


def test_the_likeliest_words_are_taken_one_by_one():
    model = tiny()
    z = torch.randn(2, 5, LATENT, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    found = model.decoder.sample(z)
    chosen = model.decoder.word_log_densities(found, z)
    for word in range(VOCABULARY):
        other = found.clone()
        other[..., 0] = word
        assert bool((model.decoder.word_log_densities(other, z)[..., 0] <= chosen[..., 0] + 1e-12).all())


def test_a_member_depends_on_its_seed_alone():
    both, one = (sentence_models(s, 7, 4, latent=3, hidden=5, embedding=2) for s in ([3, 8], [8]))
    x = torch.randint(0, 7, (1, 6, 4), generator=torch.Generator().manual_seed(0))
    for part in ("encoder", "estimator"):
        many, single = (getattr(m, part).moments(x.expand(m.members, -1, -1)) for m in (both, one))
        assert all(torch.allclose(a[1:], b, atol=1e-6) for a, b in zip(many, single, strict=True))
    codes = [part.moments(x.expand(2, -1, -1))[0] for part in (both.encoder, both.estimator)]
    assert not torch.allclose(*codes)


def test_the_encoder_reads_the_order_of_words():
    encoder = SentenceEncoder([0], 5, 4, 2, 6, 3)
    mean = encoder.moments(torch.tensor([[[1, 2, 3, 0], [3, 2, 1, 0], [1, 2, 0, 0]]]))[0][0].detach()
    assert float(torch.pdist(mean).min()) > 1e-4


def test_real_numbers_and_empty_languages_are_refused():
    with pytest.raises(TutelageError, match="whole numbers"):
        SentenceEncoder([0], 5, 4, 2, 6, 3).moments(torch.zeros(1, 2, 4))
    with pytest.raises(TutelageError, match="two words or more"):
        sentence_models([0], 1)


def _given(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def test_states_are_those_of_torch():
    members, batch, steps, features, hidden = 3, 4, 5, 2, 6
    x = _given(members, batch, steps, features)
    states = []
    inputs, weights = [], []
    for s in range(members):
        one = torch.nn.LSTM(features, hidden, batch_first=True, dtype=torch.float64)
        with torch.no_grad():
            for number, parameter in enumerate(one.parameters()):
                parameter.copy_(0.3 * _given(*parameter.shape, seed=10 * s + number))
            states.append(one(x[s])[0])
            i, f, g, o = (one.weight_ih_l0 @ x[s].mT + (one.bias_ih_l0 + one.bias_hh_l0).unsqueeze(1)).chunk(4, 1)
            inputs.append(torch.cat([i, f, o, g], 1).permute(2, 0, 1))  # our order of the gates
            i, f, g, o = one.weight_hh_l0.chunk(4, 0)
            weights.append(torch.cat([i, f, o, g], 0).mT)
    found = unrolled(torch.stack(inputs, 1), torch.stack(weights))
    assert torch.allclose(found.permute(1, 2, 0, 3), torch.stack(states), atol=1e-12)


def test_the_backward_pass_is_the_derivative():
    a, weight = _given(3, 2, 2, 12), _given(2, 3, 12, seed=1)
    assert torch.autograd.gradcheck(unrolled, (a.requires_grad_(), weight.requires_grad_()))


def test_steps_one_by_one_are_all_steps_at_once():
    a, weight = _given(4, 2, 3, 20), _given(2, 5, 20, seed=1)
    h = c = torch.zeros(2, 3, 5, dtype=torch.float64)
    for now, expected in zip(a, unrolled(a, weight), strict=True):
        _, h, c = step(now, h, c, weight)
        assert torch.equal(h, expected)
