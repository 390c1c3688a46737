"""What a measure looks at: teacher and students at one moment, and what both do on the inputs."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.networks import Activity, BlackBox, Network, forward
from tutelage.printing import printed
from tutelage.threads import loop_threads
from tutelage.training.inputs import Distribution, Inputs

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
    train_labels, evaluate_labels
        Labels of a data set [S, N, C], instead of a teacher's outputs; None where there is a teacher.
    distribution
        Where the points come from; None where that is not known.
    """

    teacher: Network | BlackBox
    students: Network
    train: Tensor
    evaluate: Tensor
    train_labels: Tensor | None = None
    evaluate_labels: Tensor | None = None
    distribution: Distribution | None = None
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
        return replace(self, students=students, _learnt={})

    @property
    def hidden_layers(self) -> range:
        return range(1, self.students.depth)

    def need_like_layers(self, what: str) -> None:
        """Raise an error where teacher and students differ in depth, for what compares like layers alone."""
        if self.teacher.depth != self.students.depth:
            raise TutelageError(
                f"{what} compares like layers, and the teacher has {self.teacher.depth} layers and the students "
                f"{self.students.depth}: give both the same depth"
            )

    @property
    def teacher_network(self) -> Network:
        """The teacher, for measures of its units; an error where it is known by its outputs alone."""
        if not isinstance(self.teacher, Network):
            raise TutelageError("this teacher is a function or a data set and has no units to compare with")
        return self.teacher

    @property
    def teacher_activity(self) -> Activity:
        """The teacher on the evaluation points."""
        return self.once_for_all("evaluation", lambda: _taught(self.teacher, self.evaluate, self.evaluate_labels))

    @property
    def activity(self) -> Activity:
        """The students on the evaluation points."""
        return self.once("evaluation", lambda: forward(self.students, self.evaluate))

    @property
    def teacher_training_activity(self) -> Activity:
        return self.once_for_all("training", lambda: _taught(self.teacher, self.train, self.train_labels))

    @property
    def training_activity(self) -> Activity:
        return self.once("training", lambda: forward(self.students, self.train))


def _taught(teacher: Network | BlackBox, points: Tensor, labels: Tensor | None) -> Activity:
    """The teacher on points, or the labels in its place."""
    return forward(teacher, points) if labels is None else Activity((points, labels), "linear", 0.0)


def slices(teacher: Network | BlackBox, students: Network, inputs: Inputs) -> Iterator[Snapshot]:
    """Snapshots of as many members at a time as fit into cache-friendly memory; results do not depend on the cut."""
    width, kind = max(teacher.widths[1:] + students.widths[1:]), students.device.type
    fused = kind == "cpu" and students.depth == 2
    elements = _ELEMENTS[kind] * (_FUSED * loop_threads() if fused else 1)
    size = max(1, elements // (width * inputs.evaluate.shape[1]))
    for begin in range(0, students.members, size):
        part = slice(begin, begin + size)
        train, test = (None if a is None else a[part] for a in (inputs.train_labels, inputs.evaluate_labels))
        points = inputs.train[part], inputs.evaluate[part]
        yield Snapshot(teacher[part], students[part], *points, train, test, inputs.distribution)
