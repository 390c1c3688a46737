"""Results of trained students: a report of their measures, and their weights."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from torch import Tensor

from tutelage import networks
from tutelage.errors import TutelageError
from tutelage.lab.arrays import parquet_bytes
from tutelage.lab.manifest import MANIFEST, Damage, readable
from tutelage.lab.results import Result
from tutelage.lab.store import load_result
from tutelage.lab.tables import INDEX, SECOND, to_report, to_tables
from tutelage.lab.teacher_student import TeacherStudent
from tutelage.measures import Report
from tutelage.networks import Network
from tutelage.networks.files import to_bytes


class TrainedStudents(Result[TeacherStudent]):
    """Stored result of a :class:`TeacherStudent` experiment; weights are read when needed.

    Attributes
    ----------
    experiment
        The settings.
    report
        Measures at the recorded steps.
    folder
        Folder of the result; of an experiment that is stored in parts, that of the first.
    parts
        Results of the parts, where the experiment is stored in parts.
    """

    def __init__(
        self, experiment: TeacherStudent, report: Report, folder: Path, parts: Sequence["TrainedStudents"] = ()
    ) -> None:
        super().__init__(experiment, folder)
        self.report, self.parts = report, parts

    def weights(self, step: int | None = None) -> Network:
        """The students at a recorded step whose weights were kept (default: the last one)."""
        step = self.experiment.steps if step is None else step
        return self._network(f"students-{step}.safetensors")

    def teacher(self, second: bool = False) -> Network:
        """The teachers, or those that took over from them; a teacher without units is not stored."""
        name = f"teacher{SECOND if second else ''}.safetensors"
        if not (self.folder / name).exists():
            recipe = self.experiment.later.teacher if second and self.experiment.later else self.experiment.teacher
            what = (
                f"a teacher of the kind '{recipe.kind}'" if not second or self.experiment.later else "no second teacher"
            )
            raise TutelageError(f"{what} has no weights to read")
        return self._network(name)

    def _network(self, name: str) -> Network:
        if self.parts:
            return networks.concatenate([part._network(name) for part in self.parts])
        if (self.folder / name).is_symlink():
            raise Damage(self.folder, name, "is a link, not a file")
        return networks.load(self.folder / name)

    def widths(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Widths of the teacher and of the students."""
        teacher = self.experiment.teacher.widths()
        return teacher, self.experiment.student.widths(teacher)


@dataclass(frozen=True, eq=False)
class Trained:
    """Trained students before they are stored: report, networks by file name, steps of divergence, how it was done.

    threads: of one operation on a CPU; stack: members that were trained side by side, per piece of the work.
    """

    report: Report
    kept: dict[str, Network]
    diverged_at: Tensor
    stopped_at: Tensor
    engine: str
    seconds: float
    training_seconds: float
    threads: int
    stack: list[int]
    why: str = ""

    def about(self, experiment: TeacherStudent) -> dict[str, Any]:
        """What the log says of it."""
        ends = {"diverged": self.diverged_at.tolist(), "stopped": self.stopped_at.tolist()}
        members = {
            name: {str(seed): step for seed, step in zip(experiment.seeds, steps, strict=True) if step >= 0}
            for name, steps in ends.items()
        }
        return {
            "engine": self.engine,
            "why": self.why,
            "threads": self.threads,
            "stack": self.stack,
            "seeds": list(experiment.seeds),
            **members,
            "seconds": round(self.seconds, 3),
            "training_seconds": round(self.training_seconds, 3),
        }


def to_files(experiment: TeacherStudent, trained: Trained) -> dict[str, bytes]:
    """The contents of the files of trained students, by name."""
    teacher = experiment.teacher.widths()
    tables = to_tables(trained.report, experiment.seeds, teacher, experiment.student.widths(teacher))
    files = {f"{axis}.parquet": parquet_bytes(table) for axis, table in tables.items()}
    return files | {f"{name}.safetensors": to_bytes(network) for name, network in trained.kept.items()}


def joined(experiment: TeacherStudent, parts: Sequence[TrainedStudents]) -> TrainedStudents:
    """The result of an experiment from the results of its parts, in the order of its seeds."""
    return TrainedStudents(experiment, Report.join([part.report for part in parts]), parts[0].folder, parts)


def load_students(folder: Path) -> TrainedStudents:
    """The trained students in a folder of results; results of another kind of experiment are an error."""
    result = load_result(folder)
    if not isinstance(result, TrainedStudents):
        kind = result.experiment.kind
        raise TutelageError(
            f"{folder} has results of the kind '{kind}': choose results of trained students ('students')"
        )
    return result


def read_trained(experiment: TeacherStudent, folder: Path) -> TrainedStudents:
    """The stored results of an experiment."""
    teacher, tables = experiment.teacher.widths(), {}
    for axis in INDEX:
        if (file := folder / f"{axis}.parquet").is_file():
            with readable(folder, file.name, "is not a Parquet table"):
                tables[axis] = pq.read_table(file)
    with readable(folder, MANIFEST, "belongs to tables of another shape"):
        return TrainedStudents(experiment, to_report(tables, teacher, experiment.student.widths(teacher)), folder)
