"""Models of sentences with several targets and a VAE beside them, and what each of them keeps of a sentence."""

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from tutelage.autoencoders.parts import Model
from tutelage.autoencoders.sentence_measures import (
    collapsed,
    interpolation,
    on_data,
    reconstructions,
    sentence_bounds,
    shares_kept,
)
from tutelage.autoencoders.sentence_training import SentenceSettings, train_sentences
from tutelage.autoencoders.sequences import sentence_models
from tutelage.data.sentences import Corpus, film_talk, read_sentences
from tutelage.lab import Results
from tutelage.studies.autoencoders._toys import name
from tutelage.studies.study import Scale

VARIABLE = "TUTELAGE_TEXT"
TARGETS = (None, 2.5, 5.0, 10.0)
"""None is the VAE; the seed names 5 and 10, and shows the others in its figure alone."""


@dataclass(frozen=True)
class Size:
    """Of the study at one scale; encoded: sentences that are encoded and decoded again, pairs: ways between two."""

    seeds: int
    steps: int
    targets: tuple[float | None, ...] = TARGETS
    hidden: int = 64
    train: int = 1 << 15
    encoded: int = 500
    pairs: int = 40
    samples: int = 2048


SIZES: dict[Scale, Size] = {
    "smoke": Size(2, 6, hidden=8, train=200, encoded=40, pairs=4, samples=64),
    "quick": Size(3, 1500),
    "paper": Size(3, 5000, (None, 2.5, 5.0, 7.5, 10.0)),
}


@dataclass(frozen=True, eq=False)
class Spoken:
    """What models of all targets and seeds came to: arrays [target, seed], and lines of the first seed.

    lower, upper: of I(x; z) on fresh sentences of the model; kl, bound: on held-out sentences; exact, words: shares
    that came back of training sentences; grammatical: share of the steps of ways between two sentences that are
    sentences of the grammar, NaN for a text; wrong: share of wrong signs over the second half of training.
    """

    targets: Sequence[float | None]
    seeds: Sequence[int]
    unrelated: float
    entropy: float
    numbers: dict[str, np.ndarray]
    said: str
    answers: dict[str, list[str]]
    way: list[str]

    def of(self, key: str) -> dict[str, np.ndarray]:
        """Values by the name of their target."""
        return {name(target): row for target, row in zip(self.targets, self.numbers[key], strict=True)}

    def asked(self, key: str) -> dict[float, np.ndarray]:
        """Values of the models that have a target, by target."""
        return {t: row for t, row in zip(self.targets, self.numbers[key], strict=True) if t is not None}

    def at_most(self, key: str) -> dict[str, np.ndarray]:
        """Values at the largest target."""
        return {name(self.targets[-1]): self.numbers[key][-1]}

    def rises(self, key: str) -> dict[str, np.ndarray]:
        """Differences between neighbouring targets, seed by seed."""
        return {f"{name(a)} to {b:.4g}": w - v for (a, v), (b, w) in pairwise(self.asked(key).items())}


def corpus_of(size: Size) -> Corpus:
    """The file that TUTELAGE_TEXT names, else sentences of the grammar."""
    path = os.environ.get(VARIABLE)
    return read_sentences(path) if path else film_talk(size.train, max(2, size.encoded))


def look(packs: Results, progress: Callable[[float], None], scale: Scale) -> Spoken:
    """Train the models of one seed side by side, seed after seed, and ask each what it kept.

    A step of one model took 26.9 ms alone, 22.9 ms in a stack of five and 27.5 ms in one of fifteen, whose arrays leave
    the cache (one thread, batches of 64).
    """
    size = SIZES[scale]
    corpus, seeds = corpus_of(size), range(size.seeds)
    how = SentenceSettings(steps=size.steps)
    columns = []
    for seed in seeds:
        work = partial(_of_seed, corpus, seed, size, how, partial(_share, progress, seed, len(seeds)))
        columns.append(packs.kept.part(_about(corpus, seed, size, how), work))
    first = _untrained(corpus, 0, size)
    for key, weights in first.weights().items():
        weights.copy_(torch.from_numpy(columns[0][key]))
    numbers = {key: np.stack([column[key] for column in columns], 1) for key in columns[0] if "." not in key}
    said, other = _pair(corpus)
    again = reconstructions(first, said.unsqueeze(0), [0] * len(size.targets), how.resample, copies=3)[:, :, 0]
    answers = {name(t): corpus.text(rows) for t, rows in zip(size.targets, again, strict=True)}
    way = corpus.text(interpolation(first, said, other)[-1])
    progress(1.0)
    unlike, text = corpus.unrelated(), corpus.text(said.unsqueeze(0))[0]
    return Spoken(size.targets, seeds, unlike, corpus.entropy, numbers, text, answers, way)


def _about(corpus: Corpus, seed: int, size: Size, how: SentenceSettings) -> dict[str, Any]:
    """All that the numbers of a seed depend on."""
    written = hashlib.blake2b(torch.cat([corpus.train, corpus.test]).numpy().tobytes(), digest_size=10).hexdigest()
    return {"what": "sentences", "corpus": written, "seed": seed, **asdict(how), **asdict(replace(size, seeds=0))}


def _untrained(corpus: Corpus, seed: int, size: Size) -> Model:
    return sentence_models([seed] * len(size.targets), len(corpus.words), corpus.longest, hidden=size.hidden)


def _share(progress: Callable[[float], None], before: int, all_of_them: int, done: float) -> None:
    progress((before + 0.99 * done) / all_of_them)


def _pair(corpus: Corpus) -> tuple[torch.Tensor, torch.Tensor]:
    """The first two training sentences of full length, or the first two: what the tables are about."""
    long = corpus.train[corpus.train[:, -1] != 0]
    chosen = long if len(long) > 1 else corpus.train
    return chosen[0], chosen[1]


def _of_seed(
    corpus: Corpus, seed: int, size: Size, how: SentenceSettings, progress: Callable[[float], None]
) -> dict[str, np.ndarray | torch.Tensor]:
    """What the models of one seed came to, [target] each, and their weights."""
    members, model = [seed] * len(size.targets), _untrained(corpus, seed, size)
    half = how.steps // 2
    course = train_sentences(
        model, corpus.train, size.targets, members, how, most=corpus.entropy, record=[half], on_progress=progress
    )
    again = reconstructions(model, corpus.train[: size.encoded], members, how.resample)[:, 0]
    exact, words = shares_kept(corpus.train[: size.encoded], again)
    held_out = on_data(model, corpus.test, members, how.resample)
    found = sentence_bounds(model, members, size.samples)
    kls = held_out.kl.tolist()
    return model.weights() | {
        "estimate": course.estimate[-1].double().numpy(),
        "wrong": course.wrong[-1].double().numpy(),
        "exact": exact.numpy(),
        "words": words.numpy(),
        "bound": held_out.bound.numpy(),
        "kl": held_out.kl.numpy(),
        "kl_error": held_out.kl_error.numpy(),
        **{key: np.array([getattr(b, key) for b in found]) for key in ("lower", "lower_error", "upper", "upper_error")},
        "collapsed": np.array([collapsed(kl, b.lower) for kl, b in zip(kls, found, strict=True)]),
        "grammatical": _grammatical(model, corpus, size.pairs),
    }


def _grammatical(model: Model, corpus: Corpus, pairs: int) -> np.ndarray:
    """Share of the steps between sentences that are sentences of the grammar: [S]; NaN where there is none."""
    if corpus.grammar is None:
        return np.full(model.members, np.nan)
    right = []
    for first, second in zip(corpus.test[:pairs], corpus.test[pairs : 2 * pairs], strict=True):
        way = interpolation(model, first, second)
        right.append([[corpus.grammar.accepts(text.split()) for text in corpus.text(rows)] for rows in way])
    return np.array(right).mean((0, 2))
