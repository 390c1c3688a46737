"""`--track tensorboard:FOLDER`: event files that TensorBoard shows, one folder an experiment and one per study."""

from pathlib import Path
from typing import Any

from tutelage.errors import TutelageError
from tutelage.lab import TrainedStudents
from tutelage.studies import Reproduction
from tutelage.studies.tracking.tracker import Tracker, counts, curves, settings, tracker


@tracker("tensorboard")
class TensorBoard(Tracker):
    """Writes below the given folder, `tensorboard` by default."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder or "tensorboard")
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise TutelageError("TensorBoard is not installed: pip install 'tutelage[track]'") from None
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
