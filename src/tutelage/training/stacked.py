"""The engine for anything: batched matrix products over members, at any depth, on any device."""

from typing import ClassVar

import torch
from torch import Tensor

from tutelage.networks import Network, gate
from tutelage.training.engine import Engine, engine
from tutelage.training.task import Task

_SPAN = 256  # steps whose rows are drawn at a time


@engine
class Stacked(Engine):
    """Plain SGD with hand-written gradients and `torch.bmm`; the reference the other engines are held to."""

    name: ClassVar[str] = "stacked"
    supports: ClassVar[str] = "any depth, batch and sampling, float32 and float64, CPU and GPU"
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
    def refusal(cls, students: Network, task: Task) -> str | None:
        return None

    def advance(self, students: Network, start: int, stop: int) -> Network:
        students = students.map(torch.clone)
        for begin in range(start, stop, _SPAN):
            end = min(begin + _SPAN, stop)
            rows = self.task.rows(begin, end)
            rates = torch.as_tensor(self.task.rates(begin, end) / self.task.batch)
            rates = rates.to(students.device, students.dtype)[:, :, None, None]
            for t in range(end - begin):
                x, y = self._batch(rows[:, t])
                step(students, x, y, rates[:, t])
        return students

    def _batch(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Points and labels of rows [S, B], as [S, B, d] and [S, B, C]."""
        if self.task.training.batch == "all":
            return self.task.points, self.task.labels
        members, size = rows.shape
        x = self.points.index_select(0, (rows + self.first_point).view(-1)).view(members, size, -1)
        y = self.labels.index_select(0, (rows + self.first_label).view(-1)).view(members, size, -1)
        return x, y


def step(students: Network, x: Tensor, y: Tensor, rates: Tensor) -> None:
    """One step of gradient descent, in place: W_l += rate * sum over the batch of f_{l-1} g_l^T (000, eq. 1).

    x [S, B, d], y [S, B, C], rates [S, 1, 1] (the learning rate divided by B).
    """
    features, gates = [x], []
    for layer, w in enumerate(students.weights):
        u = torch.bmm(features[-1], w)
        if students.biases is not None:
            u += students.biases[layer].unsqueeze(1)
        if layer < students.depth - 1:
            gates.append(gate(students.activation, u, students.slope))
            u *= gates[-1]
        features.append(u)
    g = (y - features[-1]) * rates
    for layer in range(students.depth - 1, -1, -1):
        w = students.weights[layer]
        below = torch.bmm(g, w.mT).mul_(gates[layer - 1]) if layer > 0 else g
        w.baddbmm_(features[layer].mT, g)
        if students.biases is not None:
            students.biases[layer].add_(g.sum(1))
        g = below
