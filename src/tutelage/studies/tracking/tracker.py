"""What a tracker is told, whichever it is: experiments with their measures over time, studies with claims and
figures.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tutelage.errors import unknown
from tutelage.lab import TrainedStudents, plain
from tutelage.measures import find
from tutelage.studies import Reproduction
from tutelage.studies.claims import CHECKED, VERDICTS


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
