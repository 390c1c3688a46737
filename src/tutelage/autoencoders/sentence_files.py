"""Models of sentences on disk: all weights as safetensors, with the words behind the numbers beside them."""

import json
from collections.abc import Sequence
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import nn

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
    tensors = {
        f"{name}.{key}": value.detach().contiguous().clone()
        for name, part in _parts(model).items()
        for key, value in part.state_dict().items()
    }
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
    try:
        with safe_open(str(path), framework="pt") as file:
            told = file.metadata() or {}
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise Refusal(f"{path} cannot be read as safetensors ({error})") from None
    if not {"sizes", "words"} <= told.keys():
        raise Refusal(f"{path} holds no models of sentences: write them with save_sentences")
    words, sizes = tuple(json.loads(told["words"])), json.loads(told["sizes"])
    model = sentence_models(range(sizes.pop("members")), len(words), sizes.pop("longest"), **sizes)
    for name, part in _parts(model).items():
        part.load_state_dict({k.removeprefix(f"{name}."): v for k, v in tensors.items() if k.startswith(f"{name}.")})
    return model, words


def _parts(model: Model) -> dict[str, nn.Module]:
    return {"decoder": model.decoder, "encoder": model.encoder, "estimator": model.estimator}
