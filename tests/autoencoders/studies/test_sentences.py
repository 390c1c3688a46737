"""What claims read off models that are known, and the study at its smallest."""

import numpy as np
import pytest

from tutelage.autoencoders.studies._sentence_codes import SentenceAutoencoders, SentenceCodes
from tutelage.autoencoders.studies.sentences import (
    SETTINGS,
    TARGETS,
    any_information,
    fidelity,
    more_exact,
    more_words,
    sentences,
    unrelated,
)
from tutelage.errors import TutelageError
from tutelage.lab import Context, Results, Store, execute
from tutelage.studies import judge

TINY = {"targets": TARGETS, "steps": 2, "hidden": 4, "sentences": 60, "encoded": 10, "pairs": 1, "samples": 8}


def _known(**rows: list[list[float]]) -> SentenceCodes:
    numbers = {key: np.array(value) for key, value in rows.items()}
    return SentenceCodes(TARGETS, range(2), 0.1, 10.9, numbers, "", {}, [])


def test_claims_compare_seed_by_seed():
    words = [[0.1, 0.12], [0.2, 0.3], [0.5, 0.4], [0.9, 0.7]]
    exact = [[0, 0], [0, 0], [0.2, 0.2], [0.4, 0.1]]
    lower = [[0, 0], [2, 3], [5, 4], [9, 10]]
    upper = [[0, 0], [2, 3], [6, 4.5], [9, 10]]
    known = _known(words=words, exact=exact, lower=lower, upper=upper)
    assert np.allclose(unrelated.values(known)["VAE"], [0, 0.02])
    assert np.allclose(more_words.values(known)["M = 2.5 to 5"], [0.3, 0.1])
    assert np.allclose(any_information.values(known)["M = 5"].values, [0.2, 0.2]), "the worse of both bounds"
    assert np.allclose(fidelity.values(known)["M = 10"], [0.9, 0.7])
    ranks = more_exact.values(known)["all M"].values
    assert ranks[0] > 0.9
    assert 0 < ranks[1] < 0.9


def test_ranks_are_undefined_where_nothing_came_back():
    assert np.isnan(more_exact.values(_known(exact=[[0, 0]] * 4))["all M"].values).all()


def test_the_study_runs(monkeypatch, tmp_path):
    monkeypatch.setitem(SETTINGS, "smoke", TINY)
    plan = sentences.plan("smoke")
    told: list[float] = []
    results = execute(plan.experiments, Store(tmp_path), device="cpu", on_progress=told.append)
    found = plan.view(Results(results))
    assert sum(told) == pytest.approx(sum(experiment.cost for experiment in plan.experiments))
    assert all(v.setting for claim in plan.claims for v in judge(claim, found))
    assert len(plan.figure(found).axes) == 4
    assert len(found.way) == 10
    assert len(found.answers["M = 10"]) == 3


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("".join(f"number {n} is here\n" for n in range(30)))
    return path


def test_a_text_takes_the_place_of_the_grammar(text, tmp_path):
    experiment = SentenceAutoencoders(**TINY | {"targets": (None, 1.0), "text": text}, seeds=(0, 0))
    assert experiment.corpus().grammar is None
    (result,) = execute([experiment], Store(tmp_path / "store"), device="cpu")
    assert float(result["entropy"]) == pytest.approx(np.log(30))
    assert str(result["said"]).endswith("is here")
    assert np.isnan(result["grammatical"]).all()
    too_much = SentenceAutoencoders(**TINY | {"text": text}, seeds=(0,) * 4)
    with pytest.raises(TutelageError, match=r"3\.401 nats at most"):
        too_much.run(Context())


def test_what_the_text_says_is_in_the_hash_and_a_missing_one_is_an_error(text):
    experiment = SentenceAutoencoders(**TINY | {"text": text}, seeds=(0,) * 4)
    before = experiment.hash
    text.write_text(text.read_text() + "one more\n")
    assert experiment.hash != before
    text.unlink()
    with pytest.raises(TutelageError, match="name a text file"):
        _ = experiment.hash


def test_the_environment_changes_no_plan(monkeypatch, text):
    before = sentences.plan("paper").experiments
    monkeypatch.setenv("TUTELAGE_TEXT", str(text))
    assert sentences.plan("paper").experiments == before
    assert all(experiment.text is None for experiment in before)
