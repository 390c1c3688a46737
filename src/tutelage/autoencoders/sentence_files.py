"""Models of sentences on disk: all weights as safetensors, with the words behind the numbers beside them."""

import json
from collections.abc import Sequence
from pathlib import Path

from safetensors.torch import save

from tutelage.autoencoders import saving
from tutelage.autoencoders.parts import Model
from tutelage.autoencoders.sequences import decoder_of, sentence_models
from tutelage.errors import Refusal
from tutelage.files import write_atomically


def save_sentences(model: Model, words: Sequence[str], path: str | Path) -> None:
    """Write all members; words: of the vocabulary, in the order of their numbers."""
    decoder = decoder_of(model)
    members, vocabulary, embedding = decoder.words.shape
    if len(words) != vocabulary:
        raise Refusal(f"there are {len(words)} words for a model of {vocabulary}: give the words it was trained with")
    tensors = {name: weights.detach().contiguous().clone() for name, weights in model.weights().items()}
    sizes = {
        "members": members,
        "longest": decoder.longest,
        "latent": model.latent,
        "hidden": decoder.from_state.shape[1],
        "embedding": embedding,
    }
    write_atomically(Path(path), save(tensors, {"sizes": json.dumps(sizes), "words": json.dumps(list(words))}))


def load_sentences(path: str | Path) -> tuple[Model, tuple[str, ...]]:
    """The models that :func:`save_sentences` wrote, and their words."""
    told, tensors = saving.read(path)
    if not {"sizes", "words"} <= told.keys():
        raise Refusal(f"{path} holds no models of sentences: write them with save_sentences")
    words, sizes = tuple(json.loads(told["words"])), json.loads(told["sizes"])
    model = sentence_models(range(sizes.pop("members")), len(words), sizes.pop("longest"), **sizes)
    saving.into({"decoder": model.decoder, "encoder": model.encoder, "estimator": model.estimator}, tensors, path)
    return model, words
