"""Jobs that leave this process: the same experiments, byte for byte in their numbers, wherever they are computed."""

import sys

import pytest

from tutelage import TutelageError
from tutelage.lab import Store, TeacherStudent, schedule
from tutelage.lab.jobs import BACKENDS, Job, backend, carry_out


def several(values):
    return [
        TeacherStudent(**values(teacher={"polarity": p}, student={"width_factor": k})) for p in (0, 1) for k in (1, 2)
    ]


def numbers(results):
    return [{name: value.tobytes() for name, value in result.report.values.items()} for result in results]


def test_a_job_is_told_in_plain_text_and_lands_in_the_folder(values, tmp_path):
    experiment = several(values)[0]
    job = Job.of(experiment, str(tmp_path), "cpu", "stacked", 1)
    assert job.name == experiment.hash
    assert carry_out(job) == experiment.hash
    assert experiment in Store(tmp_path)


@pytest.fixture
def here(monkeypatch):
    """A backend that carries jobs out in this process, in reverse order."""

    def make(rest):
        def run(jobs, landed):
            for job in reversed(jobs):
                landed(carry_out(job))

        return run

    monkeypatch.setattr(sys.modules["tutelage.lab.jobs"], "BACKENDS", dict(BACKENDS))
    backend("here")(make)
    return "here"


def test_results_are_the_same_wherever_they_are_computed(values, tmp_path, here):
    experiments = several(values)
    local = schedule(experiments, Store(tmp_path / "local"))
    landed, done = [], []
    away = schedule(
        experiments,
        Store(tmp_path / "away"),
        here,
        on_landed=lambda p: landed.append(p.experiment.hash),
        on_progress=done.append,
    )
    assert numbers(local) == numbers(away)
    assert sorted(landed) == sorted(s.hash for s in experiments)
    assert len(done) == len(experiments)


def test_only_what_is_missing_or_damaged_is_computed_again(values, tmp_path, here):
    experiments, store = several(values), Store(tmp_path)
    before = numbers(schedule(experiments, store))
    (store.folder(experiments[1]) / "unit.parquet").write_bytes(b"damaged")
    landed = []
    after = schedule(experiments, store, here, on_landed=lambda p: landed.append(p.experiment.hash))
    assert sorted(landed) == sorted(s.hash for s in experiments)  # what is found is told of as well
    assert landed[-1] == experiments[1].hash
    assert numbers(after) == before


def test_a_damaged_result_is_computed_again_here_too(values, tmp_path, caplog):
    experiments, store = several(values), Store(tmp_path)
    before = numbers(schedule(experiments, store))
    (store.folder(experiments[0]) / "manifest.json").write_text("{")
    assert numbers(schedule(experiments, store)) == before
    assert "is set aside as" in caplog.text
    assert len(list(tmp_path.glob(".*.damaged"))) == 1


def test_results_that_do_not_land_are_told(values, tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules["tutelage.lab.jobs"], "BACKENDS", {"idle": lambda rest: lambda jobs, landed: None})
    with pytest.raises(TutelageError, match="4 experiments have no results"):
        schedule(several(values), Store(tmp_path), "idle")


def test_an_unknown_place_is_refused(values, tmp_path):
    with pytest.raises(TutelageError, match="unknown place to run 'procesess'; did you mean 'processes'"):
        schedule(several(values), Store(tmp_path), "procesess")


def test_the_order_of_results_is_that_of_the_experiments(values, tmp_path, here):
    experiments = several(values)
    assert [p.experiment.hash for p in schedule(experiments, Store(tmp_path), here)] == [s.hash for s in experiments]
