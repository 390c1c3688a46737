"""A real MLflow server on loopback keeps what it is told."""

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

mlflow = pytest.importorskip("mlflow", reason="pip install 'tutelage[track]'")
pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow's own


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
