r"""Algorithm 4.1 of Phuong 2021 on sentences: LSTMs, the resampling encoder and REINFORCE.

.. math:: \nabla E \log r(z|x) = E\, \nabla \log p(x|z)\, \bigl(\log r(z|x) - \log p(z) - b\bigr) \qquad (Phuong 2021,
eq. C.19)

log p(z) is a baseline that knows the latent and not the sentence, so that nothing is changed in the mean; b is the mean
score of the other samples of the batch.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import save
from torch import Tensor

from tutelage import draws
from tutelage.autoencoders import saving
from tutelage.autoencoders.objective import elbo, infomax, resampled_bound, score_function, standard_normal
from tutelage.autoencoders.parts import Model
from tutelage.autoencoders.sequences import decoder_of, sentence_models
from tutelage.autoencoders.settings import SentenceObjective, settled_adam, steps_and_batch
from tutelage.autoencoders.training import MEMORY, check_course, checked_targets
from tutelage.errors import TutelageError
from tutelage.files import write_atomically
from tutelage.training.settings import Training, set_rate

_EVERY = 50  # steps between two looks at what has become of training


@dataclass(frozen=True, eq=False)
class SentenceCourse:
    """What training told at the recorded steps, [T, S] each.

    estimate: running mean of I; bound: mean over the batch of what the model climbs on data; wrong: share of the steps
    since the record before at which the sign of a batch's I - M was not that of the running mean's (0 for a VAE).
    """

    steps: tuple[int, ...]
    estimate: Tensor
    bound: Tensor
    wrong: Tensor


def sentence_gain(model: Model, z: Tensor, uniform: Tensor) -> Tensor:
    """A number that is 0 and whose gradient in the decoder is an unbiased one of E log r(z|x): [S].

    z [S, B, k] from the prior, uniform [S, B, T] makes sentences of it.
    """
    x = model.decoder.sample(z, uniform)
    with torch.no_grad():
        # A baseline may depend on z but not on the sentence; log p(z) takes out how likely the code itself is.
        scores = model.estimator.log_density(z, x) - standard_normal(z)
    return score_function(model.decoder.log_density(x, z), scores)


def train_sentences(
    model: Model,
    sentences: Tensor,
    targets: Sequence[float | None],
    seeds: Sequence[int],
    settings: Training | None = None,
    *,
    objective: SentenceObjective | None = None,
    most: float | None = None,
    record: Sequence[int] = (),
    on_progress: Callable[[float], None] | None = None,
) -> SentenceCourse:
    """Train models of sentences with a given information, in place.

    Parameters
    ----------
    model
        S members.
    sentences
        [N, T].
    targets, seeds, objective, most, record, on_progress
        As in :func:`train_models`.
    settings
        Length in steps; default: 1,000 steps of Adam.

    Returns
    -------
    SentenceCourse

    Examples
    --------
    >>> from tutelage.autoencoders import sentence_models, settled_adam
    >>> model = sentence_models([0], vocabulary=20, longest=4, latent=2, hidden=8, embedding=4)
    >>> sentences = torch.randint(0, 20, (50, 4))
    >>> course = train_sentences(model, sentences, [1.0], [0], settled_adam(2, batch=10))
    >>> course.steps
    (2,)
    """
    settings, how = settings or settled_adam(1000, 32, 1.5e-2), objective or SentenceObjective()
    steps, batch = steps_and_batch(settings, "train_sentences")
    wanted = checked_targets(targets, seeds, most, model.members)
    _check_data(model, sentences)
    theta = [*model.decoder.parameters(), *model.encoder.parameters()]
    up, aside = (settings.optimiser.for_module(p, settings.rate) for p in (theta, model.estimator.parameters()))
    noise = _SentenceNoise(model, seeds, how, batch, sentences.shape)
    running, wrong, history, last = torch.zeros(len(seeds)), torch.zeros(len(seeds)), dict[int, tuple[Tensor, ...]](), 0
    for now, rate in enumerate(settings.rates(steps)):
        set_rate(rate, up, aside)
        part = noise(now)
        bound, information = _model_step(model, sentences[part.rows], part, wanted, how, now)
        up.step()
        up.zero_grad()
        _estimator_step(model, part)
        aside.step()
        aside.zero_grad()
        running = running + max(1 / (now + 1), 1 - MEMORY) * (information - running)
        # NaN targets, those of a VAE, compare as False and count no sign.
        wrong = wrong + ((information - wanted) * (running - wanted) < 0)
        if now + 1 in record or now + 1 == steps:
            history[now + 1] = running, bound, wrong / (now + 1 - last)
            wrong, last = torch.zeros_like(wrong), now + 1
        if (now + 1) % _EVERY == 0 or now + 1 == steps:
            check_course(bound, information, now + 1)
            if on_progress:
                on_progress((now + 1) / steps)
    return SentenceCourse(tuple(history), *(torch.stack(column) for column in zip(*history.values(), strict=True)))


def _model_step(
    model: Model, x: Tensor, part: "_SentenceDraws", wanted: Tensor, how: SentenceObjective, now: int
) -> tuple[Tensor, Tensor]:
    """Leave the gradient of decoder and encoder in place; the bound, and I as a batch of its own has it: [S] each."""
    with torch.no_grad():
        information = model.prior_entropy + infomax(model, part.latent[1], part.uniform[1])[1].mean(1)
    push = how.penalty * (information - wanted).sign().nan_to_num(0.0)
    if how.resample == 1:
        bound = elbo(model, x, part.code[:, 0], weight=how.kl_weight(now), free_bits=how.free_bits)
    else:
        bound = resampled_bound(model, x, part.code)
    (push * sentence_gain(model, part.latent[0], part.uniform[0]) - bound).sum().backward()
    return bound.detach(), information


def _estimator_step(model: Model, part: "_SentenceDraws") -> None:
    """Leave the estimator's gradient in place, from sentences of the model as it now is."""
    x = model.decoder.sample(part.taught_latent, part.taught_uniform)
    (-model.estimator.log_density(part.taught_latent, x).mean(1)).sum().backward()


def _check_data(model: Model, sentences: Tensor) -> None:
    longest, vocabulary = decoder_of(model).longest, decoder_of(model).words.shape[1]
    if sentences.is_floating_point() or sentences.ndim != 2 or len(sentences) < 2:
        raise TutelageError(
            f"sentences are two or more rows of word numbers, not {sentences.dtype} {list(sentences.shape)}"
        )
    if sentences.shape[1] != longest or not 0 <= int(sentences.min()) <= int(sentences.max()) < vocabulary:
        raise TutelageError(
            f"the model speaks of {longest} places and word numbers below {vocabulary}, and these sentences have "
            f"{sentences.shape[1]} places and numbers up to {int(sentences.max())}"
        )


@dataclass(frozen=True)
class _SentenceDraws:
    """Draws of one step: rows of the data [S, B], code [S, J, B, k], and batches of latents and uniforms.

    Two of them, the first for the gradient, the second for the sign; and one for the estimator.
    """

    rows: Tensor
    code: Tensor
    latent: tuple[Tensor, ...]
    uniform: tuple[Tensor, ...]
    taught_latent: Tensor
    taught_uniform: Tensor


class _SentenceNoise:
    """All draws of the training, each member's from its own streams."""

    def __init__(
        self, model: Model, seeds: Sequence[int], how: SentenceObjective, batch: int, data: torch.Size
    ) -> None:
        self.count, self.batch = data[0], batch
        self.sizes = {
            "code": (how.resample, batch, model.latent),
            "latent": (2, how.samples, model.latent),
            "uniform": (2, how.samples, data[1]),
            "taught-latent": (how.taught, model.latent),
            "taught-uniform": (how.taught, data[1]),
        }
        self.keys = {name: draws.keys(seeds, f"sentences-{name}") for name in (*self.sizes, "rows")}

    def __call__(self, now: int) -> _SentenceDraws:
        rows = draws.indices(self.keys["rows"], self.batch, self.count, now * self.batch)
        code, latent, uniform, *taught = (self._draw(name, now) for name in self.sizes)
        return _SentenceDraws(rows, code, latent.unbind(1), uniform.unbind(1), *taught)

    def _draw(self, name: str, now: int) -> Tensor:
        count = torch.Size(self.sizes[name]).numel()
        draw = draws.uniforms if name.endswith("uniform") else draws.normals
        made = draw(self.keys[name], count, now * count).to(torch.get_default_dtype())
        return made.view(-1, *self.sizes[name])


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
