"""The stacked engine on a GPU, its steps recorded once as a CUDA graph and replayed: any depth, float32 or float64.

A step is a dozen small kernels; launched one by one, the launches cost more than the work of a small ensemble.
"""

import threading
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from tutelage.networks import Network
from tutelage.networks.activations import registered_by_user
from tutelage.training.engine import engine
from tutelage.training.optimisers import TrainingState
from tutelage.training.rules import Ruled
from tutelage.training.stacked import Rule, Stacked
from tutelage.training.task import Task

_SPAN = 256  # steps whose rows are drawn at a time
_STEPS = 32  # steps of the long graph
_one_at_a_time = threading.Lock()  # a recording waits for the whole device first, which no other may be recording on

Tables = tuple[Tensor, Tensor, Tensor, Tensor]
"""Of the steps to come: what finds points and labels (rows of the engine's flat arrays, int64 [T, S B], or the samples
themselves, [T, S, B, d] and [T, S, B, C]), rates [T, S, 1, 1], and numbers of the steps, float64 [T]."""


@dataclass(frozen=True)
class _Recording:
    """Steps recorded on arrays of their own: fill the arrays, replay, read the students.

    learner: trained in place; tables: of T steps, of which the graph ``one`` takes the first and ``many`` all.
    """

    learner: TrainingState
    tables: Tables
    one: torch.cuda.CUDAGraph
    many: torch.cuda.CUDAGraph

    def run(self, tables: Tables) -> None:
        """Advance the students through all steps of the given tables, by long graphs and then single steps."""
        length, total = len(self.tables[-1]), len(tables[-1])
        done = 0
        while done < total:
            count = length if total - done >= length else 1
            for ours, given in zip(self.tables, tables, strict=True):
                ours[:count].copy_(given[done : done + count])
            (self.many if count == length else self.one).replay()
            done += count


@engine
class StackedGraph(Stacked):
    """The stacked engine's steps, replayed from a CUDA graph."""

    name: ClassVar[str] = "stacked-graph"
    supports: ClassVar[str] = "any depth, loss, optimiser, batch and sampling, float32 and float64, on a GPU"
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
        if task.training.own_function:
            return f"it records no function of a user, as {task.training.own_function} is"
        if isinstance(task.training.optimiser, Ruled):
            return f"it records no code of a user, as the rule '{task.training.optimiser.name}' is"
        if registered_by_user(students.activation):
            return f"it records no automatic differentiation, which the activation '{students.activation}' needs"
        return None

    def learn(self, learner: TrainingState, start: int, stop: int) -> TrainingState:
        span = min(_SPAN, self.task.span) if self.task.generated else _SPAN
        with torch.cuda.device(learner.students.device):
            self._free.wait()
            recording = self._recording(learner)
            _assign(recording.learner, learner)
            for begin in range(start, stop, span):
                recording.run(self._tables(begin, min(begin + span, stop), learner.students.dtype))
            trained = recording.learner.clone()
            self._free.record()
        return trained

    def _tables(self, start: int, stop: int, dtype: torch.dtype) -> Tables:
        """Tables of steps start .. stop-1; with full batches no rows are read, and there is one column per member."""
        device = self.points.device
        divisor = self.task.batch if self.task.training.plain else 1
        rates = torch.as_tensor(self.task.rates(start, stop).T / divisor).to(device, dtype)[:, :, None, None]
        numbers = torch.arange(start, stop, dtype=torch.float64, device=device)
        if self.task.generated:
            x, y = self.task.generate(start, stop)
            return x.transpose(0, 1), y.transpose(0, 1), rates, numbers
        rows = self.task.rows(start, stop)
        if self.task.training.batch == "all":
            rows = rows[..., :1]
        points, labels = (
            (rows + first.unsqueeze(-1)).transpose(0, 1).flatten(1) for first in (self.first_point, self.first_label)
        )
        return points, labels, rates, numbers

    def _recording(self, learner: TrainingState) -> _Recording:
        """The recording for students of this architecture, made at the first call."""
        students = learner.students
        kind = (students.widths, students.activation, students.slope, students.biases is None, students.dtype)
        if kind not in self._recordings:
            with _one_at_a_time:
                self._recordings[kind] = self._record(learner)
        return self._recordings[kind]

    def _record(self, learner: TrainingState) -> _Recording:
        kept = TrainingState(_contiguous(learner.students), tuple(_contiguous(slot) for slot in learner.memory))
        points, labels, rates, numbers = self._tables(0, _STEPS, learner.students.dtype)
        tables = points.contiguous(), labels.contiguous(), rates.contiguous(), numbers
        rule = Rule(self.task.training, learner.students.widths)
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):  # libraries set themselves up here, which a graph cannot hold
            self._steps(rule, kept, tables, count=2)
        torch.cuda.current_stream().wait_stream(aside)
        graphs = []
        for count in (1, _STEPS):
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, capture_error_mode="thread_local"):
                self._steps(rule, kept, tables, count)
            graphs.append(graph)
        return _Recording(kept, tables, *graphs)

    def _steps(self, rule: Rule, learner: TrainingState, tables: Tables, count: int) -> None:
        """Steps 0 .. count-1 of the tables, in place."""
        points, labels, rates, numbers = tables
        shape = (self.task.members, self.task.batch, -1)
        x, y = self.task.points, self.task.labels
        for t in range(count):
            if self.task.generated:
                x, y = points[t], labels[t]
            elif self.task.training.batch != "all":
                x = self.points.index_select(0, points[t]).view(shape)
                y = self.labels.index_select(0, labels[t]).view(shape)
            rule.step(learner, x, y, rates[t], numbers[t])


def _contiguous(network: Network) -> Network:
    return network.map(lambda array: array.clone(memory_format=torch.contiguous_format))


def _assign(target: TrainingState, source: TrainingState) -> None:
    """Copy every array of one learner into another of the same shapes."""
    for old, new in zip((target.students, *target.memory), (source.students, *source.memory), strict=True):
        for mine, given in zip(old.parameters, new.parameters, strict=True):
            mine.copy_(given)
