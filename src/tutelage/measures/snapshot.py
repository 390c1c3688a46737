"""What a measure looks at: teacher and students at one moment, and what both do on the inputs."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from torch import Tensor

from tutelage.errors import Refusal
from tutelage.inputs import Inputs
from tutelage.networks import Activity, Network, forward

T = TypeVar("T")

_ELEMENTS = 1 << 24  # activations held at a time; a larger pack is measured in slices of its members


@dataclass(frozen=True)
class Snapshot:
    """Students at one recorded step beside their teacher, with activities computed once and on demand."""

    teacher: Network
    students: Network
    train: Tensor
    evaluate: Tensor
    _kept: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def cached(self, name: str, compute: Callable[[], T]) -> T:
        """What ``compute`` gives, computed once for this snapshot and shared by the measures that need it."""
        if name not in self._kept:
            self._kept[name] = compute()
        return self._kept[name]

    @property
    def hidden_layers(self) -> range:
        return range(1, self.students.depth)

    @cached_property
    def teacher_activity(self) -> Activity:
        """The teacher on the evaluation points."""
        return forward(self.teacher, self.evaluate)

    @cached_property
    def activity(self) -> Activity:
        """The students on the evaluation points."""
        return forward(self.students, self.evaluate)

    @cached_property
    def teacher_training_activity(self) -> Activity:
        return forward(self.teacher, self.train)

    @cached_property
    def training_activity(self) -> Activity:
        return forward(self.students, self.train)


def slices(teacher: Network, students: Network, inputs: Inputs) -> Iterator[Snapshot]:
    """Snapshots of as many members at a time as fit into cache-friendly memory; results do not depend on the cut."""
    if teacher.depth != students.depth:
        raise Refusal(
            f"the teacher has {teacher.depth} layers and the students {students.depth}: measures compare like layers, "
            "so give both the same depth"
        )
    width = sum(teacher.widths[1:]) + sum(students.widths[1:])
    size = max(1, _ELEMENTS // (width * max(inputs.train.shape[1], inputs.evaluate.shape[1])))
    for begin in range(0, students.members, size):
        part = slice(begin, begin + size)
        yield Snapshot(teacher[part], students[part], inputs.train[part], inputs.evaluate[part])
