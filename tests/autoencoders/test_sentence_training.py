"""REINFORCE against the sum over all sentences, and training on a tiny language."""

import itertools
import math

import pytest
import torch
from safetensors.torch import save_file

from tutelage.autoencoders import saving
from tutelage.autoencoders.parts import normal_models
from tutelage.autoencoders.sentence_training import load_sentences, save_sentences, sentence_gain, train_sentences
from tutelage.autoencoders.sequences import sentence_models
from tutelage.autoencoders.settings import SentenceObjective, settled_adam
from tutelage.errors import TutelageError

VOCABULARY, LONGEST = 3, 2


def _everything() -> torch.Tensor:
    rows = [[*w, *[0] * (LONGEST - n)] for n in range(LONGEST + 1) for w in itertools.product((1, 2), repeat=n)]
    return torch.tensor(rows)


def test_the_gradient_is_unbiased():
    """(Phuong 2021, C.17) against (C.19): the sum over sentences, and the mean over many batches, a member each."""
    one = sentence_models([0], VOCABULARY, LONGEST, latent=1, hidden=3, embedding=2)
    for parameter in (*one.decoder.parameters(), *one.estimator.parameters()):
        parameter.data *= 2
    one, x, batches, batch, latents = one.select([0]), _everything(), 4000, 8, 400
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(latents, 1, dtype=torch.float64, generator=generator)
    of_z, of_x = z.repeat_interleave(len(x), 0).unsqueeze(0), x.repeat(latents, 1).unsqueeze(0)
    with torch.no_grad():
        scores = one.estimator.log_density(of_z, of_x)
    mean = (one.decoder.log_density(of_x, of_z).exp() * scores).sum() / latents
    exact = _flat(torch.autograd.grad(mean, list(one.decoder.parameters())))[0]
    many = one.select([0] * batches)
    rows = torch.randint(0, latents, (batches, batch), generator=generator)
    uniform = torch.rand(batches, batch, LONGEST, dtype=torch.float64, generator=generator)
    gain = sentence_gain(many, z[rows], uniform)
    assert not gain.any()
    samples = _flat(torch.autograd.grad(gain.sum(), list(many.decoder.parameters())))
    error = samples.std(0) / batches**0.5
    off = (samples.mean(0) - exact).abs() / error.clamp_min(1e-12)
    assert float(off.max()) < 4.5  # of about 90 entries
    assert float(exact.norm()) > 5 * float(error.norm())  # and there was something to find


def _flat(gradients) -> torch.Tensor:
    """Of every member: [S, parameters]."""
    return torch.cat([g.flatten(1) for g in gradients], 1)


def _trained(targets, steps=250, **settings):
    seeds = range(len(targets))
    model = sentence_models(seeds, 6, 2, latent=2, hidden=12, embedding=6)
    data = torch.cartesian_prod(torch.arange(1, 6), torch.arange(1, 6))
    how, most = SentenceObjective(samples=64, **settings), math.log(25)
    return model, train_sentences(
        model, data, targets, seeds, settled_adam(steps, 32, 2e-2), objective=how, most=most, record=[steps // 2]
    )


def test_information_comes_when_it_is_asked_for():
    _, course = _trained((None, 1.5), steps=300)
    vae, asked = course.estimate[-1].tolist()
    assert vae < 0.2
    assert abs(asked - 1.5) < 0.3
    assert course.steps == (150, 300)
    assert course.bound.isfinite().all()
    assert course.wrong[:, 0].tolist() == [0, 0]
    assert 0 < float(course.wrong[-1, 1]) < 0.6


def test_a_member_does_not_depend_on_its_neighbours():
    both = sentence_models([4, 5], 6, 2, latent=2, hidden=4, embedding=3)
    alone = sentence_models([5], 6, 2, latent=2, hidden=4, embedding=3)
    data = torch.cartesian_prod(torch.arange(1, 6), torch.arange(1, 6))
    how = {"settings": settled_adam(5, 8, 1.5e-2), "objective": SentenceObjective(samples=8)}
    first = train_sentences(both, data, (0.5, 1.0), [4, 5], **how).estimate[-1, 1]
    second = train_sentences(alone, data, (1.0,), [5], **how).estimate[-1, 0]
    assert float(first) == pytest.approx(float(second), abs=1e-4)


def test_a_plain_encoder_and_the_usual_remedies():
    _, course = _trained((None,), steps=5, resample=1, beta=0.5, warm_up=3)
    assert course.bound.isfinite().all()


def test_refusals():
    model = sentence_models([0], 6, 2, latent=2, hidden=4, embedding=3)
    how = settled_adam(1, 32, 1.5e-2)
    with pytest.raises(TutelageError, match=r"3\.219 nats at most"):
        _trained((4.0,), steps=1)
    with pytest.raises(TutelageError, match="3 places and numbers up to 5"):
        train_sentences(model, torch.full((4, 3), 5), (None,), [0], how)
    with pytest.raises(TutelageError, match="numbers up to 9"):
        train_sentences(model, torch.full((4, 2), 9), (None,), [0], how)
    with pytest.raises(TutelageError, match="rows of word numbers"):
        train_sentences(model, torch.zeros(4, 2), (None,), [0], how)
    with pytest.raises(TutelageError, match="reinforce"):
        SentenceObjective(gradient="sum")
    model.decoder.bias.data.fill_(math.nan)
    with pytest.raises(TutelageError, match="diverged by step 1"):
        train_sentences(model, torch.ones(4, 2, dtype=torch.int64), (None,), [0], how)


WORDS = ("", "<unknown>", "good", "film")


def test_models_come_back(tmp_path):
    model = sentence_models([5, 6], len(WORDS), 3, latent=2, hidden=4, embedding=3)
    save_sentences(model, WORDS, tmp_path / "model.safetensors")
    again, words = load_sentences(tmp_path / "model.safetensors")
    assert words == WORDS
    x = torch.tensor([[[2, 3, 0], [3, 0, 0]]]).expand(2, -1, -1)
    z = torch.tensor([[[0.5, -1.0], [2.0, 0.1]]]).expand(2, -1, -1)
    assert model.decoder.log_density(x, z).equal(again.decoder.log_density(x, z))
    assert model.encoder.log_density(z, x).equal(again.encoder.log_density(z, x))
    assert model.estimator.log_density(z, x).equal(again.estimator.log_density(z, x))


def test_refusals_sentence_files(tmp_path):
    model = sentence_models([0], len(WORDS), 3, latent=2, hidden=4, embedding=3)
    with pytest.raises(TutelageError, match="3 words for a model of 4"):
        save_sentences(model, WORDS[:3], tmp_path / "model.safetensors")
    with pytest.raises(TutelageError, match="no model of sentences"):
        save_sentences(normal_models([0]), WORDS, tmp_path / "model.safetensors")
    with pytest.raises(TutelageError, match="cannot be read"):
        load_sentences(tmp_path / "none.safetensors")
    save_file({"a": torch.zeros(1)}, tmp_path / "other.safetensors")
    with pytest.raises(TutelageError, match="no models of sentences"):
        load_sentences(tmp_path / "other.safetensors")


def test_a_file_whose_weights_have_other_sizes_is_refused(tmp_path):
    path = tmp_path / "model.safetensors"
    save_sentences(sentence_models([0], len(WORDS), 3, latent=2, hidden=4, embedding=3), WORDS, path)
    told, tensors = saving.read(path)
    for name, words in (
        ("decoder.words", "do not fit its arrays"),
        ("decoder.from_state", "does not fit the module given"),
    ):
        save_file(tensors | {name: torch.zeros(1, 4, 9)}, path, told)
        with pytest.raises(TutelageError, match=words):
            load_sentences(path)
