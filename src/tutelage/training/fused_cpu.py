"""The engine for two-layer networks on the CPU: one student per core, its weights in cache for many steps."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.networks import Network
from tutelage.networks.activations import find, gate
from tutelage.threads import spread
from tutelage.training._update_rule import update_rule
from tutelage.training.engine import Engine, engine
from tutelage.training.optimisers import Adam, Sgd, TrainingState
from tutelage.training.task import Task

if TYPE_CHECKING:
    from tutelage.training._fused_kernel import Data, StepShape

_SMOOTH = ("erf", "tanh")  # activations of the general loop besides the piecewise linear ones
_DTYPES = (torch.float32, torch.float64)
_SPAN_NUMBERS = 1 << 21  # learning rates worked out at a time, over all members
_SPAN_STEPS = 1 << 13  # and steps at most, so that an interrupt is not kept waiting


@engine
class FusedCpu(Engine):
    """Training of two-layer networks in a compiled loop; students are spread over torch's number of threads.

    Plain SGD on a fixed set has a loop of its own; momentum, decay, Adam, erf, tanh, frozen layers and samples drawn
    at every step go through :mod:`._fused_rules`.
    """

    name: ClassVar[str] = "fused-cpu"
    supports: ClassVar[str] = (
        "two layers, squared error, SGD and Adam, batches of any size, float32 and float64, on a CPU"
    )
    speed: ClassVar[int] = 10

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        # Imported here since loading the compiler takes a third of a second that other engines need not spend.
        from tutelage.training import _fused_kernel

        self._kernel = _fused_kernel
        self._points, self._labels = _flat(task.points), _flat(task.labels)
        self._keys = task.key.numpy().view(np.uint64)

    @classmethod
    def unsupported(cls, students: Network, task: Task) -> str | None:
        training = task.training
        if training.own_function:
            return f"its loops are compiled, and {training.own_function} is a function"
        if training.loss != "mse":
            return f"it minimises the squared error, not {training.loss}"
        if not isinstance(training.optimiser, Sgd | Adam):
            return f"it does SGD and Adam, not {training.optimiser.kind}"
        if students.depth != 2:
            return f"it trains networks of two layers, not {students.depth}"
        if students.device.type != "cpu" or task.points.device.type != "cpu" or task.labels.device.type != "cpu":
            return "it works on the CPU alone"
        if students.dtype not in _DTYPES:
            return f"it computes in float32 and float64, not {str(students.dtype).removeprefix('torch.')}"
        if {a.dtype for a in (*students.parameters, task.points, task.labels)} != {students.dtype}:
            return "weights, points and labels must have one precision"
        if find(students.activation).gate is None and students.activation not in _SMOOTH:
            return f"it trains piecewise linear units, erf and tanh, not {students.activation}"
        if task.training.batch == "all":
            return "it trains on batches, not on all samples at once"
        return None

    def learn(self, learner: TrainingState, start: int, stop: int) -> TrainingState:
        self._check(learner.students)
        if self._plain(learner.students):
            return TrainingState(self._descend(learner.students, start, stop))
        return by_rule(self, learner, start, stop)

    def _plain(self, students: Network) -> bool:
        """Whether the loop of plain SGD does: piecewise linear units and one learning rate for all layers."""
        factors = self.task.training.layer_factors(students.widths)
        one_rate = all(factor == 1 for layer in factors for factor in layer)
        return self.task.training.optimiser.plain and one_rate and find(students.activation).gate is not None

    def _descend(self, students: Network, start: int, stop: int) -> Network:
        """Plain SGD."""
        shape = self._shape(students)
        incoming, outgoing = _result(students, shape)
        gates = gate(students.activation, torch.tensor([1.0, 0.0, -1.0], dtype=students.dtype), students.slope).numpy()
        train = self._kernel.train
        for begin, end in self._spans(start, stop):
            rates = (self.task.rates(begin, end) / self.task.batch).astype(incoming.dtype, order="C")
            data, rows = self._samples(begin, end)
            spread(train, self.task.members, incoming, outgoing, data, rates, begin, self._keys, rows, gates, shape)
        return _unpack(students, shape, incoming, outgoing)

    def _check(self, students: Network) -> None:
        """Reject students that do not fit the task: compiled code would read beyond its arrays.

        Shared points may come with any first axis, since only one set of them is read.
        """
        points, labels, members = self.task.points, self.task.labels, self.task.members
        wanted_points = (members if points.stride(0) else points.shape[0], points.shape[1], students.inputs)
        wanted_labels = (members if labels.stride(0) else labels.shape[0], points.shape[1], students.outputs)
        why_not = self.unsupported(students, self.task)
        if (students.members, points.shape, labels.shape) != (members, wanted_points, wanted_labels):
            why_not = why_not or (
                f"{students.members} students of widths {students.widths} do not fit {members} members with points "
                f"{list(points.shape)} and labels {list(labels.shape)}"
            )
        if not self.task.samples:
            why_not = why_not or "there are no samples"
        if why_not:
            raise TutelageError(f"the engine '{self.name}' cannot do this: {why_not}")

    def _shape(self, students: Network) -> "StepShape":
        """The kernel's sizes, with rows padded to whole vector blocks."""
        features, hidden, outputs = students.widths
        bias = int(students.biases is not None)
        block = self._kernel._vector_tiles.block(students.weights[0].element_size())
        padded = [-(-width // block) * block for width in (features + bias, outputs, self.task.batch)]
        return self._kernel.StepShape(features, bias, hidden, outputs, self.task.samples, self.task.batch, *padded)

    def _spans(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Cut start .. stop into spans whose rates and rows take little memory.

        Without replacement a span ends with its epoch, so that each permutation is drawn once.
        """
        longest = min(_SPAN_STEPS, max(1, _SPAN_NUMBERS // self.task.members))
        if self.task.generated:
            longest = min(longest, self.task.span)
        epochs = self.task.training.sampling == "epochs" and not self.task.generated
        every = self.task.samples // self.task.batch if epochs else longest
        while start < stop:
            end = min(stop, (start // every + 1) * every if epochs else start + longest)
            yield start, end
            start = end

    def _samples(self, start: int, stop: int) -> tuple["Data", np.ndarray]:
        """Points and labels of a span, and their rows int64 [S, T * B]; [S, 0] when the kernel finds them itself."""
        task, points, labels = self.task, self._points, self._labels
        if task.fresh_points:
            points, labels = (_flat(array.flatten(1, 2)) for array in task.generate(start, stop))
        elif task.generated:
            labels = _flat(task.fresh_labels(start, stop).flatten(1, 2))
        data = self._kernel.Data(*points, *labels, int(task.fresh_points), int(task.generated))
        if task.training.sampling == "replacement" or task.fresh_points:
            return data, np.empty((task.members, 0), np.int64)
        return data, task.rows(start, stop).contiguous().view(task.members, -1).numpy()


def by_rule(engine: FusedCpu, learner: TrainingState, start: int, stop: int) -> TrainingState:
    """Train with any of the optimisers, activations and ways of sampling that the engine supports."""
    from tutelage.training import _fused_rules as kernel  # loading the compiler takes a third of a second

    students, task = learner.students, engine.task
    shape, optimiser = engine._shape(students), task.training.optimiser
    incoming, outgoing = _result(students, shape)
    slots = [np.concatenate(_result(slot, shape), axis=1) for slot in learner.memory]
    empty = np.zeros((students.members, incoming.shape[1] + outgoing.shape[1]), incoming.dtype)
    m, v = ([*slots, empty, empty.copy() if len(slots) == 0 else empty])[:2]
    rule = update_rule(optimiser)
    pairs = task.training.layer_factors(students.widths)
    factors = kernel.Factors(*np.array(pairs, dtype=incoming.dtype).T.copy())
    smooth = find(students.activation).gate is None
    kind = {"erf": kernel.ERF, "tanh": kernel.TANH}.get(students.activation, kernel.GATED)
    ends = torch.tensor([1.0, 0.0, -1.0], dtype=students.dtype)
    gates = ends.numpy() if smooth else gate(students.activation, ends, students.slope).numpy()
    for begin, end in engine._spans(start, stop):
        rates = task.rates(begin, end).astype(incoming.dtype, order="C")
        data, rows = engine._samples(begin, end)
        spread(
            kernel.train_by_rule, task.members, incoming, outgoing, m, v, data, rates, begin, engine._keys, rows, kind,
            gates, shape, factors, rule,
        )  # fmt: skip
    cut = incoming.shape[1]
    memory = tuple(_unpack(students, shape, a[:, :cut], a[:, cut:]) for a in (m, v)[: len(learner.memory)])
    return TrainingState(_unpack(students, shape, incoming, outgoing), memory)


def _flat(array: Tensor) -> tuple[np.ndarray, int]:
    """An array [S, N, columns] as a flat one, and how many elements members lie apart: 0 when they share their rows.

    Nothing is copied unless the rows are not contiguous: the data of a large ensemble fill most of the memory.
    """
    shared = array.stride(0) == 0
    rows = array[0] if shared else array
    return rows.detach().contiguous().view(-1).numpy(), 0 if shared else array.shape[1] * array.shape[2]


def _result(students: Network, shape: "StepShape") -> tuple[np.ndarray, np.ndarray]:
    """Copies in the kernel's layout: incoming [S, n * input_row], outgoing [S, (n + bias) * output_row].

    Copying is numpy's work: torch would spread it over threads that then wait, busily, on the cores the kernel wants.
    Row j of ``incoming`` holds what unit j receives (W_1[:, j] and its bias), row j of ``outgoing`` what it sends
    (W_2[j]); the last row of ``outgoing`` is the bias of the outputs.
    """
    first, second = (w.detach().numpy() for w in students.weights)
    incoming = np.zeros((students.members, shape.hidden, shape.input_row), first.dtype)
    outgoing = np.zeros((students.members, shape.hidden + shape.bias, shape.output_row), first.dtype)
    incoming[:, :, : shape.features] = first.swapaxes(1, 2)
    outgoing[:, : shape.hidden, : shape.outputs] = second
    if students.biases is not None:
        incoming[:, :, shape.features] = students.biases[0].detach().numpy()
        outgoing[:, shape.hidden, : shape.outputs] = students.biases[1].detach().numpy()
    return incoming.reshape(students.members, -1), outgoing.reshape(students.members, -1)


def _unpack(students: Network, shape: "StepShape", incoming: np.ndarray, outgoing: np.ndarray) -> Network:
    """The network whose weights lie in the kernel's layout; its arrays are its own."""
    first = incoming.reshape(students.members, shape.hidden, -1)
    second = outgoing.reshape(students.members, shape.hidden + shape.bias, -1)
    weights = (first[:, :, : shape.features].swapaxes(1, 2), second[:, : shape.hidden, : shape.outputs])
    biases = (first[:, :, shape.features], second[:, shape.hidden, : shape.outputs]) if shape.bias else None
    return replace(students, weights=_tensors(weights), biases=None if biases is None else _tensors(biases))


def _tensors(arrays: tuple[np.ndarray, ...]) -> tuple[Tensor, ...]:
    """Contiguous copies as tensors."""
    return tuple(torch.from_numpy(array.copy(order="C")) for array in arrays)
