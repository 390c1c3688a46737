"""Parts of evidence: written whole, found again by what they answer, told where they come from."""

import numpy as np
import pytest
from safetensors.numpy import save

import tutelage
from tutelage.studies.kept import Kept

ABOUT = {"what": "sums", "of": [1, 2], "seed": 3}
ARRAYS = {"a": np.arange(6.0).reshape(2, 3).T, "n": np.array(5)}


def test_what_is_kept_is_found_again_bit_for_bit_and_by_another(tmp_path):
    first = Kept(tmp_path)
    assert first.recall(ABOUT) is None
    assert first.used == []
    first.keep(ABOUT, ARRAYS, seconds=1.25)
    for kept in (first, Kept(tmp_path)):
        found = kept.recall(ABOUT)
        for name, array in ARRAYS.items():
            assert np.array_equal(found[name], array)
            assert found[name].dtype == array.dtype
        (origin,) = kept.used
        assert origin["about"] == ABOUT
        assert origin["seconds"] == 1.2
        assert {"commit", "written", "device"} <= set(origin)


@pytest.mark.parametrize("other", [{"seed": 4}, {"of": [2, 1]}, {"what": "products"}])
def test_another_description_is_another_part(tmp_path, other):
    kept = Kept(tmp_path)
    kept.keep(ABOUT, ARRAYS)
    assert kept.recall(ABOUT | other) is None


def test_another_version_of_the_package_works_it_out_anew(tmp_path, monkeypatch):
    Kept(tmp_path).keep(ABOUT, ARRAYS)
    monkeypatch.setattr(tutelage, "__version__", "another")
    assert Kept(tmp_path).recall(ABOUT) is None


@pytest.mark.parametrize("damage", [b"", b"not such a file", None])
def test_a_damaged_file_is_as_good_as_none_and_is_replaced(tmp_path, damage):
    Kept(tmp_path).keep(ABOUT, ARRAYS)
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-9] if damage is None else damage)
    kept = Kept(tmp_path)
    assert kept.recall(ABOUT) is None
    kept.keep(ABOUT, ARRAYS)
    assert Kept(tmp_path).recall(ABOUT) is not None


def test_no_flipped_bit_goes_unnoticed(tmp_path, caplog):
    """Every bit of a kept part: the part is as good as none, with a warning, or all that is read is as it was kept."""
    Kept(tmp_path).keep(ABOUT, ARRAYS)
    (file,) = tmp_path.iterdir()
    whole, noticed = file.read_bytes(), 0
    for place in range(8 * len(whole)):
        content = bytearray(whole)
        content[place // 8] ^= 1 << place % 8
        file.write_bytes(content)
        kept = Kept(tmp_path)
        caplog.clear()
        found = kept.recall(ABOUT)
        if found is None:
            noticed += 1
            assert "is damaged, or has no checksum" in caplog.text
        else:
            assert kept.used[0]["about"] == ABOUT
            assert {name: (a.dtype, a.tolist()) for name, a in found.items()} == {
                name: (a.dtype, a.tolist()) for name, a in ARRAYS.items()
            }
    assert noticed > 0.9 * 8 * len(whole)


def test_a_part_without_a_checksum_is_worked_out_again(tmp_path, caplog):
    kept = Kept(tmp_path)
    kept.keep(ABOUT, ARRAYS)
    (file,) = tmp_path.iterdir()
    file.write_bytes(save({"a": np.zeros(3)}, metadata={"origin": "{}"}))
    assert Kept(tmp_path).recall(ABOUT) is None
    assert "has no checksum" in caplog.text


def test_without_a_folder_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kept = Kept()
    kept.keep(ABOUT, ARRAYS)
    assert np.array_equal(kept.recall(ABOUT)["a"], ARRAYS["a"])
    assert list(tmp_path.iterdir()) == []


def test_a_part_is_worked_out_once(tmp_path):
    called = []

    def work():
        called.append(1)
        return {"a": [1.0, 2.0], "b": 3}

    for _ in range(2):
        found = Kept(tmp_path).part(ABOUT, work)
        assert found["a"].tolist() == [1.0, 2.0]
        assert int(found["b"]) == 3
    assert len(called) == 1
