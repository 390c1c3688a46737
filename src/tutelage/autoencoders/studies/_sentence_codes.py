"""Autoencoders of sentences with targets, the experiment that trains them, and what their codes carry."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import NonNegativeFloat, PositiveInt, model_validator
from torch import Tensor

from tutelage.autoencoders.parts import Model
from tutelage.autoencoders.sentence_measures import (
    collapsed,
    interpolation,
    on_data,
    reconstructions,
    sentence_bounds,
    shares_kept,
)
from tutelage.autoencoders.sentence_training import train_sentences
from tutelage.autoencoders.sequences import sentence_models
from tutelage.autoencoders.settings import SentenceObjective, settled_adam
from tutelage.autoencoders.studies._toys import check_targets, name, nan_for_none
from tutelage.data.sentences import LONGEST, Corpus, film_talk, read_sentences
from tutelage.data.texts import TEXTS, load_text
from tutelage.errors import TutelageError
from tutelage.lab import Context, Experiment, Results, Shared
from tutelage.lab.experiment import Arrays
from tutelage.settings import Seeds

NUMBERS = (
    "estimate", "wrong", "exact", "words", "bound", "kl", "kl_error", "lower", "lower_error", "upper", "upper_error",
    "collapsed", "grammatical",
)  # fmt: skip


class SentenceAutoencoders(Experiment, kind="sentence-autoencoders", numerics=1):
    """Autoencoders of short sentences, trained side by side towards several amounts of information in the code.

    A step of one model took 26.9 ms alone, 22.9 ms in a stack of five and 27.5 ms in one of fifteen, whose arrays leave
    the cache (one thread, batches of 64).
    """

    text: Path | None = None
    """A text file with sentences, or the name of a fetched text; None for the grammar of remarks on films."""
    shortest: PositiveInt = 1
    """Words of the shortest sentence of a text that is kept."""
    longest: PositiveInt = LONGEST
    """Words of the longest one."""
    vocabulary: PositiveInt = 2000
    """Words of a text that are told apart."""
    sentences: PositiveInt = 1 << 15
    """Sentences of the grammar to train on."""
    targets: tuple[NonNegativeFloat | None, ...]
    """Information of each member in nats, at most the entropy of the sentences; None for a VAE."""
    seeds: Seeds
    """Seed of each member; as many as there are targets."""
    steps: PositiveInt
    hidden: PositiveInt = 64
    encoded: PositiveInt = 500
    """Training sentences that are encoded and decoded again."""
    pairs: PositiveInt = 40
    """Pairs of held-out sentences whose codes are joined by a straight line."""
    samples: PositiveInt = 2048
    """Sentences of the model for the bounds on information."""

    @model_validator(mode="after")
    def _one_target_per_member(self) -> "SentenceAutoencoders":
        check_targets(self.targets, self.seeds)
        return self

    @property
    def cost(self) -> float:
        return 0.023 * self.steps * self.members

    def files(self) -> tuple[Path, ...]:
        if self.text is None or str(self.text) in TEXTS:
            return ()  # what a fetched text says is fixed by its recorded digest
        if not self.text.is_file():
            raise TutelageError(f"text must be a file, and there is none at {self.text}: name a text file")
        return (self.text,)

    def corpus(self) -> Corpus:
        """The sentences: of the text file, or of the grammar."""
        if not self.text:
            return film_talk(self.sentences, max(2, self.encoded))
        file = load_text(str(self.text)) if str(self.text) in TEXTS else self.text
        return read_sentences(file, shortest=self.shortest, longest=self.longest, vocabulary=self.vocabulary)

    def run(self, context: Context) -> Arrays:
        corpus, how = self.corpus(), SentenceObjective()
        model = sentence_models(self.seeds, len(corpus.words), corpus.longest, hidden=self.hidden)
        course = train_sentences(
            model, corpus.train, self.targets, self.seeds, settled_adam(self.steps, 32, 1.5e-2),
            objective=how, most=corpus.entropy, record=[self.steps // 2],
            on_progress=lambda share: context.progress(0.95 * share),
        )  # fmt: skip
        trained = {
            "target": nan_for_none(self.targets),
            "estimate": course.estimate[-1].double().numpy(),
            "wrong": course.wrong[-1].double().numpy(),
        }
        return trained | self._measured(model, corpus, how) | _spoken(model, corpus, self.seeds, how)

    def _measured(self, model: Model, corpus: Corpus, how: SentenceObjective) -> dict[str, np.ndarray]:
        """What each member keeps of sentences: [S] each."""
        again = reconstructions(model, corpus.train[: self.encoded], self.seeds, how.resample)[:, 0]
        exact, words = shares_kept(corpus.train[: self.encoded], again)
        held_out = on_data(model, corpus.test, self.seeds, how.resample)
        bounds = sentence_bounds(model, self.seeds, self.samples)
        kls = held_out.kl.tolist()
        return {
            "exact": exact.numpy(),
            "words": words.numpy(),
            "bound": held_out.bound.numpy(),
            "kl": held_out.kl.numpy(),
            "kl_error": held_out.kl_error.numpy(),
            **{k: np.array([getattr(b, k) for b in bounds]) for k in ("lower", "lower_error", "upper", "upper_error")},
            "collapsed": np.array([collapsed(kl, b.lower) for kl, b in zip(kls, bounds, strict=True)]),
            "grammatical": _grammatical(model, corpus, self.pairs),
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


def _spoken(model: Model, corpus: Corpus, seeds: Sequence[int], how: SentenceObjective) -> dict[str, Any]:
    """A sentence and its answers [S, 3], the way to another sentence [S, 10], and numbers of the sentences."""
    sentence, other = _pair(corpus)
    again = reconstructions(model, sentence.unsqueeze(0), seeds, how.resample, copies=3)[:, :, 0]
    return {
        "said": Shared(np.array(corpus.text(sentence.unsqueeze(0))[0])),
        "answers": np.array([corpus.text(rows) for rows in again]),
        "way": np.array([corpus.text(rows) for rows in interpolation(model, sentence, other)]),
        "unrelated": Shared(np.array(corpus.unrelated())),
        "entropy": Shared(np.array(corpus.entropy)),
    }


def _pair(corpus: Corpus) -> tuple[Tensor, Tensor]:
    """The first two training sentences of full length, or the first two: what the tables are about."""
    long = corpus.train[corpus.train[:, -1] != 0]
    chosen = long if len(long) > 1 else corpus.train
    return chosen[0], chosen[1]


@dataclass(frozen=True, eq=False)
class SentenceCodes:
    """Results of models of all targets and seeds: arrays [target, seed], and lines of the first seed.

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


def sentence_codes(results: Results) -> SentenceCodes:
    """The models of all experiments, one seed each."""
    first, targets = next(iter(results)), next(iter(results)).setting("targets")
    numbers = {key: np.stack([result[key] for result in results], 1) for key in NUMBERS}
    answers = {name(target): rows.tolist() for target, rows in zip(targets, first["answers"], strict=True)}
    about = float(first["unrelated"]), float(first["entropy"])
    seeds = [result.setting("seeds")[0] for result in results]
    return SentenceCodes(targets, seeds, *about, numbers, str(first["said"]), answers, first["way"][-1].tolist())


def _plain(value: np.generic) -> float | bool | None:
    """A number for the table; nothing where there is none."""
    return None if np.isnan(value) else value.item()
