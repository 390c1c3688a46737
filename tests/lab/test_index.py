"""The index saves time and is never believed over the folders."""

import os
import shutil

import pytest

from tutelage.lab import Store, TeacherStudent, execute, index


@pytest.fixture
def results(values, tmp_path):
    experiments = [TeacherStudent(**values(seeds=[seed])) for seed in range(3)]
    execute(experiments, Store(tmp_path / "results"))
    return tmp_path / "results", sorted(experiment.hash for experiment in experiments)


def seen(root):
    table = index.experiments(root)
    return dict(zip(table["experiment"].to_pylist(), table["damage"].to_pylist(), strict=True))


def test_results_are_read_once(results, monkeypatch):
    root, names = results
    assert seen(root) == dict.fromkeys(names)
    monkeypatch.setattr(index, "read", None)  # not to be called again
    assert seen(root) == dict.fromkeys(names)


def test_results_that_come_go_or_change_are_noticed(results, tmp_path):
    root, (first, second, third) = results
    shutil.move(root / first, tmp_path / "aside")
    assert seen(root) == dict.fromkeys([second, third])
    shutil.move(tmp_path / "aside", root / first)
    (root / second / "unit.parquet").unlink()
    (root / third / "manifest.json").write_text("{}")
    after = seen(root)
    assert after[first] is None
    assert after[second].startswith("unit.parquet cannot be read")
    assert after[third] == "manifest.json is not readable"


@pytest.mark.parametrize("harm", ["truncate", "flip", "folder", "link", "other"])
def test_a_damaged_index_is_made_anew(results, tmp_path, harm):
    root, names = results
    before = index.experiments(root)
    file = root / ".index" / "experiments.parquet"
    match harm:
        case "truncate":
            os.truncate(file, 100)
        case "flip":
            content = bytearray(file.read_bytes())
            content[60] ^= 255
            file.write_bytes(content)
        case "folder":
            file.unlink()
            file.mkdir()
        case "link":
            shutil.move(root / ".index", tmp_path / "outside")
            (root / ".index").symlink_to(tmp_path / "outside")
            os.truncate(tmp_path / "outside" / "experiments.parquet", 5)
        case "other":
            shutil.copy(root / names[0] / "unit.parquet", file)
    assert index.experiments(root).equals(before)
    if harm == "link":
        assert (tmp_path / "outside" / "experiments.parquet").stat().st_size == 5


def test_results_that_cannot_be_written_are_read_all_the_same(results, monkeypatch):
    root, names = results

    def full(*_):
        raise index.TutelageError("no space")

    monkeypatch.setattr(index, "write_atomically", full)
    assert seen(root) == dict.fromkeys(names)
    assert not (root / ".index").exists()
