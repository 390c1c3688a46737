from dataclasses import replace
from pathlib import Path

import pytest

from tutelage.data import cache, load_images, sets
from tutelage.data.images import Images, digest
from tutelage.errors import TutelageError


@pytest.fixture
def tiny(monkeypatch, idx_folder, arrays):
    """The dataset 'mnist' with six and four images."""
    mnist = sets.DATASETS["mnist"]
    images = Images("mnist", *mnist.formats[0](idx_folder), classes=mnist.classes)
    small = replace(mnist, counts=(6, 4), digest=digest(images))
    monkeypatch.setitem(sets.DATASETS, "mnist", small)
    return small


def test_published_files_are_found_in_the_folder_or_below(tiny, idx_folder, tmp_path):
    assert len(load_images("mnist", idx_folder).train) == 6
    idx_folder.rename(tmp_path / "mnist")
    assert len(load_images("mnist", tmp_path).test) == 4


def test_the_stored_file_is_the_same_and_damage_is_refused(tiny, idx_folder, tmp_path):
    path = cache.keep(tiny, cache.read_published(tiny, idx_folder), tmp_path, idx_folder)
    assert digest(load_images("mnist", tmp_path)) == tiny.digest
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(data)
    with pytest.raises(TutelageError, match=r"differs from the recorded 'mnist' and is not used.*--again"):
        load_images("mnist", tmp_path)
    path.write_bytes(data[:40])
    with pytest.raises(TutelageError, match="cannot be read"):
        load_images("mnist", tmp_path)


def test_too_few_images_are_refused(tiny, idx_folder, monkeypatch):
    monkeypatch.setitem(sets.DATASETS, "mnist", replace(tiny, counts=(60_000, 10_000)))
    with pytest.raises(TutelageError, match=r"6 \+ 4 images and 'mnist' has 60,000"):
        load_images("mnist", idx_folder)


def test_an_absent_dataset_says_how_to_fetch_it(tmp_path):
    with pytest.raises(TutelageError, match="tutelage data fetch cifar10"):
        load_images("cifar10", tmp_path)
    with pytest.raises(TutelageError, match="did you mean 'mnist'"):
        load_images("mnis", tmp_path)


def test_the_folder_is_the_one_given_or_named_in_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("TUTELAGE_DATA", str(tmp_path / "a"))
    assert cache.cache_folder() == tmp_path / "a"
    assert cache.cache_folder("b") == Path("b")
    monkeypatch.delenv("TUTELAGE_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.cache_folder() == tmp_path / "tutelage"
