"""From experiments to experiments: nothing twice, and a member's numbers are its own."""

import json
import sys
import threading
import time

import numpy as np
import pytest
import torch

from tutelage import TutelageError
from tutelage.lab import Store, TeacherStudent, build, execute
from tutelage.lab.manifest import Damage
from tutelage.lab.store import set_aside


def test_a_finished_result_is_not_computed_again(values, tmp_path, monkeypatch):
    experiment, store = TeacherStudent(**values()), Store(tmp_path)
    (first,) = execute([experiment], store)
    before = {f.name: f.stat().st_mtime_ns for f in first.folder.iterdir()}
    module = sys.modules["tutelage.lab.work"]
    monkeypatch.setattr(module, "follow", lambda *_, **__: pytest.fail("trained again"))
    (second,) = execute([experiment], store)
    assert {f.name: f.stat().st_mtime_ns for f in second.folder.iterdir()} == before


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["gaussian", "teacher-aware", "uniform", "sphere", "correlated-gaussian", "student-t"])
def test_a_member_has_the_same_numbers_in_any_result(values, tmp_path, precision, kind):
    inputs = {"kind": kind, "train": 40, "evaluate": 30}
    settings = values(precision=precision)
    settings["inputs"] = inputs
    many = TeacherStudent(**(settings | {"seeds": [4, 8, 15, 16]}))
    few = TeacherStudent(**(settings | {"seeds": [16, 8]}))
    results = execute([many, few], Store(tmp_path))
    for name in ("evaluate_loss", "specialisation", "fan_out"):
        a, b = results[0].report[name][:, [3, 1]], results[1].report[name]
        np.testing.assert_allclose(a, b, rtol=1e-9 if precision == "float64" else 1e-3, atol=1e-6)


def test_progress_covers_the_work_of_all_results(values, tmp_path):
    experiments = [TeacherStudent(**values()), TeacherStudent(**values(seeds=2))]
    for _ in range(2):  # computed, then known
        done = []
        execute(experiments, Store(tmp_path), on_progress=done.append)
        assert sum(done) == pytest.approx(sum(experiment.cost for experiment in experiments))


def test_the_log_says_who_computed_what(values, tmp_path):
    (result,) = execute(
        [TeacherStudent(**values(training={"learning_rate": [0.01, 1e4, 0.01]}))], Store(tmp_path), device="cpu"
    )
    (line,) = [json.loads(text) for text in (result.folder / "log.jsonl").read_text().splitlines()]
    assert line["engine"]
    assert line["device"] == "cpu"
    assert line["seeds"] == [0, 1, 2]
    assert line["threads"] == torch.get_num_threads()
    assert line["stack"] == [3]
    manifest = json.loads((result.folder / "manifest.json").read_text())
    assert (manifest["threads"], manifest["stack"]) == (line["threads"], line["stack"])
    assert list(line["diverged"]) == ["1"]


def test_build_is_a_pure_function_of_the_experiment(values):
    one, two = (build(TeacherStudent(**values(precision="float64"))) for _ in range(2))
    assert torch.equal(one[0].weights[0], two[0].weights[0])
    assert torch.equal(one[1].weights[1], two[1].weights[1])
    assert torch.equal(one[2].train, two[2].train)
    assert one[0].dtype == one[2].evaluate.dtype == torch.float64


def test_an_experiment_that_cannot_be_written_ends_the_run_before_all_is_computed(values, tmp_path, monkeypatch):
    experiments, computed = [TeacherStudent(**values(seeds=[i])) for i in range(12)], []
    module = sys.modules["tutelage.lab.work"]
    train = module.follow

    def slow(*arguments):
        computed.append(1)
        time.sleep(0.1)
        return train(*arguments)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "follow", slow)
    monkeypatch.setattr(sys.modules["tutelage.lab.store"], "land", full)
    with pytest.raises(TutelageError, match="No space left on device"):
        execute(experiments, Store(tmp_path), device="cpu")
    assert len(computed) < 12


def test_two_runs_on_a_damaged_folder_do_not_stumble_over_each_other(values, tmp_path):
    """Both find the damage; whoever sets it aside, neither fails, and what one has computed anew is not lost."""
    experiment, store = TeacherStudent(**values()), Store(tmp_path)
    (result,) = execute([experiment], store)
    both, results = threading.Barrier(2), []
    real = Store.load

    def load(self, asked):
        try:
            return real(self, asked)
        except Damage:
            both.wait(10)  # until both have seen the damage
            raise

    def run():
        results.append(execute([experiment], Store(tmp_path))[0].report["fan_out"])

    with open(result.folder / "unit.parquet", "ab") as file:
        file.write(b"x")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "load", load)
        runs = [threading.Thread(target=run) for _ in range(2)]
        for one in runs:
            one.start()
        for one in runs:
            one.join()
    assert len(results) == 2
    assert all((found == result.report["fan_out"]).all() for found in results)


def test_a_whole_result_that_is_set_aside_gets_its_name_back(values, tmp_path):
    """As when another run has computed it anew between the look at it and its renaming."""
    experiment, store = TeacherStudent(**values()), Store(tmp_path)
    (result,) = execute([experiment], store)
    assert set_aside(result.folder, lambda folder: Store.load_from(folder, experiment)) is None
    assert [path.name for path in tmp_path.iterdir()] == [experiment.hash]
    assert set_aside(tmp_path / "gone", lambda folder: Store.load_from(folder, experiment)) is None


TRAININGS = {
    "sgd": {},
    "cross-entropy": {"loss": "cross-entropy"},
    "full batches": {"batch": "all"},
    "single samples": {"batch": 1},
    "momentum": {"optimiser": {"kind": "sgd", "momentum": 0.9}},
    "adam": {"optimiser": {"kind": "adam"}},
    "adam, cross-entropy": {"optimiser": {"kind": "adam"}, "loss": "cross-entropy"},
}


@pytest.fixture
def threads():
    """Sets the number of threads of one operation; the number that was is restored."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def _tables(result):
    return {name: value.tobytes() for name, value in result.report.values.items()}


@pytest.mark.parametrize("name", TRAININGS)
@pytest.mark.parametrize("engine", ["stacked", "auto"])
def test_the_same_bits_again_with_the_same_threads_and_within_rounding_with_others(
    values, tmp_path, threads, engine, name
):
    """Per engine, optimiser and loss: other threads and other experiments change nothing beyond rounding."""
    settings = values(training={"steps": 30, **TRAININGS[name]}, precision="float64", seeds=[4, 8, 15])
    settings["record"]["measures"] = ["evaluate_loss", "best_correlation", "fan_out", "cca", "cka"]
    found = {}
    for number, again in ((1, "a"), (1, "b"), (2, "a"), (2, "b")):
        threads(number)
        (found[number, again],) = execute(
            [TeacherStudent(**settings)], Store(tmp_path / f"{number}{again}"), engine=engine
        )
    for number in (1, 2):
        assert _tables(found[number, "a"]) == _tables(found[number, "b"])
    (alone,) = execute([TeacherStudent(**(settings | {"seeds": [8]}))], Store(tmp_path / "alone"), engine=engine)
    for measure, wanted in found[1, "a"].report.values.items():
        np.testing.assert_allclose(found[2, "a"].report[measure], wanted, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(alone.report[measure], wanted[:, [1]], rtol=1e-9, atol=1e-12)
