"""What trackers are told, from a small study carried out once."""

import pytest

from tutelage import TutelageError
from tutelage.lab import Store, execute
from tutelage.studies import STUDIES, reproduce
from tutelage.studies.tracking import open_tracker
from tutelage.studies.tracking.tracker import counts, curves, files, settings


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    out = tmp_path_factory.mktemp("out")
    (outcome,) = reproduce(["focus-shifting"], "smoke", out)
    (result,) = execute(STUDIES["focus-shifting"].plan("smoke").experiments, Store(out / "results"))
    return outcome, result


def test_settings_are_flat_text(done):
    flat = settings(done[1])
    assert flat["student.width_factor"] == "2.0"
    assert flat["teacher.kind"] == "levels"
    assert all(isinstance(value, str) for value in flat.values())


def test_curves_have_a_point_a_recorded_step(done):
    points = [(step, value) for name, step, value in curves(done[1]) if name == "evaluate_loss"]
    assert [step for step, _ in points] == list(done[1].report.steps)
    assert points[-1][1] == pytest.approx(done[1].report["evaluate_loss"][-1].mean())
    assert {name for name, _, _ in curves(done[1])} == {"best_correlation", "fan_out", "evaluate_loss"}


def test_claims_and_files_of_a_study(done):
    assert sum(counts(done[0]).values()) == len(done[0].verdicts)
    assert {path.name for path in files(done[0])} >= {"figure.png", "claims.json"}


def test_an_unknown_tracker_is_refused():
    with pytest.raises(TutelageError, match="unknown tracker 'mlfow'; did you mean 'mlflow'"):
        open_tracker("mlfow")
