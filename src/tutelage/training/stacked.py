"""The engine for anything: batched matrix products over members, at any depth, on any device."""

from typing import ClassVar

import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.networks import Network
from tutelage.networks.activations import gate
from tutelage.training.engine import Engine, engine
from tutelage.training.losses import Loss, descent
from tutelage.training.optimisers import Optimiser, TrainingState
from tutelage.training.task import Task

_SPAN = 256  # steps whose rows are drawn at a time


@engine
class Stacked(Engine):
    """Hand-written gradients and `torch.bmm`; the reference the other engines are held to.

    The same task gives the same bits again on the same machine with the same number of threads. Another number of
    threads, or other members beside a member, may change its last bits: libraries of matrix products multiply one
    matrix by another routine than several, and share out a large product among threads. Computing a single member as
    two would make most of this go away, and take up to four times as long.
    """

    name: ClassVar[str] = "stacked"
    supports: ClassVar[str] = "any depth, loss, optimiser, batch and sampling, float32 and float64, CPU and GPU"
    speed: ClassVar[int] = 0

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        shared = task.points.stride(0) == 0
        self.points = task.points[0] if shared else task.points.reshape(-1, task.points.shape[-1])
        self.labels = task.labels.reshape(-1, task.labels.shape[-1])
        members = torch.arange(task.members, device=task.points.device).unsqueeze(-1)
        self.first_label = members * task.samples
        self.first_point = torch.zeros_like(members) if shared else self.first_label

    @classmethod
    def unsupported(cls, students: Network, task: Task) -> str | None:
        return None

    def advance(self, students: Network, start: int, stop: int) -> Network:
        if not self.task.training.optimiser.plain:
            raise TutelageError(
                f"{self.task.training.unusual} goes on from what it remembers: call learn instead of advance"
            )
        return self.learn(TrainingState(students), start, stop).students

    def learn(self, learner: TrainingState, start: int, stop: int) -> TrainingState:
        learner, loss, optimiser = learner.clone(), self.task.training.loss, self.task.training.optimiser
        for begin in range(start, stop, _SPAN):
            end = min(begin + _SPAN, stop)
            rows = self.task.rows(begin, end)
            rates = torch.as_tensor(self.task.rates(begin, end) / (self.task.batch if optimiser.plain else 1))
            rates = rates.to(learner.students.device, learner.students.dtype)[:, :, None, None]
            for t in range(end - begin):
                x, y = self._batch(rows[:, t])
                if optimiser.plain:
                    step(learner.students, x, y, rates[:, t], loss)
                else:
                    optimise(learner, x, y, rates[:, t], loss, optimiser, begin + t)
        return learner

    def _batch(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Points and labels of rows [S, B], as [S, B, d] and [S, B, C]."""
        if self.task.training.batch == "all":
            return self.task.points, self.task.labels
        members, size = rows.shape
        x = self.points.index_select(0, (rows + self.first_point).view(-1)).view(members, size, -1)
        y = self.labels.index_select(0, (rows + self.first_label).view(-1)).view(members, size, -1)
        return x, y


def step(students: Network, x: Tensor, y: Tensor, rates: Tensor, loss: Loss = "mse") -> None:
    """One step of gradient descent, in place: W_l += rate * sum over the batch of f_{l-1} g_l^T (Tian 2020, eq. 1).

    x [S, B, d], y [S, B, C], rates [S, 1, 1] (the learning rate divided by B).
    """
    features, gates = _upwards(students, x)
    g = descent(loss, y, features[-1]) * rates
    for layer in range(students.depth - 1, -1, -1):
        w = students.weights[layer]
        below = torch.bmm(g, w.mT).mul_(gates[layer - 1]) if layer > 0 else g
        w.baddbmm_(features[layer].mT, g)
        if students.biases is not None:
            students.biases[layer].add_(g.sum(1))
        g = below


def optimise(
    learner: TrainingState, x: Tensor, y: Tensor, rates: Tensor, loss: Loss, optimiser: Optimiser, number: int
) -> None:
    """One step of an optimiser that remembers, in place; rates [S, 1, 1], number: the step counted from 0."""
    students = learner.students
    features, gates = _upwards(students, x)
    g = descent(loss, y, features[-1]) / -x.shape[1]
    weights, biases = [], []
    for layer in range(students.depth - 1, -1, -1):
        weights.append(torch.bmm(features[layer].mT, g))
        biases.append(g.sum(1))
        if layer > 0:
            g = torch.bmm(g, students.weights[layer].mT).mul_(gates[layer - 1])
    gradients = weights[::-1] + (biases[::-1] if students.biases is not None else [])
    slots = zip(*(slot.parameters for slot in learner.memory), strict=True)
    for array, gradient, memory in zip(students.parameters, gradients, slots, strict=True):
        optimiser.change(array, gradient, memory, rates if array.ndim == 3 else rates[:, 0], number)


def _upwards(students: Network, x: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """Features of all layers, the input first, and gates of the hidden ones."""
    features, gates = [x], []
    for layer, w in enumerate(students.weights):
        u = torch.bmm(features[-1], w)
        if students.biases is not None:
            u += students.biases[layer].unsqueeze(1)
        if layer < students.depth - 1:
            gates.append(gate(students.activation, u, students.slope))
            u *= gates[-1]
        features.append(u)
    return features, gates
