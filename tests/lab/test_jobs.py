"""Jobs that leave this process: the same packs, byte for byte in their numbers, wherever they are computed."""

import sys

import pytest

from tutelage import Refusal
from tutelage.lab import BACKENDS, Spec, Store, schedule
from tutelage.lab.jobs import Job, backend, carry_out


def several(values):
    return [Spec(**values(teacher={"polarity": p}, student={"multiple": k})) for p in (0, 1) for k in (1, 2)]


def numbers(packs):
    return [{name: value.tobytes() for name, value in pack.report.values.items()} for pack in packs]


def test_a_job_is_told_in_plain_text_and_lands_in_the_folder(values, tmp_path):
    spec = several(values)[0]
    job = Job.of(spec, str(tmp_path), "cpu", "stacked", 1)
    assert job.name == spec.hash
    assert carry_out(job) == spec.hash
    assert spec in Store(tmp_path)


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


def test_packs_are_the_same_wherever_they_are_computed(values, tmp_path, here):
    specs = several(values)
    local = schedule(specs, Store(tmp_path / "local"))
    landed, done = [], []
    away = schedule(
        specs, Store(tmp_path / "away"), here, on_landed=lambda p: landed.append(p.spec.hash), on_progress=done.append
    )
    assert numbers(local) == numbers(away)
    assert sorted(landed) == sorted(s.hash for s in specs)
    assert len(done) == len(specs)


def test_only_what_is_missing_or_damaged_is_computed_again(values, tmp_path, here):
    specs, store = several(values), Store(tmp_path)
    before = numbers(schedule(specs, store))
    (store.folder(specs[1]) / "unit.parquet").write_bytes(b"damaged")
    landed = []
    after = schedule(specs, store, here, on_landed=lambda p: landed.append(p.spec.hash))
    assert sorted(landed) == sorted(s.hash for s in specs)  # what is found is told of as well
    assert landed[-1] == specs[1].hash
    assert numbers(after) == before


def test_a_damaged_pack_is_computed_again_here_too(values, tmp_path, caplog):
    specs, store = several(values), Store(tmp_path)
    before = numbers(schedule(specs, store))
    (store.folder(specs[0]) / "manifest.json").write_text("{")
    assert numbers(schedule(specs, store)) == before
    assert "is set aside as" in caplog.text
    assert len(list(tmp_path.glob(".*.damaged"))) == 1


def test_packs_that_do_not_land_are_told(values, tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules["tutelage.lab.jobs"], "BACKENDS", {"idle": lambda rest: lambda jobs, landed: None})
    with pytest.raises(Refusal, match="4 experiments have no results"):
        schedule(several(values), Store(tmp_path), "idle")


def test_an_unknown_place_is_refused(values, tmp_path):
    with pytest.raises(Refusal, match="there is no place to run 'procesess': did you mean 'processes'"):
        schedule(several(values), Store(tmp_path), "procesess")


def test_the_order_of_packs_is_that_of_the_specs(values, tmp_path, here):
    specs = several(values)
    assert [p.spec.hash for p in schedule(specs, Store(tmp_path), here)] == [s.hash for s in specs]
