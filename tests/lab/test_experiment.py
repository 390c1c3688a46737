"""Experiments: what the hash covers, what they need, and how results come back from disk."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from tutelage import TutelageError
from tutelage.lab import Context, Experiment, Shared, Store
from tutelage.lab.execute import execute, levels, with_needs
from tutelage.lab.experiment import find, flat, plain, setting
from tutelage.settings import Recipe, Seeds, Settings
from tutelage.training import Training


@dataclass(frozen=True)
class Extra:
    depth: int = 2


class Inner(Settings):
    rate: float = 0.1
    extra: Extra = Extra()


class Powers(Experiment, kind="test-powers", numerics=1):
    """Powers of the seeds."""

    power: int
    inner: Inner = Inner()
    seeds: Seeds = (1, 2, 3)

    def run(self, context):
        seeds = np.array(self.seeds, float)
        return {"value": seeds**self.power, "table": np.outer(seeds, seeds), "power": Shared(np.array(self.power))}


class Sum(Experiment, kind="test-sum", numerics=1):
    """The sum of the values of other experiments."""

    terms: tuple[Powers, ...]

    def run(self, context):
        return {"total": sum(context.result(term)["value"] for term in self.terms)[:1]}


class Fails(Experiment, kind="test-fails", numerics=1):
    """Computes two parts, and fails before the last unless it may pass."""

    where: str

    def run(self, context):
        first = context.part("first", lambda: _counted(Path(self.where), "first"))
        if not (Path(self.where) / "pass").exists():
            raise RuntimeError("stopped half-way")
        second = context.part("second", lambda: _counted(Path(self.where), "second"))
        return {"both": (first["value"] + second["value"])[None]}


def _counted(folder: Path, name: str) -> dict:
    with open(folder / name, "a") as file:
        file.write("x")
    return {"value": np.array(1.0)}


def test_the_hash_covers_kind_settings_and_numerics():
    a, b = Powers(power=2), Powers(power=3)
    assert a.hash != b.hash
    assert a.hash == Powers(power=2, inner=Inner(rate=0.1), seeds=(1, 2, 3)).hash
    assert a.hash != Powers(power=2, inner=Inner(rate=0.2)).hash
    before = a.hash
    Powers.numerics = 2
    try:
        assert a.hash != before
    finally:
        Powers.numerics = 1


def test_plain_settings_make_the_same_experiment_again():
    experiment = Powers(power=2, inner=Inner(rate=0.25, extra=Extra(5)), seeds=4)
    assert plain(experiment) == {"power": 2, "inner": {"rate": 0.25, "extra": {"depth": 5}}, "seeds": [0, 1, 2, 3]}
    again = find("test-powers")(**plain(experiment))
    assert again == experiment
    assert again.hash == experiment.hash
    assert flat(experiment)["inner.rate"] == 0.25
    assert setting(experiment, "rate") == 0.25
    with pytest.raises(TutelageError, match=r"unknown setting 'missing'.*inner\.rate"):
        setting(experiment, "missing")


def test_two_kinds_of_one_name_are_an_error():
    with pytest.raises(TypeError, match="two kinds of experiment are called 'test-powers'"):

        class Other(Experiment, kind="test-powers"):
            pass


def test_results_come_back_with_their_bits_shapes_and_types(tmp_path):
    (result,) = execute([Powers(power=2, seeds=5)], Store(tmp_path), device="cpu")
    assert result["value"].tolist() == [0, 1, 4, 9, 16]
    assert result["table"].shape == (5, 5)
    assert result["power"].shape == ()
    assert int(result["power"]) == 2
    again = Store(tmp_path).load(result.experiment)
    for name in ("value", "table", "power"):
        assert np.array_equal(again[name], result[name])
        assert again[name].dtype == result[name].dtype


@pytest.mark.parametrize(
    "array",
    [
        np.array([[np.nan, -0.0], [np.inf, 5e-324]]),
        np.zeros((2, 0, 3)),
        np.array([[True, False], [False, True]]),
        np.arange(12, dtype=np.float32).reshape(2, 3, 2),
        np.array([2**62, -1]),
        np.array(["a", "b"]),
    ],
    ids=["special", "empty", "bool", "float32", "int64", "text"],
)
def test_every_type_of_array_survives(tmp_path, array):
    from tutelage.lab.arrays import read_arrays, table_bytes

    (tmp_path / "a.parquet").write_bytes(table_bytes({"a": array}))
    again = read_arrays(tmp_path / "a.parquet")["a"]
    assert again.shape == array.shape
    assert again.dtype == array.dtype
    assert again.tobytes() == np.ascontiguousarray(array).tobytes()


def test_arrays_have_the_member_first():
    experiment = Powers(power=1)
    with pytest.raises(ValueError, match=r"'x' has shape \(2, 3\), expected 3 members first"):
        experiment.encode({"x": np.zeros((2, 3))})


def test_what_is_needed_is_computed_first_and_once(tmp_path):
    terms = (Powers(power=1), Powers(power=2))
    total = Sum(terms=terms)
    assert [e.kind for e in with_needs([total])] == ["test-powers", "test-powers", "test-sum"]
    assert [len(level) for level in levels(list(with_needs([total])))] == [2, 1]
    landed = []
    results = execute([total, terms[0]], Store(tmp_path), device="cpu", on_landed=landed.append)
    assert results[0]["total"].tolist() == [2.0]
    assert len(landed) == 3
    assert total.hash != Sum(terms=terms[:1]).hash


def test_an_interrupted_experiment_goes_on_from_its_checkpoints(tmp_path):
    store, experiment = Store(tmp_path / "store"), Fails(where=str(tmp_path))
    with pytest.raises(RuntimeError, match="half-way"):
        execute([experiment], store, device="cpu")
    (tmp_path / "pass").touch()
    (result,) = execute([experiment], store, device="cpu")
    assert result["both"].tolist() == [2.0]
    assert (tmp_path / "first").read_text() == "x", "the first part was computed twice"
    assert not list(store.scratch().iterdir()), "checkpoints of stored results are removed"


def test_a_damaged_checkpoint_is_computed_again(tmp_path, caplog):
    store, experiment = Store(tmp_path / "store"), Fails(where=str(tmp_path))
    with pytest.raises(RuntimeError):
        execute([experiment], store, device="cpu")
    (file,) = (store.scratch() / experiment.hash).iterdir()
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    (tmp_path / "pass").touch()
    (result,) = execute([experiment], store, device="cpu")
    assert (tmp_path / "first").read_text() == "xx"
    assert "damaged" in caplog.text
    assert result["both"].tolist() == [2.0]


class Parts(Experiment, kind="test-parts", numerics=1):
    """Three parts of arrays of several types, whose order is none that a file would choose; one may stop the run."""

    where: str
    seeds: Seeds = (3, 1, 2)

    def run(self, context):
        out = {}
        for number in range(3):
            if (Path(self.where) / f"stop-{number}").exists():
                raise RuntimeError("stopped")
            part = context.part(f"part {number}", lambda n=number: self._part(n))
            out |= {f"{name}_{number}": array for name, array in part.items()}
        return out

    def _part(self, number):
        seeds = np.array(self.seeds)
        return {
            "zeta": (seeds + number).astype(np.int8),
            "mean": np.sqrt(seeds + number),
            "alpha": np.outer(seeds, seeds).astype(np.float32).T,
            "last": seeds > number,
            "empty": np.zeros((3, 0)),
        }


@pytest.mark.parametrize("stops", [(1,), (2,), (1, 2)])
def test_a_resumed_experiment_has_the_bytes_of_one_that_was_not_interrupted(tmp_path, stops):
    experiment = Parts(where=str(tmp_path))
    (whole,) = execute([experiment], Store(tmp_path / "whole"), device="cpu")
    for stop in stops:
        (tmp_path / f"stop-{stop}").touch()
        with pytest.raises(RuntimeError, match="stopped"):
            execute([experiment], Store(tmp_path / "resumed"), device="cpu")
        (tmp_path / f"stop-{stop}").unlink()
    (resumed,) = execute([experiment], Store(tmp_path / "resumed"), device="cpu")
    for name in ("values.parquet", "settings.yaml"):
        assert (resumed.folder / name).read_bytes() == (whole.folder / name).read_bytes()


@pytest.mark.parametrize(
    "about", ["[" * 5000, "null", "[]", '{"part": "first"}', '{"part": "first", "names": 3}', "1e999"]
)
def test_a_checkpoint_with_any_description_is_computed_again(tmp_path, caplog, about):
    store, experiment = Store(tmp_path / "store"), Fails(where=str(tmp_path))
    with pytest.raises(RuntimeError):
        execute([experiment], store, device="cpu")
    (file,) = (store.scratch() / experiment.hash).iterdir()
    file.write_bytes(save({"value": np.array(1.0)}, metadata={"checkpoint": about}))
    (tmp_path / "pass").touch()
    execute([experiment], store, device="cpu")
    assert (tmp_path / "first").read_text() == "xx"
    assert "damaged" in caplog.text


def test_what_a_file_contains_enters_the_hash(tmp_path):
    class Source(Recipe):
        kind: str = ""
        path: Path

        def reads(self):
            return (self.path,)

    class Reads(Experiment, kind="test-reads"):
        source: Source

    file = tmp_path / "data"
    file.write_text("one")
    experiment = Reads(source=Source(path=file))
    before = experiment.hash
    file.write_text("two")
    assert experiment.hash != before


def test_progress_is_told_in_units_of_cost(tmp_path):
    done = []
    execute([Powers(power=5), Powers(power=6)], Store(tmp_path), device="cpu", on_progress=done.append)
    assert sum(done) == pytest.approx(2.0)


def test_a_context_without_a_store_says_so():
    with pytest.raises(LookupError, match="no store"):
        Sum(terms=(Powers(power=1),)).run(Context())


def test_the_hash_covers_defaults_so_that_changing_one_computes_anew():
    class Followed(Experiment, kind="followed-for-a-time", numerics=1):
        until: float = 60.0
        inner: Training = Training(steps=5)

    first = Followed()
    assert first.description()["settings"]["until"] == 60.0
    assert first.description()["settings"]["inner"]["batch"] == 16
    assert first.hash == Followed(until=60.0, inner=Training(steps=5, batch=16)).hash
    Followed.model_fields["until"].default = 200.0
    Followed.model_rebuild(force=True)
    assert Followed().until == 200.0
    assert Followed().hash != first.hash


def test_a_default_that_is_written_out_gives_the_same_hash_in_a_worker():
    """A worker is sent the settings that differ from their defaults; 1 and the default 1.0 are one number."""
    from tutelage.lab import TeacherStudent

    given = TeacherStudent(
        teacher={"kind": "levels", "inputs": 4, "hidden": 2, "outputs": 2, "polarity": 0},
        student={"kind": "small-normal", "width_factor": 1},
        inputs={"kind": "gaussian", "std": 1},
        training={"steps": 1},
        seeds=2,
    )
    assert TeacherStudent(**json.loads(json.dumps(plain(given)))).hash == given.hash
