"""Models of sentences come back as they were, and other files are refused."""

import pytest
import torch
from safetensors.torch import save_file

from tutelage.autoencoders import normal_models, saving
from tutelage.autoencoders.sentence_files import load_sentences, save_sentences
from tutelage.autoencoders.sequences import sentence_models
from tutelage.errors import TutelageError

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


def test_refusals(tmp_path):
    model = sentence_models([0], len(WORDS), 3, latent=2, hidden=4, embedding=3)
    with pytest.raises(TutelageError, match="3 words for a model of 4"):
        save_sentences(model, WORDS[:3], tmp_path / "model.safetensors")
    with pytest.raises(TutelageError, match="speaks no sentences"):
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
