"""Experiments travel as one tar file, and nothing but experiments comes out of it."""

import hashlib
import io
import json
import os
import shutil
import tarfile

import pytest

from tutelage import TutelageError
from tutelage.lab import Store, TeacherStudent, archive, execute, store_tools
from tutelage.lab.store import load_result


@pytest.fixture
def results(values, tmp_path):
    experiments = [TeacherStudent(**values(seeds=[seed])) for seed in range(2)]
    execute(experiments, Store(tmp_path / "results"))
    return tmp_path / "results", experiments


def names(root):
    return sorted(path.name for path in root.iterdir())


def rewrite(file, change):
    """Write an archive again with its entries, pairs of TarInfo and content, changed."""
    with tarfile.open(file) as tar:
        entries = [(entry, tar.extractfile(entry).read()) for entry in tar]
    with tarfile.open(file, "w") as tar:
        for entry, content in change(entries):
            entry.size = len(content) if entry.isreg() else 0
            tar.addfile(entry, io.BytesIO(content))


def added(name, kind=tarfile.REGTYPE, link=""):
    def change(entries):
        entry = tarfile.TarInfo(name.format(experiment=entries[0][0].name.split("/")[0]))
        entry.type, entry.linkname = kind, link
        return [*entries, (entry, b"text")]

    return change


def test_results_travel_whole(results, tmp_path):
    root, experiments = results
    sent = archive.export(root, tmp_path / "all.tar")
    assert sent == sorted(experiment.hash for experiment in experiments)
    taken = archive.import_results(tmp_path / "there", tmp_path / "all.tar")
    assert (taken.new, taken.known) == (sent, [])
    for experiment in experiments:
        Store(tmp_path / "there").load(experiment)
    assert names(tmp_path / "there") == sent
    again = archive.import_results(tmp_path / "there", tmp_path / "all.tar")
    assert (again.new, again.known) == ([], sent)


def test_a_damaged_result_is_replaced_by_the_one_that_is_taken_in(results, tmp_path, caplog):
    root, (first, second) = results
    archive.export(root, tmp_path / "all.tar")
    table = root / first.hash / "unit.parquet"
    content = bytearray(table.read_bytes())
    content[50] ^= 1
    table.write_bytes(content)
    taken = archive.import_results(root, tmp_path / "all.tar")
    assert (taken.new, taken.known) == ([first.hash], [second.hash])
    assert "unit.parquet does not match its checksum" in caplog.text
    assert [found for _, found in store_tools.check(root)] == [[], []]
    assert len(list(root.glob(f".{first.hash}.*.damaged"))) == 1


def test_a_forged_experiment_is_not_taken_in(results, tmp_path):
    root, (experiment, _) = results
    forge(root / experiment.hash)
    archive.export(root, tmp_path / "all.tar")
    with pytest.raises(TutelageError, match=r"settings\.yaml belongs to another experiment"):
        archive.import_results(tmp_path / "there", tmp_path / "all.tar")


def test_a_forged_experiment_is_found_by_a_check_and_not_loaded(results):
    root, (experiment, other) = results
    forge(root / experiment.hash)
    found = {name: [(one.file, one.what) for one in several] for name, several in store_tools.check(root)}
    assert found == {experiment.hash: [("settings.yaml", "belongs to another experiment")], other.hash: []}
    with pytest.raises(TutelageError, match=r"settings\.yaml belongs to another experiment"):
        load_result(root / experiment.hash)
    assert (
        Store(root).load(experiment).experiment == experiment
    )  # the experiment that is asked for is used, not the one in the folder


def forge(folder):
    """Change a setting in the experiment, and make all checksums fit."""
    experiment, file = folder / "settings.yaml", folder / "manifest.json"
    experiment.write_text(experiment.read_text().replace("std: 1.5", "std: 1.6"))
    values = json.loads(file.read_text())
    values["files"]["settings.yaml"] = hashlib.sha256(experiment.read_bytes()).hexdigest()
    del values["checksum"]
    text = json.dumps(values, indent=1)
    end = f',\n "checksum": "{hashlib.sha256(text.encode()).hexdigest()}"\n}}'
    file.write_text(text[:-2] + end)


def test_chosen_results_travel_alone_and_archives_do_not_depend_on_the_machine(results, tmp_path):
    root, (experiment, _) = results
    for name in ("a.tar", "b.tar"):
        assert archive.export(root, tmp_path / name, [experiment.hash]) == [experiment.hash]
    assert (tmp_path / "a.tar").read_bytes() == (tmp_path / "b.tar").read_bytes()
    assert archive.import_results(tmp_path / "there", tmp_path / "a.tar").new == [experiment.hash]


def test_damaged_results_do_not_leave_and_no_part_of_an_archive_stays(results, tmp_path):
    root, (experiment, _) = results
    content = bytearray((root / experiment.hash / "unit.parquet").read_bytes())
    content[30] ^= 4
    (root / experiment.hash / "unit.parquet").write_bytes(content)
    with pytest.raises(TutelageError, match=f"{experiment.hash} is damaged .unit.parquet does not match its checksum"):
        archive.export(root, tmp_path / "all.tar")
    with pytest.raises(TutelageError, match="cannot be written"):
        archive.export(root, tmp_path / "nowhere" / "all.tar")
    assert [path.name for path in tmp_path.iterdir()] == ["results"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(TutelageError, match="no experiments"):
        archive.export(tmp_path / "empty", tmp_path / "all.tar")


@pytest.mark.parametrize(
    "change",
    [
        added("../outside"),
        added("{experiment}/../../outside"),
        added("/tmp/outside"),
        added("{experiment}/link", tarfile.SYMTYPE, "/etc/passwd"),
        added("{experiment}/unit.parquet2", tarfile.LNKTYPE, "/etc/passwd"),
        added("{experiment}/pipe", tarfile.FIFOTYPE),
        added("{experiment}/device", tarfile.CHRTYPE),
        added("{experiment}", tarfile.DIRTYPE),
        added("{experiment}/folder/file"),
        added("{experiment}/.hidden"),
        added("{experiment}/extra"),
        added("{experiment}/unit.parquet"),
        added("readme.txt"),
        added("0123456789abcdef/manifest.json"),
        lambda entries: entries[1:],
        lambda entries: entries[:-1],
        lambda entries: [(entry, content[:-1] + b"?") for entry, content in entries],
        lambda entries: [],
    ],
)
def test_an_archive_with_anything_wrong_leaves_nothing(results, tmp_path, change):
    root, _ = results
    archive.export(root, tmp_path / "all.tar")
    rewrite(tmp_path / "all.tar", change)
    with pytest.raises(TutelageError, match=r"all\.tar"):
        archive.import_results(tmp_path / "there", tmp_path / "all.tar")
    assert names(tmp_path / "there") == []
    assert names(tmp_path) == ["all.tar", "results", "there"]


def test_what_is_no_archive_is_refused(results, tmp_path):
    root, _ = results
    file = tmp_path / "all.tar"
    archive.export(root, file)
    for size in (0, 100, 700, file.stat().st_size // 2):
        shutil.copy(file, tmp_path / "short.tar")
        os.truncate(tmp_path / "short.tar", size)
        with pytest.raises(TutelageError, match=r"short\.tar"):
            archive.import_results(tmp_path / "there", tmp_path / "short.tar")
    with pytest.raises(TutelageError, match="No such file"):
        archive.import_results(tmp_path / "there", tmp_path / "nothing.tar")
    assert names(tmp_path / "there") == []


def test_a_crash_while_taking_in_leaves_what_gc_removes(results, tmp_path, monkeypatch):
    root, _ = results
    archive.export(root, tmp_path / "all.tar")
    monkeypatch.setattr(archive.shutil, "rmtree", lambda *_, **__: None)

    def lost(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(archive, "land", lost)
    with pytest.raises(KeyboardInterrupt):
        archive.import_results(tmp_path / "there", tmp_path / "all.tar")
    monkeypatch.undo()
    assert store_tools.list_results(tmp_path / "there") == []
    for removal in store_tools.garbage(tmp_path / "there", -1):
        store_tools.remove(removal)
    assert [name for name in names(tmp_path / "there") if name != ".index.duckdb"] == []


@pytest.mark.parametrize("header", [{"size": "x"}, {"path": "a\0b"}, {"mtime": "9" * 5000}, {"GNU.sparse.map": "1,x"}])
def test_any_header_of_a_tar_file_is_a_sentence(results, tmp_path, header):
    root, _ = results
    archive.export(root, tmp_path / "all.tar")
    with tarfile.open(tmp_path / "odd.tar", "w", format=tarfile.PAX_FORMAT) as tar:
        entry = tarfile.TarInfo("0123456789abcdef/manifest.json")
        entry.pax_headers = header
        tar.addfile(entry, io.BytesIO(b""))
    with pytest.raises(TutelageError) as error:
        archive.import_results(tmp_path / "there", tmp_path / "odd.tar")
    assert len(str(error.value)) < 200 + len(str(tmp_path)) + 200
    assert "\n" not in str(error.value)
