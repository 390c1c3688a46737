"""The stacked engine on a GPU, its steps recorded once as a CUDA graph and replayed: any depth, float32 or float64.

A step is a dozen small kernels; launched one by one, the launches cost more than the work of a small ensemble.
"""

import threading
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from tutelage.networks import Network
from tutelage.training.engine import engine
from tutelage.training.optimisers import TrainingState
from tutelage.training.stacked import Stacked, step
from tutelage.training.task import Task

_SPAN = 256  # steps whose rows are drawn at a time
_STEPS = 32  # steps of the long graph
_one_at_a_time = threading.Lock()  # a recording waits for the whole device first, which no other may be recording on


@dataclass(frozen=True)
class _Recording:
    """Steps recorded on arrays of their own: fill the arrays, replay, read the students.

    students: trained in place; points and labels: rows of the engine's flat arrays, int64 [T, S B], and rates
    [T, S, 1, 1] of the steps to come, of which the graph ``one`` takes the first and the graph ``many`` all T.
    """

    students: Network
    points: Tensor
    labels: Tensor
    rates: Tensor
    one: torch.cuda.CUDAGraph
    many: torch.cuda.CUDAGraph

    def run(self, points: Tensor, labels: Tensor, rates: Tensor) -> None:
        """Advance the students through all steps of the given tables, by long graphs and then single steps."""
        length, total = len(self.rates), len(rates)
        done = 0
        while done < total:
            count = length if total - done >= length else 1
            for ours, given in ((self.points, points), (self.labels, labels), (self.rates, rates)):
                ours[:count].copy_(given[done : done + count])
            (self.many if count == length else self.one).replay()
            done += count


@engine
class StackedGraph(Stacked):
    """The stacked engine's steps, replayed from a CUDA graph."""

    name: ClassVar[str] = "stacked-graph"
    supports: ClassVar[str] = "any depth, batch and sampling, float32 and float64, on a GPU"
    speed: ClassVar[int] = 5

    @classmethod
    def missing(cls) -> str | None:
        return None if torch.cuda.is_available() else "there is no CUDA device"

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self._recordings: dict[tuple, _Recording] = {}
        self._free = torch.cuda.Event()  # the recorded arrays are free for the next call, on whichever stream
        with torch.cuda.device(task.points.device):
            self._free.record()

    @classmethod
    def unsupported(cls, students: Network, task: Task) -> str | None:
        if not (students.weights[0].is_cuda and task.points.is_cuda and task.labels.is_cuda):
            return "the students and their data are not on a GPU"
        if not task.training.optimiser.plain:
            return f"it replays plain SGD, not {task.training.unusual}"
        return None

    def learn(self, learner: TrainingState, start: int, stop: int) -> TrainingState:
        return TrainingState(self.advance(learner.students, start, stop))

    def advance(self, students: Network, start: int, stop: int) -> Network:
        with torch.cuda.device(students.device):
            self._free.wait()
            recording = self._recording(students)
            _assign(recording.students, students)
            for begin in range(start, stop, _SPAN):
                recording.run(*self._tables(begin, min(begin + _SPAN, stop), students.dtype))
            trained = recording.students.map(torch.clone)
            self._free.record()
        return trained

    def _tables(self, start: int, stop: int, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
        """Rows of points and of labels [T, S B] and rates [T, S, 1, 1] of steps start .. stop-1.

        With full batches no rows are read, and the tables are one column per member.
        """
        rows = self.task.rows(start, stop)
        if self.task.training.batch == "all":
            rows = rows[..., :1]
        points, labels = (
            (rows + first.unsqueeze(-1)).transpose(0, 1).flatten(1) for first in (self.first_point, self.first_label)
        )
        rates = torch.as_tensor(self.task.rates(start, stop).T / self.task.batch)
        return points, labels, rates.to(self.points.device, dtype)[:, :, None, None]

    def _recording(self, students: Network) -> _Recording:
        """The recording for students of this architecture, made at the first call."""
        kind = (students.widths, students.activation, students.slope, students.biases is None, students.dtype)
        if kind not in self._recordings:
            with _one_at_a_time:
                self._recordings[kind] = self._record(students)
        return self._recordings[kind]

    def _record(self, students: Network) -> _Recording:
        own = students.map(lambda array: array.clone(memory_format=torch.contiguous_format))
        points, labels, rates = self._tables(0, _STEPS, students.dtype)
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):  # libraries set themselves up here, which a graph cannot hold
            self._steps(own, points, labels, rates, count=2)
        torch.cuda.current_stream().wait_stream(aside)
        graphs = []
        for count in (1, _STEPS):
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, capture_error_mode="thread_local"):
                self._steps(own, points, labels, rates, count)
            graphs.append(graph)
        return _Recording(own, points, labels, rates, *graphs)

    def _steps(self, students: Network, points: Tensor, labels: Tensor, rates: Tensor, count: int) -> None:
        """Steps 0 .. count-1 of the tables, in place."""
        shape = (self.task.members, self.task.batch, -1)
        x, y = self.task.points, self.task.labels
        for t in range(count):
            if self.task.training.batch != "all":
                x = self.points.index_select(0, points[t]).view(shape)
                y = self.labels.index_select(0, labels[t]).view(shape)
            step(students, x, y, rates[t], self.task.training.loss)


def _assign(target: Network, source: Network) -> None:
    """Copy every array of one network into another of the same shapes."""
    for ours, theirs in zip(target.parameters, source.parameters, strict=True):
        ours.copy_(theirs)
