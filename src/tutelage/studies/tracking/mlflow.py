"""`--track mlflow` or `--track mlflow:URI`: one MLflow run an experiment and one per study, in the experiment
"tutelage".
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice

from tutelage.errors import TutelageError
from tutelage.lab import TrainedStudents
from tutelage.studies import Reproduction
from tutelage.studies.tracking.tracker import Tracker, counts, curves, files, settings, tracker

_EXPERIMENT = "tutelage"
_AT_ONCE = 1000  # metrics a request may carry
_LONGEST = 500  # characters of a parameter


@tracker("mlflow")
class MLflow(Tracker):
    """Talks to the server at the given URI, or to the one MLFLOW_TRACKING_URI names, or to a local file."""

    def __init__(self, uri: str) -> None:
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
        try:
            from mlflow.tracking import MlflowClient
        except ImportError:
            raise TutelageError("MLflow is not installed: pip install 'tutelage[track]'") from None
        self.uri = uri or None
        with self._reached():
            self.client = MlflowClient(tracking_uri=self.uri)
            known = self.client.get_experiment_by_name(_EXPERIMENT)
            self.experiment = known.experiment_id if known else self.client.create_experiment(_EXPERIMENT)

    def result(self, result: TrainedStudents) -> None:
        with (
            self._reached(),
            self._run(f"experiment {result.experiment.hash}", {"experiment": result.experiment.hash}) as number,
        ):
            from mlflow.entities import Metric, Param

            params = [Param(name, value[:_LONGEST]) for name, value in settings(result).items()]
            self.client.log_batch(number, params=params)
            metrics = (Metric(name, value, 0, step) for name, step, value in curves(result))
            while some := list(islice(metrics, _AT_ONCE)):
                self.client.log_batch(number, metrics=some)

    def study(self, outcome: Reproduction) -> None:
        tags = {"study": outcome.study.name, "paper": outcome.study.paper, "scale": outcome.scale}
        with self._reached(), self._run(f"study {outcome.study.name}", tags) as number:
            for name, value in counts(outcome).items():
                self.client.log_metric(number, name, value)
            for path in files(outcome):
                self.client.log_artifact(number, str(path))

    @contextmanager
    def _run(self, name: str, tags: dict[str, str]) -> Iterator[str]:
        """A run that ends as finished, or as failed when something went wrong inside."""
        run = self.client.create_run(self.experiment, run_name=name, tags=tags)
        try:
            yield run.info.run_id
        except BaseException:
            self.client.set_terminated(run.info.run_id, status="FAILED")
            raise
        self.client.set_terminated(run.info.run_id)

    @contextmanager
    def _reached(self) -> Iterator[None]:
        from mlflow.exceptions import MlflowException

        try:
            yield
        except MlflowException as error:
            why = str(error).splitlines()[0][:200]
            raise TutelageError(
                f"MLflow at '{self.uri or 'its default place'}' does not answer ({why}): check the URI"
            ) from None
