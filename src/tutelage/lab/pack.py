"""Results of trained students: a report of their measures, and their weights."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from torch import Tensor

from tutelage import networks
from tutelage.errors import Refusal
from tutelage.lab.manifest import MANIFEST, Damage
from tutelage.lab.results import Result
from tutelage.lab.spec import Spec
from tutelage.lab.store import load_result
from tutelage.lab.tables import INDEX, parquet_bytes, to_report, to_tables
from tutelage.measures import Report
from tutelage.networks import Network


class Pack(Result[Spec]):
    """Trained students: the report of their measures; weights are read on demand."""

    def __init__(self, experiment: Spec, report: Report, folder: Path) -> None:
        super().__init__(experiment, folder)
        self.report = report

    @property
    def spec(self) -> Spec:
        return self.experiment

    def weights(self, step: int | None = None) -> Network:
        """The students at a recorded step whose weights were kept (default: the last one)."""
        step = self.spec.steps if step is None else step
        return self._network(f"students-{step}.safetensors")

    def teacher(self) -> Network:
        """The teachers."""
        return self._network("teacher.safetensors")

    def _network(self, name: str) -> Network:
        if (self.folder / name).is_symlink():
            raise Damage(self.folder, name, "is a link, not a file")
        return networks.load(self.folder / name)

    def widths(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Widths of the teacher and of the students."""
        teacher = self.spec.teacher.widths()
        return teacher, self.spec.student.widths(teacher)


@dataclass(frozen=True, eq=False)
class Trained:
    """Trained students before they are stored: report, networks by file name, steps of divergence, how it was done.

    threads: of one operation on a CPU; stack: members that were trained side by side, per piece of the work.
    """

    report: Report
    kept: dict[str, Network]
    diverged_at: Tensor
    engine: str
    seconds: float
    training_seconds: float
    threads: int
    stack: list[int]

    def about(self, spec: Spec) -> dict[str, Any]:
        """What the log says of it."""
        steps = self.diverged_at.tolist()
        return {
            "engine": self.engine,
            "threads": self.threads,
            "stack": self.stack,
            "seeds": list(spec.seeds),
            "diverged": {str(seed): step for seed, step in zip(spec.seeds, steps, strict=True) if step >= 0},
            "seconds": round(self.seconds, 3),
            "training_seconds": round(self.training_seconds, 3),
        }


def to_files(spec: Spec, trained: Trained) -> dict[str, bytes]:
    """The contents of the files of trained students, by name."""
    teacher = spec.teacher.widths()
    tables = to_tables(trained.report, spec.seeds, teacher, spec.student.widths(teacher))
    files = {f"{axis}.parquet": parquet_bytes(table) for axis, table in tables.items()}
    return files | {f"{name}.safetensors": networks.to_bytes(network) for name, network in trained.kept.items()}


def load_students(folder: Path) -> Pack:
    """The trained students in a folder of results; results of another kind of experiment are an error."""
    result = load_result(folder)
    if not isinstance(result, Pack):
        kind = result.experiment.kind
        raise Refusal(f"{folder} has results of the kind '{kind}': choose results of trained students ('students')")
    return result


def read_pack(spec: Spec, folder: Path) -> Pack:
    """The stored results of a spec."""
    teacher, tables = spec.teacher.widths(), {}
    for axis in INDEX:
        if (file := folder / f"{axis}.parquet").is_file():
            try:
                tables[axis] = pq.read_table(file)
            except (pa.ArrowException, OSError):
                raise Damage(folder, file.name, "is not a Parquet table") from None
    try:
        return Pack(spec, to_report(tables, teacher, spec.student.widths(teacher)), folder)
    except (KeyError, ValueError):
        raise Damage(folder, MANIFEST, "belongs to tables of another shape") from None
