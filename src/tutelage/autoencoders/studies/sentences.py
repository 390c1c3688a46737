"""Sentences that come back the better the more the code is told to say (Phuong 2021, Fig. 4.4, Tables 4.1 and 4.2).

The sentences are those of a small grammar of remarks on films. The paper used film reviews. Real sentences were tried:
of addresses on the state of the union 8 % of the words came back after 1,000 steps where chance gives 5 %; of short
sentences of film reviews 8 to 15 % after 3,000 to 4,000 steps where chance gives 1 to 2 %, and one sentence in a
hundred. That is too little for a study.
"""

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tutelage.autoencoders.studies._sentence_codes import SentenceAutoencoders, SentenceCodes, sentence_codes
from tutelage.autoencoders.studies._toys import name, off_target
from tutelage.studies.claims import DIRECTION, MOST, SHARE, SIGNED, Claim, Measured
from tutelage.studies.figures import PALETTE, error_bars
from tutelage.studies.intervals import rank_correlations
from tutelage.studies.study import Plan, Scale, fresh_seeds, study

TARGETS = (None, 2.5, 5.0, 10.0)
"""None is the VAE; the paper names 5 and 10, and shows the others in its figure alone."""
SEEDS: dict[Scale, int] = {"smoke": 2, "quick": 3, "paper": 5}
SETTINGS: dict[Scale, dict[str, Any]] = {
    "smoke": {
        "targets": TARGETS, "steps": 6, "hidden": 8, "sentences": 200, "encoded": 40, "pairs": 4, "samples": 64,
    },
    "quick": {"targets": TARGETS, "steps": 1500},
    "paper": {"targets": (None, 2.5, 5.0, 7.5, 10.0), "steps": 5000},
}  # fmt: skip
_SHOWN = 44  # letters of a line in the figure
PRINTED = 0.52
"""Share of the words at their place in the three reconstructions that the paper's table prints for M = 10."""


@study(
    "sentences",
    paper="phuong2021",
    figure="4.4",
    shows="The number of sentences that come back exactly from their codes, and of matching words, grows with M; a VAE "
    "answers with unrelated sentences, M = 5 paraphrases, M = 10 comes near to a copy.",
)
def sentences(scale: Scale) -> Plan:
    """Sentences that come back the better the more the code is told to say."""
    claims = [collapse, unrelated, any_information, more_information, more_words, more_exact, fidelity, grammatical]
    members = len(SETTINGS[scale]["targets"])
    experiments = [
        SentenceAutoencoders(**SETTINGS[scale], seeds=(seed,) * members) for seed in fresh_seeds(scale, SEEDS[scale])
    ]
    return Plan(experiments, draw, claims, view=sentence_codes)


def draw(spoken: SentenceCodes) -> Figure:
    """What comes back against M, what information the code has, and what the models say."""
    figure = Figure(figsize=(8.8, 6.4), layout="constrained")
    places = figure.add_gridspec(2, 2, width_ratios=(1.25, 1))
    _against_target(figure.add_subplot(places[0, 0]), spoken)
    _attained(figure.add_subplot(places[1, 0]), spoken)
    shown = [name(spoken.targets[i]) for i in (0, len(spoken.targets) // 2, -1)]
    lines = [("input", spoken.said), *((who, line) for who in shown for line in spoken.answers[who])]
    _lines(figure.add_subplot(places[0, 1]), "one sentence, encoded and decoded three times", lines)
    numbered = [(str(number), line) for number, line in enumerate(spoken.way, 1)]
    _lines(figure.add_subplot(places[1, 1]), f"between two sentences, {name(spoken.targets[-1])}", numbered)
    return figure


def _against_target(panel: Axes, spoken: SentenceCodes) -> None:
    for key, words, colour in (
        ("words", "words at their place", PALETTE[0]),
        ("exact", "whole sentences", PALETTE[1]),
    ):
        rows = spoken.asked(key)
        error_bars(panel, list(rows), np.stack(list(rows.values())), colour, words, whole_interval=True)
        vae = spoken.of(key)["VAE"]
        panel.plot(np.zeros(len(vae)), vae, "x", color=colour, markersize=5, label="_")
    panel.plot([], [], "x", color="#555555", markersize=5, label="VAE, at M = 0")
    if 10.0 in spoken.targets:
        panel.plot(10, PRINTED, "D", color=PALETTE[0], markersize=6, fillstyle="none", label="words, in the paper")
    panel.axhline(spoken.unrelated, color="#888888", linewidth=0.8, linestyle="--", label="words of another sentence")
    panel.set(xlabel="M, nats", ylabel="share that comes back", ylim=(-0.03, 1.03))
    panel.legend(loc="upper left")


def _attained(panel: Axes, spoken: SentenceCodes) -> None:
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
    """Lines of text, each with what it belongs to; a name is written once, and "_" is a word not told apart."""
    panel.set_axis_off()
    panel.set_title(title, loc="left")
    for number, (who, line) in enumerate(lines):
        height = 1 - (number + 0.7) / max(10, len(lines))
        if number == 0 or lines[number - 1][0] != who:
            panel.text(0.0, height, who, transform=panel.transAxes, color="#555555")
        short = textwrap.shorten(line.replace("<unknown>", "_"), _SHOWN, placeholder=" …")
        panel.text(0.17, height, short, transform=panel.transAxes)


collapse = Claim(
    "a VAE learns no useful code: q(z|x) is near to p(z)",
    statistic="KL(q(z|x) || p(z)) of the VAE on held-out sentences, nats",
    expected="< 0.1",
    values=lambda spoken: {"VAE": spoken.of("kl")["VAE"]},
    reason="a tenth of a nat tells no two codes apart",
    possible=(0.0, np.inf),
)

unrelated = Claim(
    "reconstructions of a VAE are random sentences that have nothing to do with the input",
    statistic="share of words at their place that the VAE returns, less what two sentences of the distribution share",
    expected="< 0.05",
    values=lambda spoken: {"VAE": spoken.of("words")["VAE"] - spoken.unrelated},
    reason="one word in twenty above chance is read as nothing to do with the input",
    possible=SIGNED,
)


def _misses(spoken: SentenceCodes) -> dict[str, Measured]:
    """What the bounds of I leave of |I - M| / M: per target."""
    low, high = spoken.asked("lower"), spoken.asked("upper")
    return {name(t): off_target(low[t], high[t], t) for t in low}


any_information = Claim(
    "the mutual autoencoder encodes the amount of information that was set beforehand",
    statistic="the largest that |I - M| / M can be, with I between its bounds from below and from above on fresh "
    "sentences of the finished model",
    expected="< 0.1",
    values=_misses,
    reason="a tenth of the amount that was set is read as that amount",
    possible=(0.0, np.inf),
)

more_information = Claim(
    "a larger M gives codes that say more",
    statistic="rise of the bound from below on I(x; z) from one M to the next, seed by seed",
    expected="> 0",
    values=lambda spoken: spoken.rises("lower"),
    reason=DIRECTION,
)

more_words = Claim(
    "the number of matching words between input and reconstruction grows with M",
    statistic="rise of the share of words that come back at their place from one M to the next, seed by seed",
    expected="> 0",
    values=lambda spoken: spoken.rises("words"),
    reason=DIRECTION,
    possible=SIGNED,
)

more_exact = Claim(
    "the number of exactly reconstructed sentences grows with M",
    statistic="rank correlation between M and the share of sentences that come back word for word, seed by seed",
    expected="> 0",
    values=lambda spoken: {"all M": _ranks(spoken.asked("exact"))},
    reason=DIRECTION,
    possible=SIGNED,
)

fidelity = Claim(
    "with a high M the input is reconstructed with high fidelity",
    statistic="share of words that come back at their place at the largest M (three reconstructions in the paper's "
    "table keep 0.52 of them)",
    expected="> 0.5",
    values=lambda spoken: spoken.at_most("words"),
    reason="three reconstructions printed in the paper keep 0.52 of the words, so about half is asked for",
    possible=SHARE,
    kind="share",
)

grammatical = Claim(
    "sentences decoded between the codes of two others are mostly grammatical",
    statistic="share of ten steps between held-out sentences that are sentences of the grammar, at the largest M",
    expected="> 0.5",
    values=lambda spoken: {
        who: Measured(share, baseline=spoken.of("grammatical")["VAE"])
        for who, share in spoken.at_most("grammatical").items()
    },
    reason=MOST,
    possible=SHARE,
    kind="share",
)


def _ranks(rows: dict[float, np.ndarray]) -> Measured:
    """Spearman's correlation with the target, of each seed; NaN where nothing came back at any.

    Of n targets it loses 12 / (n (n^2 - 1)) where two neighbours change places, and no less.
    """
    shares, n = np.stack(list(rows.values()), 1), len(rows)
    ranks = rank_correlations(np.broadcast_to(np.array(list(rows)), shares.shape), shares)
    return Measured(ranks, step=12 / (n * (n**2 - 1)))
