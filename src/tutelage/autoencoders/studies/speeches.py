"""Sentences of real speeches through mutual autoencoders (Phuong 2021, section 4.6.3, on another text).

The text: addresses on the state of the union, sentences of 4 to 12 words, the thousand most frequent words told apart.
The paper used film reviews, which are not at hand.
"""

from pathlib import Path
from typing import Any

from tutelage.autoencoders.studies._sentence_codes import SentenceAutoencoders, sentence_codes
from tutelage.autoencoders.studies.sentences import (
    any_information,
    collapse,
    draw,
    more_exact,
    more_information,
    more_words,
    unrelated,
)
from tutelage.studies.study import Plan, Scale, study

TEXT: dict[str, Any] = {"text": Path("sotu"), "shortest": 4, "longest": 12, "vocabulary": 1000}
SETTINGS: dict[Scale, dict[str, Any]] = {
    "smoke": {"steps": 6, "hidden": 8, "sentences": 200, "encoded": 40, "pairs": 4, "samples": 64},
    "quick": {**TEXT, "steps": 600},
    "paper": {**TEXT, "steps": 1000},
}
"""Smoke: sentences of the grammar, so that it needs no text."""
TARGETS = (None, 4.0, 8.0)
"""The sentences themselves carry 9.3 nats, as many as there are of them."""
SEEDS: dict[Scale, int] = {"smoke": 2, "quick": 2, "paper": 5}


@study(
    "speeches",
    paper="phuong2021",
    figure="4.4, on speeches",
    shows="On film reviews: a VAE answers with unrelated sentences, and more words come back the larger M is. Here the "
    "sentences are those of speeches.",
)
def speeches(scale: Scale) -> Plan:
    """Sentences of speeches that come back the better the more the code is told to say."""
    experiments = [
        SentenceAutoencoders(**SETTINGS[scale], targets=TARGETS, seeds=(seed,) * len(TARGETS))
        for seed in range(SEEDS[scale])
    ]
    claims = [collapse, unrelated, any_information, more_information, more_words, more_exact]
    return Plan(experiments, draw, claims, view=sentence_codes)
