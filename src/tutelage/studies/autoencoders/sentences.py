"""Sentences that come back the better the more the code is told to say (seed 004, Fig. 4.4, Tables 4.1 and 4.2).

The sentences are those of a small grammar of remarks on films. Those of a text file of yours take their place where
the environment variable TUTELAGE_TEXT names one; a target above the entropy of its sentences is refused.
"""

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

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
from tutelage.figures import PALETTE
from tutelage.studies.autoencoders._toys import name
from tutelage.studies.claims import Claim
from tutelage.studies.packs import Packs
from tutelage.studies.statistics import rank_correlations
from tutelage.studies.study import Plan, Scale, study

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


@study(
    "sentences",
    seed="004",
    figure="4.4",
    shows="The number of sentences that come back exactly from their codes, and of matching words, grows with M; a VAE "
    "answers with unrelated sentences, M = 5 paraphrases, M = 10 comes near to a copy.",
)
def sentences(scale: Scale) -> Plan:
    """Sentences that come back the better the more the code is told to say."""
    claims = [collapse, unrelated, any_information, more_information, more_words, more_exact, fidelity, grammatical]
    return Plan([], draw, claims, table, lambda packs, tell: look(packs, tell, scale))


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


def look(packs: Packs, progress: Callable[[float], None], scale: Scale) -> Spoken:
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


def table(spoken: Spoken) -> pa.Table:
    """One row a model."""
    return pa.Table.from_pylist(
        [
            {"target": target, "seed": seed, **{key: _plain(value[i, s]) for key, value in spoken.numbers.items()}}
            for i, target in enumerate(spoken.targets)
            for s, seed in enumerate(spoken.seeds)
        ]
    )


def _plain(value: np.generic) -> float | bool | None:
    """A number for the table; nothing where there is none."""
    return None if np.isnan(value) else value.item()


def draw(spoken: Spoken) -> Figure:
    """What comes back against M, what information the code has, and what the models say."""
    figure = Figure(figsize=(8.8, 6.4), layout="constrained")
    places = figure.add_gridspec(2, 2, width_ratios=(1.25, 1))
    _against_target(figure.add_subplot(places[0, 0]), spoken)
    _attained(figure.add_subplot(places[1, 0]), spoken)
    shown = [name(t) for t in (None, 5.0, 10.0)]
    lines = [("input", spoken.said), *((who, line) for who in shown for line in spoken.answers[who])]
    _lines(figure.add_subplot(places[0, 1]), "one sentence, encoded and decoded three times", lines)
    numbered = [(str(number), line) for number, line in enumerate(spoken.way, 1)]
    _lines(figure.add_subplot(places[1, 1]), f"between two sentences, {name(spoken.targets[-1])}", numbered)
    return figure


def _against_target(panel: Axes, spoken: Spoken) -> None:
    for key, words, colour in (
        ("words", "words at their place", PALETTE[0]),
        ("exact", "whole sentences", PALETTE[1]),
    ):
        rows = spoken.asked(key)
        mean = [row.mean() for row in rows.values()]
        error = [1.96 * row.std(ddof=1) / len(row) ** 0.5 for row in rows.values()]
        panel.errorbar(list(rows), mean, error, color=colour, marker="o", markersize=4, capsize=2, label=words)
        vae = spoken.of(key)["VAE"]
        panel.plot(np.zeros(len(vae)), vae, "x", color=colour, markersize=5, label="_")
    panel.plot([], [], "x", color="#555555", markersize=5, label="VAE, at M = 0")
    panel.axhline(spoken.unrelated, color="#888888", linewidth=0.8, linestyle="--", label="words of another sentence")
    panel.set(xlabel="M, nats", ylabel="share that comes back", ylim=(-0.03, 1.03))
    panel.legend(loc="upper left")


def _attained(panel: Axes, spoken: Spoken) -> None:
    top = max(spoken.asked("lower"))
    panel.plot([0, top], [0, top], color="#888888", linewidth=0.8)
    for i, target in enumerate(spoken.targets):
        at = np.full(len(spoken.seeds), target or 0.0)
        colour = PALETTE[3] if target is None else PALETTE[0]
        low, high = spoken.numbers["lower"][i], spoken.numbers["upper"][i]
        panel.vlines(at, low, np.maximum(low, high), color=colour, linewidth=0.8, alpha=0.6)
        words = {0: "VAE, from below", 1: "mutual autoencoder, from below"}.get(i, "_")
        panel.plot(at, low, "o", color=colour, markersize=4, alpha=0.7, label=words)
        panel.plot(at, high, "_", color=colour, markersize=9, label="_" if i != 1 else "from above")
    panel.axhline(spoken.entropy, color="#888888", linewidth=0.8, linestyle=":", label="entropy of the sentences")
    panel.set(xlabel="M, nats", ylabel="I(x; z), nats")
    panel.legend(loc="lower right")


def _lines(panel: Axes, title: str, lines: Sequence[tuple[str, str]]) -> None:
    """Lines of text, each with what it belongs to; a name is written once."""
    panel.set_axis_off()
    panel.set_title(title, loc="left")
    for number, (who, line) in enumerate(lines):
        height = 1 - (number + 0.7) / max(10, len(lines))
        if number == 0 or lines[number - 1][0] != who:
            panel.text(0.0, height, who, transform=panel.transAxes, color="#555555")
        panel.text(0.17, height, line, transform=panel.transAxes)


collapse = Claim(
    "a VAE learns no useful code: q(z|x) is near to p(z)",
    statistic="KL(q(z|x) || p(z)) of the VAE on held-out sentences, nats (a rehearsal with one seed had shown 0.02)",
    expected="< 0.1",
    refuted_by="an interval over seeds above 0.1 nats",
    values=lambda spoken: {"VAE": spoken.of("kl")["VAE"]},
)

unrelated = Claim(
    "reconstructions of a VAE are random sentences that have nothing to do with the input",
    statistic="share of words at their place that come back from the VAE, less what two sentences of the law share",
    expected="< 0.05",
    refuted_by="an interval over seeds above 0.05",
    values=lambda spoken: {"VAE": spoken.of("words")["VAE"] - spoken.unrelated},
)

any_information = Claim(
    "the mutual autoencoder encodes the amount of information that was set beforehand",
    statistic="|I - M| / M with I bounded from below on fresh sentences of the finished model",
    expected="< 0.1",
    refuted_by="an interval over seeds above a tenth of M",
    values=lambda spoken: {name(t): np.abs(row - t) / t for t, row in spoken.asked("lower").items()},
)

more_information = Claim(
    "a larger M gives codes that say more",
    statistic="rise of the bound from below on I(x; z) from one M to the next, seed by seed",
    expected="> 0",
    refuted_by="an interval over seeds below 0 between two values of M",
    values=lambda spoken: spoken.rises("lower"),
)

more_words = Claim(
    "the number of matching words between input and reconstruction grows with M",
    statistic="rise of the share of words that come back at their place from one M to the next, seed by seed",
    expected="> 0",
    refuted_by="an interval over seeds below 0 between two values of M",
    values=lambda spoken: spoken.rises("words"),
)

more_exact = Claim(
    "the number of exactly reconstructed sentences grows with M",
    statistic="rank correlation between M and the share of sentences that come back word for word, seed by seed",
    expected="> 0",
    refuted_by="an interval over seeds below 0",
    values=lambda spoken: {"all M": _ranks(spoken.asked("exact"))},
)

fidelity = Claim(
    "with a high M the input is reconstructed with high fidelity",
    statistic="share of words that come back at their place at the largest M (three reconstructions in the seed's "
    "table keep 0.52 of them)",
    expected="> 0.5",
    refuted_by="an interval over seeds below 0.5",
    values=lambda spoken: spoken.at_most("words"),
)

grammatical = Claim(
    "sentences decoded between the codes of two others are mostly grammatical",
    statistic="share of ten steps between held-out sentences that are sentences of the grammar, at the largest M",
    expected="> 0.5",
    refuted_by="an interval over seeds below 0.5",
    values=lambda spoken: spoken.at_most("grammatical"),
)


def _ranks(rows: dict[float, np.ndarray]) -> np.ndarray:
    """Spearman's correlation with the target, of each seed; NaN where nothing came back at any."""
    shares = np.stack(list(rows.values()), 1)
    return rank_correlations(np.broadcast_to(np.array(list(rows)), shares.shape), shares)
