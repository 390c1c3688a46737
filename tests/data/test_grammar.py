"""Grammars: every sentence counted, and those that make no sense refused."""

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutelage.data.grammar import FILM_TALK, Grammar
from tutelage.errors import TutelageError


@pytest.fixture(scope="module")
def film_sentences():
    return list(FILM_TALK.sentences())


def test_entropy_is_that_of_all_sentences(film_sentences):
    assert len({words for words, _ in film_sentences}) == len(film_sentences)  # each is made in one way
    assert math.fsum(p for _, p in film_sentences) == pytest.approx(1, abs=1e-12)
    assert -math.fsum(p * math.log(p) for _, p in film_sentences) == pytest.approx(FILM_TALK.entropy, abs=1e-9)
    assert FILM_TALK.entropy > 10
    assert max(len(words) for words, _ in film_sentences) == FILM_TALK.longest == 8
    assert {word for words, _ in film_sentences for word in words} == set(FILM_TALK.words)


def test_the_grammar_accepts_its_own_and_nothing_else(film_sentences):
    assert all(FILM_TALK.accepts(words) for words, _ in film_sentences[::997])
    known = {words for words, _ in film_sentences}
    for words, _ in film_sentences[::4999]:
        turned = words[::-1]
        assert FILM_TALK.accepts(turned) == (turned in known)
    assert not FILM_TALK.accepts([])


def test_draws_follow_the_law():
    small = Grammar({"SENTENCE": {"a B": 3, "c": 1, "": 1}, "B": {"x": 1, "y z": 2}})
    count = 20_000
    counts = Counter(small.draw(count, seed=3))
    for words, p in small.sentences():
        assert abs(counts[words] / count - p) < 4 * math.sqrt(p * (1 - p) / count)
    assert small.draw(10, seed=3) == small.draw(20, seed=3)[:10]
    assert small.draw(20, seed=3) != small.draw(20, seed=4)


@given(st.lists(st.floats(0.01, 10), min_size=1, max_size=5))
def test_entropy_of_one_choice(weights):
    distribution = Grammar({"SENTENCE": {f"w{i}": w for i, w in enumerate(weights)}})
    share = [w / sum(weights) for w in weights]
    assert distribution.entropy == pytest.approx(-sum(p * math.log(p) for p in share), abs=1e-12)


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        ({"OTHER": {"a": 1}}, "rule SENTENCE"),
        ({"SENTENCE": {}}, "weights above 0"),
        ({"SENTENCE": {"a": 0}}, "weights above 0"),
        ({"SENTENCE": {"a NOUN": 1}}, "names NOUN"),
        ({"SENTENCE": {"a B1": 1}, "B1": {"b SENTENCE": 1, "c": 1}}, "leads back"),
    ],
)
def test_refusals(rules, why):
    with pytest.raises(TutelageError, match=why):
        Grammar(rules)
