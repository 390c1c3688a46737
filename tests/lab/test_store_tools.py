"""Care of a results folder, whatever state it is in."""

import json
import os
import random
import shutil
import sys
import time

import pytest
import yaml

from tutelage import TutelageError
from tutelage.files import at_work
from tutelage.lab import Store, TeacherStudent, archive, execute, manifest, store_tools
from tutelage.lab.query import query

FUZZED = int(os.environ.get("TUTELAGE_DAMAGED_FOLDERS", "200"))


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """Two small experiments, made once, and a folder outside that nothing may touch."""
    root = tmp_path_factory.mktemp("experiments")
    values = {
        "teacher": {"kind": "levels", "inputs": 6, "hidden": 3, "outputs": 2, "polarity": 1},
        "student": {"kind": "small-normal", "width_factor": 2, "scale": 0.1},
        "inputs": {"kind": "gaussian", "train": 40, "evaluate": 30},
        "training": {"steps": 10},
    }
    experiments = [TeacherStudent(**values, seeds=[seed]) for seed in (0, 1)]
    execute(experiments, Store(root))
    return root, experiments


@pytest.fixture
def results(original, tmp_path):
    root, experiments = original
    shutil.copytree(root, tmp_path / "results")
    return tmp_path / "results", [experiment.hash for experiment in experiments]


def unfinished(root, hours=0.0, name=".0123456789abcdef.00000000.part"):
    folder = root / name
    folder.mkdir()
    (folder / "settings.yaml").write_text("half")
    then = time.time() - 3600 * hours
    for path in (folder / "settings.yaml", folder):
        os.utime(path, (then, then))
    return folder


def test_a_list_says_where_results_came_from(results):
    root, names = results
    rows = store_tools.list_results(root)
    assert [row["experiment"] for row in rows] == sorted(names)
    assert all(row["damage"] is None for row in rows)
    assert {(row["kind"], row["members"], row["device"]) for row in rows} == {("students", 1, "cpu")}
    sizes = sum(file.stat().st_size for file in (root / names[0]).iterdir() if file.name != "manifest.json")
    assert next(row["bytes"] for row in rows if row["experiment"] == names[0]) == sizes


def test_a_list_notices_a_file_that_shrank_after_it_was_listed(results):
    root, (name, other) = results
    store_tools.list_results(root)
    with open(root / name / "unit.parquet", "r+b") as file:
        file.truncate(7)
    states = {row["experiment"]: row["damage"] for row in store_tools.list_results(root)}
    assert states[name].startswith("unit.parquet has 7 bytes instead of")
    assert states[other] is None


def test_a_check_names_every_damaged_file(results):
    root, (name, other) = results
    content = bytearray((root / name / "unit.parquet").read_bytes())
    content[40] ^= 1
    (root / name / "unit.parquet").write_bytes(content)
    (root / name / "layer.parquet").unlink()
    found = dict(store_tools.check(root))
    assert {(d.file, d.what) for d in found[name]} == {
        ("unit.parquet", "does not match its checksum"),
        ("layer.parquet", "cannot be read: No such file or directory"),
    }
    assert found[other] == []
    assert dict(store_tools.check(root, [other])) == {other: []}


def test_unfinished_work_is_seen_with_its_age(results):
    root, _ = results
    folder = unfinished(root, hours=3)
    (left,) = store_tools.leftovers(root)
    assert left.path == folder
    assert left.age == pytest.approx(3 * 3600, abs=60)
    os.utime(folder / "settings.yaml")  # a writer is still at it
    assert store_tools.leftovers(root)[0].age < 60


def test_garbage_is_old_unfinished_work_and_no_whole_result(results):
    root, names = results
    old, young = unfinished(root, hours=30), unfinished(root, name=".fedcba9876543210.00000000.part")
    aside = unfinished(root, hours=30, name=f".{names[0]}.00000000.damaged")
    found = store_tools.garbage(root, 24 * 3600, damaged=True)
    assert {removal.path for removal in found} == {old, aside}
    for removal in found:
        store_tools.remove(removal)
    assert not old.exists()
    assert not aside.exists()
    assert young.exists()
    assert sorted(path.name for path in root.glob("[!.]*")) == sorted(names)


def test_damaged_results_go_when_asked_and_whole_ones_when_named(results):
    root, (name, other) = results
    (root / name / "manifest.json").write_text("{")
    assert store_tools.garbage(root, 0) == []
    (found,) = store_tools.garbage(root, 0, damaged=True)
    assert (found.path.name, found.why) == (name, "damaged: manifest.json is not readable")
    for removal in [found, *store_tools.garbage(root, 0, chosen=[other])]:
        store_tools.remove(removal)
        store_tools.remove(removal)  # somebody else was faster
    assert list(root.iterdir()) == []


def test_links_are_removed_and_not_followed(results, tmp_path):
    root, (name, _) = results
    shutil.move(root / name, tmp_path / "outside")
    (root / name).symlink_to(tmp_path / "outside")
    (root / ".0123456789abcdef.00000000.part").symlink_to(tmp_path / "outside")
    for removal in store_tools.garbage(root, -1, damaged=True):
        store_tools.remove(removal)
    assert len(list(root.glob("*"))) == 1
    assert len(list((tmp_path / "outside").iterdir())) > 5


def test_an_experiment_that_is_not_there_is_refused(results, tmp_path):
    with pytest.raises(TutelageError, match="there is no experiment 'abc'"):
        store_tools.garbage(results[0], 0, chosen=["abc"])
    with pytest.raises(TutelageError, match=r"cannot be read .*--results"):
        store_tools.list_results(tmp_path / "nowhere")


# damage at random -----------------------------------------------------------------------------------------------------


def harm(root, outside, chance):
    """Do one random harm to a results folder; the experiment that must be found damaged."""
    results = sorted(root.glob("[!.]*"))
    result, other = chance.sample(results, 2)
    files = sorted(result.iterdir())
    file = chance.choice(files)
    manifest = result / "manifest.json"
    kind = chance.choice([name for name in globals() if name.startswith("harm_")])
    globals()[kind](result, other, file, manifest, outside, chance)
    return result.name, kind


def harm_truncate(result, other, file, manifest, outside, chance):
    os.truncate(file, chance.randrange(file.stat().st_size))


def harm_flip(result, other, file, manifest, outside, chance):
    content = bytearray(file.read_bytes())
    for _ in range(chance.choice([1, 1, 20])):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    content[0] ^= 128 if bytes(content) == file.read_bytes() else 0
    file.write_bytes(content)


def harm_delete(result, other, file, manifest, outside, chance):
    file.unlink()


def harm_swap_files(result, other, file, manifest, outside, chance):
    second = chance.choice([f for f in sorted(result.iterdir()) if f.read_bytes() != file.read_bytes()])
    content = second.read_bytes()
    second.write_bytes(file.read_bytes())
    file.write_bytes(content)


def harm_swap_results(result, other, file, manifest, outside, chance):
    aside = outside / "aside"
    result.rename(aside)
    other.rename(result)
    aside.rename(other)


def harm_folder_for_file(result, other, file, manifest, outside, chance):
    file.unlink()
    file.mkdir()


def harm_pipe_for_file(result, other, file, manifest, outside, chance):
    file.unlink()
    os.mkfifo(file)


def harm_link_for_file(result, other, file, manifest, outside, chance):
    """A link to the very same content: only following it would find nothing wrong."""
    shutil.move(file, outside / file.name)
    file.symlink_to(outside / file.name)


def harm_link_for_result(result, other, file, manifest, outside, chance):
    shutil.move(result, outside / result.name)
    result.symlink_to(outside / result.name)


def harm_file_for_result(result, other, file, manifest, outside, chance):
    shutil.rmtree(result)
    result.write_text("no folder")


def harm_empty_result(result, other, file, manifest, outside, chance):
    shutil.rmtree(result)
    result.mkdir()


def harm_manifest_text(result, other, file, manifest, outside, chance):
    texts = [
        "",
        "{",
        "[]",
        "null",
        "1",
        '{"files": 3}',
        '{"files": {}}',
        '{"files": {"settings.yaml": 5}}',
        "[" * 100_000,
    ]
    manifest.write_text(
        chance.choice([*texts, '{"files": {"settings.yaml": "zz"}}', "\x00", '{"files": {"a/b": "c"}}'])
    )


def harm_manifest_names(result, other, file, manifest, outside, chance):
    """A manifest that names a file elsewhere."""
    files = json.loads(manifest.read_text())["files"]
    name = chance.choice(["../../outside/secret", "/etc/passwd", "..", ".", "", "a\nb", ".hidden", "missing.parquet"])
    manifest.write_text(json.dumps({"files": files | {name: "0" * 64}}))


def harm_manifest_values(result, other, file, manifest, outside, chance):
    values = json.loads(manifest.read_text())
    name = chance.choice(sorted(values))
    values[name] = chance.choice([None, 3, "text", [], {"a": 1}, 1e308])
    manifest.write_text(json.dumps(values))


def harm_settings(result, other, file, manifest, outside, chance):
    """Settings that are no settings, with checksums that fit."""
    texts = ["", "[", "a: &x [1, 1]\nb: *x", "- 1", "a: 2020-01-01", "1: 2\na: 3", "\x00", "a: " + "[" * 5000]
    (result / "settings.yaml").write_text(chance.choice([*texts, "!!python/name:os.system"]))


def refused(function, *arguments):
    """Whether something was refused, with a sentence; any other exception ends the test."""
    try:
        function(*arguments)
    except TutelageError as refusal:
        return str(refusal)
    return ""


@pytest.mark.parametrize("part", range(4))
def test_damage_is_a_sentence_in_every_tool(original, tmp_path, part):
    root, experiments = original
    for number in range(part, FUZZED, 4):
        chance = random.Random(number)
        results, outside = tmp_path / f"{number}" / "results", tmp_path / f"{number}" / "outside"
        shutil.copytree(root, results)
        outside.mkdir()
        (outside / "secret").write_text("not for you")
        if chance.random() < 0.5:
            store_tools.list_results(results)  # the index was written before the damage
        name, kind = harm(results, outside, chance)
        before = sorted(outside.rglob("*"))
        experiment = next(experiment for experiment in experiments if experiment.hash == name)
        look_at_everything(results, experiment, name, f"{number} {kind}", tmp_path)
        assert sorted(outside.rglob("*")) == before
        shutil.rmtree(tmp_path / f"{number}")


def look_at_everything(results, experiment, name, label, elsewhere):
    store = Store(results)
    if experiment in store:
        assert name in refused(store.load, experiment), label
    found = dict(store_tools.check(results))
    assert found.get(name), label
    assert all(name in str(one) and one.file in str(one) for one in found[name]), label
    assert len(store_tools.list_results(results)) == 2, label
    damaged = [result for result, several in found.items() if several]
    said = refused(archive.export, results, elsewhere / "all.tar")
    assert any(result in said for result in damaged), label
    assert not (elsewhere / "all.tar").exists()
    if FUZZED > 200 or int(label.split()[0]) % 5 == 0:  # the slowest of all
        said = refused(query, results, "SELECT count(*), sum(fan_out), max(experiment) FROM units")
        assert not said or any(result in said for result in damaged), label
    for removal in store_tools.garbage(results, 0, damaged=True):
        store_tools.remove(removal)
    assert not os.path.lexists(results / name), label
    assert all(not several for _, several in store_tools.check(results)), label


def test_what_somebody_writes_is_no_garbage_at_any_age(results):
    root, _ = results
    with at_work(root / ".import.12345678.part"):
        assert store_tools.garbage(root, -1) == []
    (removal,) = store_tools.garbage(root, -1)
    assert removal.path.name == ".import.12345678.part"


def test_a_result_is_no_garbage_while_it_is_written(results, monkeypatch):
    """`gc --older 0` between any two files of a result that is being stored."""
    root, (name, _) = results
    values = yaml.safe_load((root / name / "settings.yaml").read_text()) | {"seeds": [9]}
    del values["kind"]
    seen = []

    def compose(*given):
        seen.extend(store_tools.leftovers(root))
        assert store_tools.garbage(root, -1) == []
        return manifest.compose(*given)

    monkeypatch.setattr(sys.modules["tutelage.lab.store"], "compose", compose)
    execute([TeacherStudent(**values)], Store(root))
    assert [left.path.suffix for left in seen] == [".part"]


def test_an_import_whose_folder_is_removed_does_not_blame_the_archive(results, tmp_path, monkeypatch):
    root, _ = results
    archive.export(root, tmp_path / "all.tar")

    def removed(file, folder):
        shutil.rmtree(folder.parent)
        check(file, folder)

    check = archive._check
    monkeypatch.setattr(archive, "_check", removed)
    with pytest.raises(TutelageError, match=r"part was removed while .*all\.tar was imported into it: import it again"):
        archive.import_results(tmp_path / "there", tmp_path / "all.tar")
