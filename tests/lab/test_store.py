"""Experiments are complete or absent, and damage is noticed."""

import multiprocessing
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from tutelage import TutelageError
from tutelage.lab import Store, TeacherStudent, execute, store_tools
from tutelage.lab.trained_students import Trained
from tutelage.measures import Report


@pytest.fixture
def finished(values, tmp_path):
    experiment, store = TeacherStudent(**values(record={"weights": "all"})), Store(tmp_path / "results")
    (result,) = execute([experiment], store)
    return experiment, store, result


def test_an_experiment_holds_what_the_design_says(finished):
    experiment, store, result = finished
    assert experiment in store
    names = {f.name for f in result.folder.iterdir()}
    assert {"settings.yaml", "log.jsonl", "manifest.json", "unit.parquet", "teacher.safetensors"} <= names
    assert {f"students-{s}.safetensors" for s in (0, 10, 20, 30)} <= names
    assert [f for f in store.root.iterdir() if f.name.startswith(".")] == []


def test_an_experiment_comes_back_as_it_was(finished):
    experiment, store, result = finished
    again = Store(store.root).load(experiment)
    for name, value in result.report.values.items():
        np.testing.assert_array_equal(again.report[name], value)
    assert again.weights(10).widths == (6, 6, 2)
    assert again.teacher().members == 3


@pytest.mark.parametrize("damage", ["truncate", "remove", "manifest", "empty manifest"])
def test_a_damaged_result_is_refused_and_named(finished, damage):
    experiment, store, result = finished
    match damage:
        case "truncate":
            file = result.folder / "unit.parquet"
            file.write_bytes(file.read_bytes()[:-10])
        case "remove":
            (result.folder / "member.parquet").unlink()
        case "manifest":
            (result.folder / "manifest.json").write_text("{")
        case "empty manifest":
            (result.folder / "manifest.json").write_text("[]")
    with pytest.raises(TutelageError, match=f"the result {experiment.hash} is damaged .*delete the folder"):
        store.load(experiment)


def test_a_crash_while_writing_leaves_nothing_behind(values, tmp_path, monkeypatch):
    from tutelage.lab import store as module

    def fail(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "compose", fail)
    experiment, store = TeacherStudent(**values()), Store(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        execute([experiment], store)
    assert experiment not in store
    assert list(tmp_path.iterdir()) == []


def tables(result) -> dict[str, bytes]:
    """The tables of an experiment as they are stored."""
    return {file.name: file.read_bytes() for file in result.folder.glob("*.parquet")}


def test_two_writers_of_one_result_do_not_disturb_each_other(finished):
    experiment, store, result = finished
    again = store.save(experiment, tables(result), {"seconds": 0})
    assert (again.folder / "students-30.safetensors").is_file()  # the first writer's files stayed


def test_a_full_disk_is_a_sentence(values, tmp_path, monkeypatch):
    from tutelage.lab import store as module

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module.os, "rename", full)
    with pytest.raises(TutelageError, match=r"cannot be written \(No space left on device\)"):
        execute([TeacherStudent(**values())], Store(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(TutelageError, match=r"cannot be written .*--results"):
        Store(tmp_path / "file" / "results")


def test_a_store_that_cannot_be_written_is_read_and_refused_before_work(finished, values, monkeypatch):
    experiment, store, _ = finished

    def read_only(self, *_, **__):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "touch", read_only)
    (result,) = execute([experiment], Store(store.root))
    assert result.experiment == experiment
    monkeypatch.setattr(TeacherStudent, "run_all", None)  # nothing is computed
    with pytest.raises(TutelageError, match=r"cannot be written \(Read-only file system\).*--results"):
        execute([TeacherStudent(**values(seeds=[77]))], Store(store.root))


def test_weights_that_were_not_kept_are_refused(finished):
    _, _, result = finished
    with pytest.raises(TutelageError, match="there is no file"):
        result.weights(11)


def test_results_can_be_moved(finished, tmp_path):
    experiment, store, result = finished
    shutil.copytree(store.root, tmp_path / "elsewhere")
    assert Store(tmp_path / "elsewhere").load(experiment).report.steps == result.report.steps


@pytest.mark.parametrize("what", ["link", "file"])
def test_something_else_under_the_name_of_an_experiment_is_refused(values, tmp_path, what):
    experiment, store = TeacherStudent(**values()), Store(tmp_path / "results")
    (tmp_path / "outside").mkdir()
    if what == "link":
        store.folder(experiment).symlink_to(tmp_path / "outside")
    else:
        store.folder(experiment).touch()
    assert experiment not in store
    with pytest.raises(TutelageError, match=f"{experiment.hash} cannot be written"):
        execute([experiment], store)
    with pytest.raises(TutelageError, match=f"{experiment.hash} is damaged"):
        store.load(experiment)
    assert list((tmp_path / "outside").iterdir()) == []
    assert [f.name for f in store.root.iterdir()] == [experiment.hash]


def test_an_empty_folder_under_the_name_of_an_experiment_is_filled(values, tmp_path):
    experiment, store = TeacherStudent(**values()), Store(tmp_path)
    (result,) = execute([experiment], store)
    files = tables(result)
    shutil.rmtree(result.folder)
    result.folder.mkdir()
    store.save(experiment, files, {})
    assert store.load(experiment).report.steps == result.report.steps


def test_weights_that_are_a_link_are_refused(finished, tmp_path):
    _, _, result = finished
    shutil.copy(result.folder / "students-10.safetensors", tmp_path / "outside")
    (result.folder / "students-11.safetensors").symlink_to(tmp_path / "outside")
    with pytest.raises(TutelageError, match=r"students-11\.safetensors is a link"):
        result.weights(11)


def write_results(root, values, order, ready, go):
    """In a process of its own: save experiments that other processes save at the same time."""
    store = Store(root)
    ready.release()
    go.wait()
    for seed in order:
        report = Report((0, 30), {"evaluate_loss": np.full((2, 1), float(seed), np.float32)})
        experiment = TeacherStudent(**(values | {"seeds": [seed]}))
        trained = Trained(report, {}, torch.full((1,), -1), torch.full((1,), -1), "none", 0.0, 0.0, 1, [1])
        store.save(experiment, experiment.encode(trained), {"engine": "none", "seconds": 0.0})


def test_several_writers_and_a_reader_share_a_folder(values, tmp_path):
    """Two processes write the same experiments in opposite orders; whatever is seen meanwhile is whole."""
    settings = values(record={"measures": ["evaluate_loss"]})
    experiments = {TeacherStudent(**(settings | {"seeds": [seed]})).hash: seed for seed in range(10)}
    spawn = multiprocessing.get_context("spawn")
    ready, go = spawn.Semaphore(0), spawn.Event()
    orders = list(range(10)), list(range(9, -1, -1))
    writers = [spawn.Process(target=write_results, args=(tmp_path, settings, order, ready, go)) for order in orders]
    for writer in writers:
        writer.start()
    for _ in writers:
        assert ready.acquire(timeout=60)
    go.set()
    store, looks = Store(tmp_path), 0
    while any(writer.is_alive() for writer in writers):
        seen = dict(store_tools.check(tmp_path))
        assert not any(seen.values())
        assert all(row["damage"] is None for row in store_tools.list_results(tmp_path))
        looks += 1
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert looks > 0
    assert {name for name in os.listdir(tmp_path) if name != ".index.duckdb"} == set(experiments)
    for seed in experiments.values():
        assert store.load(TeacherStudent(**(settings | {"seeds": [seed]}))).report["evaluate_loss"][0, 0] == seed
