"""What claims read off models that are known, and the study at its smallest."""

import numpy as np
import pytest

from tutelage.errors import Refusal
from tutelage.lab import Results
from tutelage.studies import judge
from tutelage.studies.autoencoders._sentences import SIZES, TARGETS, VARIABLE, Size, Spoken, corpus_of
from tutelage.studies.autoencoders.sentences import (
    any_information,
    fidelity,
    more_exact,
    more_words,
    sentences,
    unrelated,
)

TINY = Size(2, 2, hidden=4, train=60, encoded=10, pairs=1, samples=8)


def _known(**rows: list[list[float]]) -> Spoken:
    numbers = {key: np.array(value) for key, value in rows.items()}
    return Spoken(TARGETS, range(2), 0.1, 10.9, numbers, "", {}, [])


def test_claims_compare_seed_by_seed():
    words = [[0.1, 0.12], [0.2, 0.3], [0.5, 0.4], [0.9, 0.7]]
    exact = [[0, 0], [0, 0], [0.2, 0.2], [0.4, 0.1]]
    lower = [[0, 0], [2, 3], [5, 4], [9, 10]]
    known = _known(words=words, exact=exact, lower=lower)
    assert np.allclose(unrelated.values(known)["VAE"], [0, 0.02])
    assert np.allclose(more_words.values(known)["M = 2.5 to 5"], [0.3, 0.1])
    assert np.allclose(any_information.values(known)["M = 5"], [0, 0.2])
    assert np.allclose(fidelity.values(known)["M = 10"], [0.9, 0.7])
    ranks = more_exact.values(known)["all M"]
    assert ranks[0] > 0.9
    assert 0 < ranks[1] < 0.9


def test_ranks_are_undefined_where_nothing_came_back():
    assert np.isnan(more_exact.values(_known(exact=[[0, 0]] * 4))["all M"]).all()


def test_the_study_runs(monkeypatch):
    monkeypatch.setitem(SIZES, "smoke", TINY)
    monkeypatch.delenv(VARIABLE, raising=False)
    plan = sentences.plan("smoke")
    told: list[float] = []
    assert plan.evidence is not None
    found = plan.evidence(Results([]), told.append)
    assert told[-1] == 1.0
    assert all(v.setting for claim in plan.claims for v in judge(claim, found))
    assert plan.numbers(found).num_rows == 2 * len(TARGETS)
    assert len(plan.figure(found).axes) == 4
    assert len(found.way) == 10
    assert len(found.answers["M = 10"]) == 3


def test_a_text_takes_the_place_of_the_grammar(monkeypatch, tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("".join(f"number {n} is here\n" for n in range(30)))
    monkeypatch.setenv(VARIABLE, str(path))
    assert corpus_of(TINY).grammar is None
    monkeypatch.setitem(SIZES, "smoke", TINY)
    with pytest.raises(Refusal, match=r"3\.401 nats at most"):
        sentences.plan("smoke").evidence(Results([]), lambda share: None)
