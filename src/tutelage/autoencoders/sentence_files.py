"""Models of sentences on disk: all weights as safetensors, with the words behind the numbers beside them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from safetensors.torch import save
from torch import Tensor

from tutelage.autoencoders import saving
from tutelage.autoencoders.parts import Model
from tutelage.autoencoders.sequences import decoder_of, sentence_models
from tutelage.errors import TutelageError
from tutelage.files import write_atomically

_SIZES = {"members", "longest", "latent", "hidden", "embedding"}


def save_sentences(model: Model, words: Sequence[str], path: str | Path) -> None:
    """Write models of sentences to a safetensors file.

    Parameters
    ----------
    model
        All members.
    words
        Vocabulary in the order of the word numbers.
    path
        File to write.
    """
    decoder = decoder_of(model)
    members, vocabulary, embedding = decoder.words.shape
    if len(words) != vocabulary:
        raise TutelageError(
            f"there are {len(words)} words for a model of {vocabulary}: give the words it was trained with"
        )
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
    """Load models of sentences that :func:`save_sentences` wrote.

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    model, words
        All members, and the vocabulary.
    """
    metadata, tensors = saving.read(path)
    if not {"sizes", "words"} <= metadata.keys():
        raise TutelageError(f"{path} holds no models of sentences: write them with save_sentences")
    words, sizes = _described(metadata, tensors, path)
    model = sentence_models(range(sizes.pop("members")), len(words), sizes.pop("longest"), **sizes)
    saving.into({"decoder": model.decoder, "encoder": model.encoder, "estimator": model.estimator}, tensors, path)
    return model, words


def _described(
    metadata: Mapping[str, str], tensors: Mapping[str, Tensor], path: str | Path
) -> tuple[tuple[str, ...], dict]:
    """Words and sizes, if they are those of the arrays beside them: no model is built that the file cannot fill."""
    try:
        words, sizes = json.loads(metadata["words"]), json.loads(metadata["sizes"])
    except (ValueError, RecursionError):
        raise TutelageError(f"the words or sizes in {path} are damaged: save the models again") from None
    most = sum(tensor.numel() for tensor in tensors.values())
    whole = isinstance(sizes, dict) and sizes.keys() == _SIZES and all(type(n) is int for n in sizes.values())
    if not whole or not all(0 < n <= most for n in sizes.values()):
        raise TutelageError(
            f"the sizes in {path} must be {', '.join(sorted(_SIZES))}, whole numbers that fit its arrays"
        )
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise TutelageError(f"the words in {path} are not a list of texts: save the models again")
    shape = tuple(tensors["decoder.words"].shape) if "decoder.words" in tensors else ()
    if shape != (sizes["members"], len(words), sizes["embedding"]) or sizes["hidden"] * sizes["latent"] > most:
        raise TutelageError(f"the sizes in {path} do not fit its arrays: save the models again")
    return tuple(words), sizes
