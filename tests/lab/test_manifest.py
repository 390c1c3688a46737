"""The manifest says where a pack came from, and notices when it is not what it was."""

import hashlib
import json
import os

import pytest

import tutelage
from tutelage import Refusal, plugins
from tutelage.lab import Spec, Store, execute, plain
from tutelage.lab.experiment import canonical, digest
from tutelage.lab.manifest import Damage, damage, read, verify
from tutelage.lab.query import query
from tutelage.measures import MEASURES


@pytest.fixture
def pack(values, tmp_path, monkeypatch):
    from tutelage import version

    version.commit.cache_clear()
    monkeypatch.setenv("TUTELAGE_COMMIT", "v1-3-gabc")
    (pack,) = execute([Spec(**values(seeds=[3]))], Store(tmp_path), engine="stacked")
    version.commit.cache_clear()
    return pack


def test_a_manifest_tells_the_origin_of_its_pack(pack):
    written = json.loads((pack.folder / "manifest.json").read_text())
    logged = json.loads((pack.folder / "log.jsonl").read_text())
    assert written["experiment"] == pack.spec.hash
    assert written["commit"] == "v1-3-gabc"
    assert (written["version"], written["engine"], written["device"]) == (tutelage.__version__, "stacked", "cpu")
    assert (written["seconds"], written["finished"]) == (logged["seconds"], logged["finished"])
    assert written["description"] == {"kind": "students", "numerics": 1, "settings": plain(pack.spec)}
    assert written["settings"]["training.batch"] == 16, "defaults are told too"
    assert written["members"] == 1
    assert written["bytes"] == {n: (pack.folder / n).stat().st_size for n in written["files"]}
    content = (pack.folder / "unit.parquet").read_bytes()
    assert written["files"]["unit.parquet"] == hashlib.sha256(content).hexdigest()


def test_the_digest_of_settings_is_the_hash_of_the_spec(values):
    for changes in ({}, {"seeds": [5, 7], "teacher": {"polarity": [1, 0.5]}}, {"training": {"learning_rate": 1e-5}}):
        spec = Spec(**values(**changes))
        assert digest(canonical(json.loads(json.dumps(spec.description())))) == spec.hash


def test_a_pack_made_with_a_plugin_is_whole(values, tmp_path, monkeypatch):
    monkeypatch.setattr(plugins, "PLUGINS", {})
    monkeypatch.setattr(plugins, "_ORIGINS", {})
    source = b"from tutelage.measures import measure_of\n@measure_of('member')\ndef own_ones(s):\n"
    source += b"    return s.students.weights[0].new_ones(s.students.members)\n"
    try:
        plugins.load_source(source, "own.py")
        (pack,) = execute([Spec(**values(record={"measures": ["own_ones"]}))], Store(tmp_path))
        assert verify(pack.folder).settings["plugins"]
    finally:
        MEASURES.pop("own_ones", None)
    (row,) = query(tmp_path, "SELECT avg(own_ones) AS ones FROM members").to_pylist()  # the plugin need not be here
    assert row == {"ones": 1.0}


@pytest.mark.parametrize("place", [0.05, 0.3, 0.5, 0.99])
def test_a_single_changed_byte_of_a_manifest_is_noticed(pack, place):
    path = pack.folder / "manifest.json"
    content = bytearray(path.read_bytes())
    content[int(place * len(content))] ^= 1
    path.write_bytes(content)
    with pytest.raises(Damage, match="manifest"):
        read(pack.folder)


def test_a_pack_under_another_name_is_noticed(pack):
    other = pack.folder.with_name("0123456789abcdef")
    pack.folder.rename(other)
    with pytest.raises(Damage, match=r"0123456789abcdef is damaged \(manifest.json belongs to another experiment\)"):
        read(other)


def test_links_pipes_and_folders_are_damage(pack, tmp_path):
    secret = tmp_path / "secret"
    (pack.folder / "unit.parquet").rename(secret)
    (pack.folder / "unit.parquet").symlink_to(secret)
    (pack.folder / "log.jsonl").unlink()
    os.mkfifo(pack.folder / "log.jsonl")
    (pack.folder / "layer.parquet").unlink()
    (pack.folder / "layer.parquet").mkdir()
    found = {d.file: d.what for d in damage(pack.folder, read(pack.folder))}
    assert found == {
        "unit.parquet": "is a link, not a file",
        "log.jsonl": "is a device, not a file",
        "layer.parquet": "is a folder, not a file",
    }


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "a/b", "..", ".hidden", ""])
def test_a_manifest_names_no_file_outside_its_folder(pack, name):
    path = pack.folder / "manifest.json"
    values = {"files": json.loads(path.read_text())["files"] | {name: "0" * 64}}
    path.write_text(json.dumps(values))
    with pytest.raises(Refusal, match=r"manifest\.json is not readable"):
        verify(pack.folder)


def test_sizes_alone_do_not_show_a_changed_byte_but_checksums_do(pack):
    path = pack.folder / "unit.parquet"
    content = bytearray(path.read_bytes())
    content[20] ^= 1
    path.write_bytes(content)
    manifest = read(pack.folder)
    assert list(damage(pack.folder, manifest, checksums=False)) == []
    assert [d.file for d in damage(pack.folder, manifest)] == ["unit.parquet"]
