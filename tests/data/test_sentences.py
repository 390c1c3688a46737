"""Corpora from a grammar and from text files."""

import math

import pytest
import torch

from tutelage.data.grammar import FILM_TALK
from tutelage.data.sentences import END, UNKNOWN, film_talk, from_grammar, read_sentences
from tutelage.errors import TutelageError


def test_sentences_of_the_grammar():
    corpus = film_talk(300, 50)
    assert corpus.train.shape == (300, 8)
    assert corpus.test.shape == (50, 8)
    assert corpus.entropy == FILM_TALK.entropy
    assert all(FILM_TALK.accepts(text.split()) for text in corpus.text(corpus.train))
    assert not (corpus.train == UNKNOWN).any()
    with pytest.raises(TutelageError, match="at least 2 sentences"):
        from_grammar(FILM_TALK, 1, 2)


def test_unrelated_sentences_share_few_words():
    corpus = film_talk(4000, 2)
    other = corpus.train.roll(1, 0)
    spoken = corpus.train != END
    found = ((corpus.train == other) & spoken).sum(1).double()
    words = spoken.double().sum(1)
    error = found.std() / 4000**0.5 / words.mean()
    assert abs(float(found.sum() / words.sum()) - corpus.unrelated()) < 4 * float(error)


def test_a_text_file_is_split_and_counted(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("I like it. It's GOOD! Really?\n\nhe likes it\nthis one is far too long for us\n--\n")
    corpus = read_sentences(path, longest=3, vocabulary=3)
    assert corpus.words[2:] == ("it", "good", "he")  # by number, then by letter
    assert sorted(corpus.text(torch.cat([corpus.train, corpus.test]))) == [
        "<unknown>",
        "<unknown> <unknown> it",
        "<unknown> good",
        "he <unknown> it",
    ]
    assert corpus.longest == 3
    assert corpus.entropy == pytest.approx(math.log(4))
    assert len(corpus.test) == 2
    assert corpus.grammar is None


def test_entropy_counts_what_is_said_twice(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("a b\n" * 6 + "c\n" * 2)
    assert read_sentences(path).entropy == pytest.approx(-0.75 * math.log(0.75) - 0.25 * math.log(0.25))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "no sentences"),
        (b"... !!\n\n", "no sentences"),
        (b"one two three four five six seven eight nine\n" * 5, "0 of 5 sentences"),
        (b"\x00\x01\x02", "zero bytes"),
        (b"\xff\xfe\xfa", "UTF-8"),
    ],
)
def test_files_that_cannot_serve_are_refused(tmp_path, content, why):
    path = tmp_path / "text.txt"
    path.write_bytes(content)
    with pytest.raises(TutelageError, match=why):
        read_sentences(path)


def test_a_missing_file_and_a_long_sentence_are_refused(tmp_path):
    with pytest.raises(TutelageError, match="cannot be read"):
        read_sentences(tmp_path / "none.txt")
    with pytest.raises(TutelageError, match="more than 8 words"):
        film_talk(4, 2).numbers([["word"] * 9])
