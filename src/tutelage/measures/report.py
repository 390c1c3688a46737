"""Measures over a whole training: arrays with the recorded step first and the member second."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.measures.registry import Measure, find
from tutelage.measures.snapshot import Snapshot, slices
from tutelage.networks import BlackBox, Network
from tutelage.printing import printed
from tutelage.training import Trajectory
from tutelage.training.inputs import Inputs

STANDARD = (
    "evaluate_loss",
    "rho_mean",
    "strength",
    "best_correlation",
    "specialisation",
    "best_teacher",
    "fan_out",
    "unit_class",
)
"""What is measured by default."""


@printed
@dataclass(frozen=True)
class Report:
    """Values of measures at the recorded steps: ``report["rho_mean"]`` has shape [T, S, ...].

    A member that diverged has NaN (integers: -1) from the step at which it did.

    Attributes
    ----------
    steps
        T recorded steps.
    values
        Arrays [T, S, ...] by name of the measure.
    """

    steps: tuple[int, ...]
    values: dict[str, np.ndarray]

    def _title(self) -> str:
        members = next(iter(self.values.values())).shape[1] if self.values else 0
        return f"{len(self.values)} measures of {members} members at {len(self.steps)} steps"

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self.values:
            raise TutelageError(f"'{name}' was not measured here: there are {', '.join(self.values)}")
        return self.values[name]

    def __iter__(self) -> Iterator[str]:
        """The names of the measures."""
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def __contains__(self, name: object) -> bool:
        return name in self.values

    @classmethod
    def join(cls, reports: Sequence["Report"]) -> "Report":
        """One report of the members of several, in their order; all of the same steps and measures."""
        values = {name: np.concatenate([report[name] for report in reports], axis=1) for name in reports[0].values}
        return cls(reports[0].steps, values)


def applicable(names: Sequence[str], teacher: Network | BlackBox | tuple[int, ...]) -> tuple[str, ...]:
    """The measures to take of students of this teacher, given by itself or by its widths.

    A teacher without hidden units has nothing to compare units with: such measures are left out of the standard ones,
    and an error when they are named.
    """
    widths = teacher if isinstance(teacher, tuple) else teacher.widths
    if len(widths) > 2:
        return tuple(names)
    needing = [name for name in names if find(name).of_teacher_units]
    if needing and tuple(names) != STANDARD:
        raise TutelageError(
            f"the measure '{needing[0]}' compares with units of the teacher, and this teacher has none: leave it out"
        )
    return tuple(name for name in names if name not in needing)


_HELD = 1 << 28  # bytes of values that may wait on a GPU


class Recorder:
    """Measures students as they pass by; give its ``record`` to ``train(on_record=...)``, then ask for the report."""

    def __init__(self, teacher: Network | BlackBox, inputs: Inputs, names: Sequence[str] = STANDARD) -> None:
        self.teacher, self.inputs = teacher, inputs
        self.measures = [find(name) for name in names]
        self.steps: list[int] = []
        self.rows: dict[str, list[np.ndarray]] = {m.name: [] for m in self.measures}
        self._snapshots: list[Snapshot] = []
        self._waiting: list[tuple[int, np.ndarray, list[Tensor]]] = []

    def record(self, step: int, students: Network, diverged_at: Tensor) -> None:
        lost = ((diverged_at >= 0) & (diverged_at <= step)).numpy()
        self._snapshots = self._snapshots or list(slices(self.teacher, students, self.inputs))
        values = _measured(self._snapshots, students, self.measures)
        self._waiting.append((step, lost, values))
        self.steps.append(step)
        if not students.weights[0].is_cuda or len(self._waiting) * sum(value.nbytes for value in values) > _HELD:
            self._collect()

    def _collect(self) -> None:
        """Values of the steps since the last time, one copy per measure: each makes the host wait for the GPU."""
        for place, measure in enumerate(self.measures):
            stacked = torch.stack([values[place] for _, _, values in self._waiting]).cpu().numpy()
            for (step, lost, _), value in zip(self._waiting, stacked, strict=True):
                self.rows[measure.name].append(_checked(measure, value, lost, step))
        self._waiting.clear()

    def report(self) -> Report:
        if self._waiting:
            self._collect()
        return Report(tuple(self.steps), {name: np.stack(rows) for name, rows in self.rows.items()})


def observe(snapshots: list[Snapshot], students: Network, measures: Sequence[Measure]) -> list[np.ndarray]:
    """All measures of these students, [S, ...] each, worked through in the slices that the snapshots were cut into.

    The snapshots are renewed in place: they keep what the teacher does and forget what the students do.
    """
    return [value.cpu().numpy() for value in _measured(snapshots, students, measures)]


def _measured(snapshots: list[Snapshot], students: Network, measures: Sequence[Measure]) -> list[Tensor]:
    """The same, where the students are."""
    parts, begin = [], 0
    with torch.no_grad():
        for i, before in enumerate(snapshots):
            end = begin + before.students.members
            now = before.after(students[begin:end])
            parts.append([m(now) for m in measures])
            snapshots[i] = now.after(now.students)
            begin = end
    return [torch.cat(values) for values in zip(*parts, strict=True)]


def measure(
    trajectory: Trajectory, names: str | Sequence[str] = STANDARD, *, teacher: Network | BlackBox | None = None
) -> Report:
    """Evaluate measures at every recorded step of a training whose weights were kept.

    Parameters
    ----------
    trajectory
        Result of :func:`tutelage.train`.
    names
        Measures, keys of ``tutelage.measures.MEASURES``, or the name of one. Of the standard ones those that compare
        with teacher units are left out where the teacher is a function or a data set.
    teacher
        The teacher to compare with, one network per member or one for all; default: that of the training. After a
        training with a ``later`` teacher this shows what was learned of it, and what was forgotten of the first.

    Returns
    -------
    Report
        One array [T, S, ...] per measure.

    Examples
    --------
    >>> from tutelage.measures import MEASURES
    >>> "best_correlation" in MEASURES
    True
    """
    chosen = (names,) if isinstance(names, str) else names
    teacher = trajectory.teacher if teacher is None else teacher.expand(trajectory.students.members)
    recorder = Recorder(teacher, trajectory.inputs, applicable(chosen, teacher))
    for step, students in sorted(trajectory.recorded.items()):
        recorder.record(step, students, trajectory.diverged_at)
    return recorder.report()


def _checked(measure: Measure, value: np.ndarray, lost: np.ndarray, step: int) -> np.ndarray:
    """Blank the diverged members; a value that is not finite for any other is an error, not a result."""
    if value.dtype == bool:
        value = value.astype(np.int8)
    value[lost] = np.nan if value.dtype.kind == "f" else -1
    bad = ~np.isfinite(value) & ~lost.reshape(-1, *[1] * (value.ndim - 1))
    if bad.any():
        raise TutelageError(
            f"the measure '{measure.name}' is not finite at step {step} for member {np.argwhere(bad)[0][0]}: make the "
            "inputs and the weights at the start smaller, or use precision float64"
        )
    return value
