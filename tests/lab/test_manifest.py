"""The manifest says where an experiment came from, and notices when it is not what it was."""

import hashlib
import json
import os

import pytest

import tutelage
from tutelage import TutelageError, plugins
from tutelage.lab import Store, TeacherStudent, execute
from tutelage.lab.experiment import canonical, complete, digest
from tutelage.lab.manifest import Damage, damage, read, verify
from tutelage.lab.query import query
from tutelage.measures import MEASURES


@pytest.fixture
def result(values, tmp_path, monkeypatch):
    from tutelage import version

    version.commit.cache_clear()
    monkeypatch.setenv("TUTELAGE_COMMIT", "v1-3-gabc")
    (result,) = execute([TeacherStudent(**values(seeds=[3]))], Store(tmp_path), engine="stacked")
    version.commit.cache_clear()
    return result


def test_a_manifest_tells_the_origin_of_its_result(result):
    written = json.loads((result.folder / "manifest.json").read_text())
    logged = json.loads((result.folder / "log.jsonl").read_text())
    assert written["experiment"] == result.experiment.hash
    assert written["commit"] == "v1-3-gabc"
    assert (written["version"], written["engine"], written["device"]) == (tutelage.__version__, "stacked", "cpu")
    assert (written["seconds"], written["finished"]) == (logged["seconds"], logged["finished"])
    assert written["description"] == {"kind": "students", "numerics": 1, "settings": complete(result.experiment)}
    assert written["settings"]["training.batch"] == 16, "defaults are told too"
    assert written["members"] == 1
    assert written["bytes"] == {n: (result.folder / n).stat().st_size for n in written["files"]}
    content = (result.folder / "unit.parquet").read_bytes()
    assert written["files"]["unit.parquet"] == hashlib.sha256(content).hexdigest()


def test_the_digest_of_settings_is_the_hash_of_the_experiment(values):
    for changes in ({}, {"seeds": [5, 7], "teacher": {"polarity": [1, 0.5]}}, {"training": {"learning_rate": 1e-5}}):
        experiment = TeacherStudent(**values(**changes))
        assert digest(canonical(json.loads(json.dumps(experiment.description())))) == experiment.hash


def test_an_experiment_made_with_a_plugin_is_whole(values, tmp_path, monkeypatch):
    monkeypatch.setattr(plugins, "PLUGINS", {})
    monkeypatch.setattr(plugins, "_ORIGINS", {})
    source = b"from tutelage.measures import measure_of\n@measure_of('member')\ndef own_ones(s):\n"
    source += b"    return s.students.weights[0].new_ones(s.students.members)\n"
    try:
        plugins.load_source(source, "own.py")
        (result,) = execute([TeacherStudent(**values(record={"measures": ["own_ones"]}))], Store(tmp_path))
        assert verify(result.folder).settings["plugins"]
    finally:
        MEASURES.pop("own_ones", None)
    (row,) = query(tmp_path, "SELECT avg(own_ones) AS ones FROM members").to_pylist()  # the plugin need not be here
    assert row == {"ones": 1.0}


@pytest.mark.parametrize("place", [0.05, 0.3, 0.5, 0.99])
def test_a_single_changed_byte_of_a_manifest_is_noticed(result, place):
    path = result.folder / "manifest.json"
    content = bytearray(path.read_bytes())
    content[int(place * len(content))] ^= 1
    path.write_bytes(content)
    with pytest.raises(Damage, match="manifest"):
        read(result.folder)


def test_an_experiment_under_another_name_is_noticed(result):
    other = result.folder.with_name("0123456789abcdef")
    result.folder.rename(other)
    with pytest.raises(Damage, match=r"0123456789abcdef is damaged \(manifest.json belongs to another experiment\)"):
        read(other)


def test_links_pipes_and_folders_are_damage(result, tmp_path):
    secret = tmp_path / "secret"
    (result.folder / "unit.parquet").rename(secret)
    (result.folder / "unit.parquet").symlink_to(secret)
    (result.folder / "log.jsonl").unlink()
    os.mkfifo(result.folder / "log.jsonl")
    (result.folder / "layer.parquet").unlink()
    (result.folder / "layer.parquet").mkdir()
    found = {d.file: d.what for d in damage(result.folder, read(result.folder))}
    assert found == {
        "unit.parquet": "is a link, not a file",
        "log.jsonl": "is a device, not a file",
        "layer.parquet": "is a folder, not a file",
    }


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "a/b", "..", ".hidden", ""])
def test_a_manifest_names_no_file_outside_its_folder(result, name):
    path = result.folder / "manifest.json"
    values = {"files": json.loads(path.read_text())["files"] | {name: "0" * 64}}
    path.write_text(json.dumps(values))
    with pytest.raises(TutelageError, match=r"manifest\.json is not readable"):
        verify(result.folder)


def test_sizes_alone_do_not_show_a_changed_byte_but_checksums_do(result):
    path = result.folder / "unit.parquet"
    content = bytearray(path.read_bytes())
    content[20] ^= 1
    path.write_bytes(content)
    manifest = read(result.folder)
    assert list(damage(result.folder, manifest, checksums=False)) == []
    assert [d.file for d in damage(result.folder, manifest)] == ["unit.parquet"]
