"""A reader finds the old content or the new, whatever happens to the writer."""

import errno
import os

import pytest

from tutelage.errors import Refusal
from tutelage.files import write_atomically


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
    with pytest.raises(Refusal, match=r"a\.txt cannot be written \(No space left on device\)"):
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
    with pytest.raises(Refusal, match=r"a\.txt cannot be written"):
        write_atomically(tmp_path / "file" / below, "new")
    assert (tmp_path / "file").read_text() == "old"


def test_a_folder_in_the_way_is_refused_and_stays(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(Refusal, match="folder cannot be written"):
        write_atomically(tmp_path / "folder", "new")
    assert names(tmp_path) == ["folder"]
