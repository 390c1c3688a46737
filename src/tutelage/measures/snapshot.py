"""What a measure looks at: teacher and students at one moment, and what both do on the inputs."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.networks import Activity, Network, forward
from tutelage.printing import printed
from tutelage.training.inputs import Inputs

T = TypeVar("T")

_ELEMENTS = {"cpu": 1 << 20, "cuda": 1 << 28}
"""Activations of a layer looked at at once, on a CPU so many as stay in cache; larger experiments are cut into slices.
"""
_FUSED = 16
"""How many times as many a thread, of two layers on a CPU: most measures form no activations there (:mod:`.moments`)
and keep one member a thread at work."""


@printed
@dataclass(frozen=True, eq=False)
class Snapshot:
    """Students at one recorded step with their teacher; activities are computed once, when first needed.

    Attributes
    ----------
    teacher, students
        Networks with S members each.
    train, evaluate
        Training and evaluation points [S, N, d].
    """

    teacher: Network
    students: Network
    train: Tensor
    evaluate: Tensor
    _taught: dict[str, Any] = field(default_factory=dict, repr=False)
    _learnt: dict[str, Any] = field(default_factory=dict, repr=False)

    def once(self, name: str, compute: Callable[[], T]) -> T:
        """What ``compute`` gives, computed once for this snapshot and shared by the measures that need it."""
        if name not in self._learnt:
            self._learnt[name] = compute()
        return self._learnt[name]

    def once_for_all(self, name: str, compute: Callable[[], T]) -> T:
        """The same for what depends on the teacher and the inputs alone: kept for later snapshots too."""
        if name not in self._taught:
            self._taught[name] = compute()
        return self._taught[name]

    def after(self, students: Network) -> "Snapshot":
        """The same members later: what the teacher does has not changed and is not computed again."""
        return Snapshot(self.teacher, students, self.train, self.evaluate, self._taught)

    @property
    def hidden_layers(self) -> range:
        return range(1, self.students.depth)

    @property
    def teacher_activity(self) -> Activity:
        """The teacher on the evaluation points."""
        return self.once_for_all("evaluation", lambda: forward(self.teacher, self.evaluate))

    @property
    def activity(self) -> Activity:
        """The students on the evaluation points."""
        return self.once("evaluation", lambda: forward(self.students, self.evaluate))

    @property
    def teacher_training_activity(self) -> Activity:
        return self.once_for_all("training", lambda: forward(self.teacher, self.train))

    @property
    def training_activity(self) -> Activity:
        return self.once("training", lambda: forward(self.students, self.train))


def slices(teacher: Network, students: Network, inputs: Inputs) -> Iterator[Snapshot]:
    """Snapshots of as many members at a time as fit into cache-friendly memory; results do not depend on the cut."""
    if teacher.depth != students.depth:
        raise TutelageError(
            f"the teacher has {teacher.depth} layers and the students {students.depth}: measures compare like layers, "
            "so give both the same depth"
        )
    width, kind = max(teacher.widths[1:] + students.widths[1:]), students.device.type
    fused = kind == "cpu" and students.depth == 2
    elements = _ELEMENTS[kind] * (_FUSED * torch.get_num_threads() if fused else 1)
    size = max(1, elements // (width * inputs.evaluate.shape[1]))
    for begin in range(0, students.members, size):
        part = slice(begin, begin + size)
        yield Snapshot(teacher[part], students[part], inputs.train[part], inputs.evaluate[part])
