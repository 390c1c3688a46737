"""What trackers are told, from a small study carried out once."""

import socket
import subprocess
import sys
import time
import urllib.request

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


pytest.importorskip("tensorboard", reason="pip install 'tutelage[track]'")
pytestmark = pytest.mark.filterwarnings("ignore")  # TensorBoard's own


def test_curves_come_back_from_the_event_files(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    (outcome,) = reproduce(["focus-shifting"], "smoke", tmp_path)
    (result,) = execute(STUDIES["focus-shifting"].plan("smoke").experiments, Store(tmp_path / "results"))
    tracker = open_tracker(f"tensorboard:{tmp_path / 'events'}")
    tracker.result(result)
    tracker.study(outcome)
    events = EventAccumulator(str(tmp_path / "events" / result.experiment.hash)).Reload()
    points = events.Scalars("evaluate_loss")
    assert [p.step for p in points] == list(result.report.steps)
    assert points[0].value == pytest.approx(result.report["evaluate_loss"][0].mean(), rel=1e-5)
    claims = EventAccumulator(str(tmp_path / "events" / "focus-shifting")).Reload()
    assert "claims_holds" in claims.Tags()["scalars"]


mlflow = pytest.importorskip("mlflow", reason="pip install 'tutelage[track]'")
# MLflow's own


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The address of an MLflow server that this test started, bound to loopback."""
    folder = tmp_path_factory.mktemp("mlflow")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = ["--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    words += [
        "--backend-store-uri",
        f"sqlite:///{folder}/store.db",
        "--artifacts-destination",
        str(folder / "artifacts"),
    ]
    log = open(folder / "log", "w")  # noqa: SIM115
    process = subprocess.Popen([sys.executable, "-m", "mlflow", "server", *words], stdout=log, stderr=log)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(f"{address}/health", timeout=1).read()
                break
            except OSError:
                time.sleep(0.2)
        else:
            pytest.fail((folder / "log").read_text())
        yield address
    finally:
        process.terminate()
        process.wait(30)
        log.close()


def test_results_and_studies_are_kept_by_a_server(server, tmp_path):
    (outcome,) = reproduce(["focus-shifting"], "smoke", tmp_path)
    (result,) = execute(STUDIES["focus-shifting"].plan("smoke").experiments, Store(tmp_path / "results"))
    tracker = open_tracker(f"mlflow:{server}")
    tracker.result(result)
    tracker.study(outcome)
    client = mlflow.tracking.MlflowClient(server)
    experiment = client.get_experiment_by_name("tutelage")
    runs = {run.info.run_name: run for run in client.search_runs([experiment.experiment_id])}
    kept = runs[f"experiment {result.experiment.hash}"]
    assert kept.info.status == "FINISHED"
    assert kept.data.params["student.width_factor"] == "2.0"
    curve = client.get_metric_history(kept.info.run_id, "evaluate_loss")
    assert sorted(point.step for point in curve) == list(result.report.steps)
    study = runs["study focus-shifting"]
    assert {item.path for item in client.list_artifacts(study.info.run_id)} >= {"figure.png", "claims.json"}
    assert sum(study.data.metrics.values()) == len(outcome.verdicts)


def test_a_server_that_does_not_answer_is_a_sentence():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with pytest.raises(TutelageError, match="does not answer"):
        open_tracker(f"mlflow:http://127.0.0.1:{port}")
