"""A reader finds the old content or the new, whatever happens to the writer."""

import errno
import os

import pytest

from tutelage import files
from tutelage.errors import TutelageError
from tutelage.files import replace_folder, write_atomically


def names(folder):
    return sorted(entry.name for entry in folder.iterdir())


@pytest.mark.parametrize(
    ("content", "stored"), [("naïve\n", "naïve\n".encode()), (b"\x00\r\n\xff", b"\x00\r\n\xff"), ("", b"")]
)
def test_text_and_bytes_are_written_as_they_are(tmp_path, content, stored):
    write_atomically(tmp_path / "a.txt", content)
    assert (tmp_path / "a.txt").read_bytes() == stored
    assert names(tmp_path) == ["a.txt"]


def test_a_missing_folder_is_made(tmp_path):
    write_atomically(tmp_path / "one" / "two" / "a.txt", "new")
    assert (tmp_path / "one" / "two" / "a.txt").read_text() == "new"


def test_old_content_is_replaced(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("a longer old content")
    write_atomically(path, "new")
    assert path.read_text() == "new"


@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize("before", ["old", None])
def test_a_failed_write_leaves_the_old_content_and_no_temporary_file(tmp_path, monkeypatch, call, before):
    path = tmp_path / "a.txt"
    if before is not None:
        path.write_text(before)
    kept = names(tmp_path)

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, call, full)
    with pytest.raises(TutelageError, match=r"a\.txt cannot be written \(No space left on device\)"):
        write_atomically(path, "new")
    assert names(tmp_path) == kept
    assert before is None or path.read_text() == before


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_an_interrupt_passes_through_and_leaves_no_temporary_file(tmp_path, monkeypatch, call):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, call, interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, "new")
    assert names(tmp_path) == ["a.txt"]
    assert path.read_text() == "old"


def test_the_content_is_on_the_disk_before_the_name_is(tmp_path, monkeypatch):
    """What is renamed is complete and synced, and lies in the same folder, where a rename is one step."""
    events, replace, fsync = [], os.replace, os.fsync

    def watched_fsync(descriptor):
        events.append("sync")
        fsync(descriptor)

    def watched_replace(source, target):
        events.append("rename")
        assert source.read_bytes() == b"new"
        assert source.parent == target.parent
        replace(source, target)

    monkeypatch.setattr(os, "fsync", watched_fsync)
    monkeypatch.setattr(os, "replace", watched_replace)
    write_atomically(tmp_path / "a.txt", "new")
    assert events[:2] == ["sync", "rename"]


@pytest.mark.parametrize("below", ["a.txt", "folder/a.txt"])
def test_a_path_below_a_regular_file_is_refused_in_a_sentence(tmp_path, below):
    (tmp_path / "file").write_text("old")
    with pytest.raises(TutelageError, match=r"a\.txt cannot be written"):
        write_atomically(tmp_path / "file" / below, "new")
    assert (tmp_path / "file").read_text() == "old"


def test_a_folder_in_the_way_is_refused_and_stays(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(TutelageError, match="folder cannot be written"):
        write_atomically(tmp_path / "folder", "new")
    assert names(tmp_path) == ["folder"]


def folder(path, **contents):
    path.mkdir()
    for name, text in contents.items():
        (path / name).write_text(text)
    return path


@pytest.mark.parametrize("at_one_stroke", [True, False])
def test_a_folder_is_replaced_whole_and_keeps_what_a_user_put_there(tmp_path, monkeypatch, at_one_stroke):
    if not at_one_stroke:
        monkeypatch.setattr(files, "_exchanged", lambda first, second: False)
    old = folder(tmp_path / "study", a="old", gone="old", notes="mine")
    replace_folder(folder(tmp_path / ".study.part", a="new", b="new"), old, outdated=("gone",))
    assert {file.name: file.read_text() for file in old.iterdir()} == {"a": "new", "b": "new", "notes": "mine"}
    assert names(tmp_path) == ["study"]


def test_a_folder_takes_the_place_of_none(tmp_path):
    replace_folder(folder(tmp_path / ".study.part", a="new"), tmp_path / "study")
    assert (tmp_path / "study" / "a").read_text() == "new"
    assert names(tmp_path) == ["study"]


def test_a_file_is_not_replaced_by_a_folder(tmp_path):
    (tmp_path / "study").write_text("mine")
    with pytest.raises(TutelageError, match="it is not a folder"):
        replace_folder(folder(tmp_path / ".study.part", a="new"), tmp_path / "study")
    assert (tmp_path / "study").read_text() == "mine"
    assert names(tmp_path) == ["study"]


def test_two_names_are_exchanged_at_one_stroke_here(tmp_path):
    """The tests of kills rely on it."""
    first, second = folder(tmp_path / "first", a="1"), folder(tmp_path / "second", a="2")
    assert files._exchanged(first, second)
    assert (first / "a").read_text() + (second / "a").read_text() == "21"
