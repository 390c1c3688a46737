"""What a tracker is told, whichever it is: experiments with their measures over time, studies with claims and
figures.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from tutelage.errors import TutelageError, how_to_install, unknown
from tutelage.lab import TrainedStudents
from tutelage.lab.experiment import plain
from tutelage.measures.registry import find
from tutelage.studies.claims import CHECKED, VERDICTS
from tutelage.studies.reproduce import Reproduction


class Tracker(ABC):
    """A place that keeps runs and draws their curves."""

    @abstractmethod
    def result(self, result: TrainedStudents) -> None:
        """Log a finished experiment: its settings, and its measures over steps."""

    @abstractmethod
    def study(self, outcome: Reproduction) -> None:
        """Log a study that was carried out: its claims and its files."""


TRACKERS: dict[str, Callable[[str], Tracker]] = {}
"""From the word before the colon of ``--track`` to a function that takes what stands after it."""


def tracker(name: str) -> Callable[[Callable[[str], Tracker]], Callable[[str], Tracker]]:
    """Register a tracker under the name it has after ``--track``."""

    def register(make: Callable[[str], Tracker]) -> Callable[[str], Tracker]:
        TRACKERS[name] = make
        return make

    return register


def open_tracker(word: str) -> Tracker:
    """The tracker that "mlflow", "mlflow:URI" or "tensorboard:FOLDER" names."""
    name, _, rest = word.partition(":")
    if name not in TRACKERS:
        raise unknown("tracker", name, TRACKERS)
    return TRACKERS[name](rest)


def settings(result: TrainedStudents) -> dict[str, str]:
    """The settings of an experiment that differ from their defaults, flat: {"student.width_factor": "5.0", ...}."""
    return {name: str(value) for name, value in _flat("", plain(result.experiment))}


def _flat(prefix: str, values: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flat(f"{prefix}{name}.", value)
        else:
            yield f"{prefix}{name}", value


def curves(result: TrainedStudents) -> Iterator[tuple[str, int, float]]:
    """(measure, step, mean over members and units) of every real-valued measure, members that diverged left out."""
    for name, values in result.report.values.items():
        if values.dtype.kind != "f" or find(name).axis.endswith("pair"):
            continue
        for step, value in zip(result.report.steps, values, strict=True):
            finite = value[np.isfinite(value)]
            if finite.size:
                yield name, step, float(finite.mean())


def files(outcome: Reproduction) -> list[Path]:
    """The files of a study that are worth keeping beside its claims."""
    names = ("figure.png", "figure.pdf", "claims.json", "provenance.json", "settings.yaml", "report.html")
    return [outcome.folder / name for name in names if (outcome.folder / name).is_file()]


def counts(outcome: Reproduction) -> dict[str, float]:
    """How many verdicts of each kind a study has."""
    verdicts: list[str] = [v.verdict for v in outcome.verdicts]
    claims = {f"claims_{name}": float(verdicts.count(name)) for name in VERDICTS}
    return claims | {f"checks_{name.replace(' ', '_')}": float(verdicts.count(name)) for name in CHECKED}


@tracker("tensorboard")
class TensorBoard(Tracker):
    """Writes below the given folder, `tensorboard` by default."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder or "tensorboard")
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise TutelageError(f"TensorBoard is not installed: {how_to_install('track')}") from None
        self.writer: Any = SummaryWriter

    def result(self, result: TrainedStudents) -> None:
        with self.writer(str(self.folder / result.experiment.hash)) as writer:
            writer.add_text("settings", "\n\n".join(f"{name}: {value}" for name, value in settings(result).items()))
            for name, step, value in curves(result):
                writer.add_scalar(name, value, step)

    def study(self, outcome: Reproduction) -> None:
        with self.writer(str(self.folder / outcome.study.name)) as writer:
            for name, value in counts(outcome).items():
                writer.add_scalar(name, value)
            rows = [f"{v.verdict}: {v.claim} ({v.setting}; {v.expected}, {v.measured})" for v in outcome.verdicts]
            writer.add_text("claims", "\n\n".join(rows))


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
            raise TutelageError(f"MLflow is not installed: {how_to_install('track')}") from None
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
