"""The engine for anything: batched matrix products over members, at any depth, on any device."""

from collections.abc import Callable
from functools import cache
from typing import ClassVar

import torch
from torch import Tensor

from tutelage.networks import Network
from tutelage.networks.activations import find, gate, value_and_derivative
from tutelage.training.engine import Engine, engine
from tutelage.training.losses import descent
from tutelage.training.optimisers import GradientFlow, TrainingState
from tutelage.training.rules import NumberedStep, Ruled
from tutelage.training.settings import Training
from tutelage.training.task import Task

_SPAN = 256  # steps whose rows are drawn at a time
_WORTHWHILE = 1 << 15  # entries of a layer that are worth a compiled pass


@engine
class Stacked(Engine):
    """Hand-written gradients and `torch.bmm`; the reference the other engines are held to.

    The same task gives the same bits again on the same machine with the same number of threads. Another number of
    threads, or other members beside a member, may change its last bits: libraries of matrix products multiply one
    matrix by another routine than several, and share out a large product among threads. Computing a single member as
    two would make most of this go away, and take up to four times as long.
    """

    name: ClassVar[str] = "stacked"
    supports: ClassVar[str] = (
        "any depth, activation, loss, optimiser, batch and sampling, float32 and float64, CPU and GPU"
    )
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

    @torch.no_grad()
    def learn(self, learner: TrainingState, start: int, stop: int) -> TrainingState:
        learner, plain = learner.clone(), self.task.training.plain
        rule = Rule(self.task.training, learner.students.widths, self.task.seeds)
        span = self.task.span if self.task.generated else _SPAN
        # Spans bound the memory of rows, rates and fresh points; every draw has the number of its step as a counter, so
        # that no number depends on where a span ends.
        for begin in range(start, stop, span):
            end = min(begin + span, stop)
            batch = self._batches(begin, end)
            rates = torch.as_tensor(self.task.rates(begin, end) / (self.task.batch if plain else 1))
            rates = rates.to(learner.students.device, learner.students.dtype)[:, :, None, None]
            for t in range(end - begin):
                x, y = batch(t)
                rule.step(learner, x, y, rates[:, t], begin + t)
        return learner

    def _batches(self, start: int, stop: int) -> Callable[[int], tuple[Tensor, Tensor]]:
        """From a place in start .. stop-1 to the points [S, B, d] and labels [S, B, C] of that step."""
        if self.task.generated:
            x, y = self.task.generate(start, stop)
            return lambda t: (x[:, t], y[:, t])
        rows = self.task.rows(start, stop)
        return lambda t: self._batch(rows[:, t])

    def _batch(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Points and labels of rows [S, B], as [S, B, d] and [S, B, C]."""
        if self.task.training.batch == "all":
            return self.task.points, self.task.labels
        members, size = rows.shape
        x = self.points.index_select(0, (rows + self.first_point).view(-1)).view(members, size, -1)
        y = self.labels.index_select(0, (rows + self.first_label).view(-1)).view(members, size, -1)
        return x, y


class Room:
    """Arrays of a step that are written anew at every step, so that memory is asked for once.

    On a CPU the system hands out large arrays as pages that it fills with zeros first, which takes as long as a pass
    over them; on a GPU torch keeps them itself.
    """

    def __init__(self) -> None:
        self.arrays: dict[tuple, Tensor] = {}

    def product(self, name: str, a: Tensor, b: Tensor) -> Tensor:
        """torch.bmm(a, b) in the array of that name."""
        if a.device.type != "cpu":
            return torch.bmm(a, b)
        return torch.bmm(a, b, out=self.array(name, (a.shape[0], a.shape[1], b.shape[2]), a))

    def array(self, name: str, shape: tuple[int, ...], like: Tensor) -> Tensor:
        """An array of that name and shape, whatever it holds."""
        key = (name, shape, like.dtype, like.device)
        if key not in self.arrays:
            self.arrays[key] = like.new_empty(shape)
        return self.arrays[key]


class Rule:
    """How a step changes networks of given widths: loss, optimiser, and factors on the rate of every layer."""

    def __init__(self, training: Training, widths: tuple[int, ...], seeds: tuple[int, ...] = ()) -> None:
        self.room, self.seeds = Room(), seeds
        self.loss, self.temperature, self.optimiser = training.loss, training.temperature, training.optimiser
        self.gradient, self.plain = training.gradient, training.plain
        self.factors = training.layer_factors(widths)
        trained = [layer for layer, factors in enumerate(self.factors) if any(factors)]
        self.lowest = trained[0] if trained else len(self.factors)

    def step(self, learner: TrainingState, x: Tensor, y: Tensor, rates: Tensor, number: int | Tensor) -> None:
        """One step in place: x [S, B, d], y [S, B, C]; rates [S, 1, 1], divided by B for plain SGD; number from 0.

        A recorded step has its number in an array, since it differs from replay to replay.
        """
        if isinstance(self.optimiser, GradientFlow):
            self._flow(learner.students, x, y, rates, number)
        elif self.plain:
            self.descend(learner.students, x, y, rates)
        elif isinstance(self.optimiser, Ruled):
            self._ruled(self.optimiser, learner, x, y, rates, NumberedStep(int(number), self.seeds))
        else:
            self._optimise(learner, x, y, rates, number)

    def descend(self, students: Network, x: Tensor, y: Tensor, rates: Tensor) -> None:
        """Gradient descent, in place: W_l += rate * sum over the batch of f_{l-1} g_l^T (Tian 2020, eq. 1)."""
        features, gates = _upwards(students, x, self.room)
        g = descent(self.loss, y, features[-1], self.temperature) * rates
        for layer in range(students.depth - 1, self.lowest - 1, -1):
            w, (factor, bias_factor) = students.weights[layer], self.factors[layer]
            # Invariant: g is the descent direction of this layer's pre-activations, times the rate. What is sent below
            # is formed first, from the weights as they were in the forward pass; then this layer changes.
            below = self._below(layer, g, w, gates) if layer > self.lowest else g
            if factor:
                w.baddbmm_(features[layer].mT, g, alpha=factor)
            if students.biases is not None and bias_factor:
                students.biases[layer].add_(g.sum(1), alpha=bias_factor)
            g = below

    def gradients(self, students: Network, x: Tensor, y: Tensor, number: int | Tensor) -> list[Tensor | None]:
        """The gradient of the mean loss for every array of the students, in order; None for frozen layers.

        They hold until the next call.
        """
        if self.gradient:
            made = self.gradient.of(students, x, y, NumberedStep(int(number), self.seeds, "gradient"))
            return [a if factor else None for a, factor in zip(made, self._per_array(students), strict=True)]
        features, gates = _upwards(students, x, self.room)
        g = descent(self.loss, y, features[-1], self.temperature) / -x.shape[1]
        weights: list[Tensor | None] = [None] * students.depth
        biases: list[Tensor | None] = [None] * students.depth
        for layer in range(students.depth - 1, self.lowest - 1, -1):
            if any(self.factors[layer]):
                weights[layer] = self.room.product(f"gradient {layer}", features[layer].mT, g)
                biases[layer] = g.sum(1)
            if layer > self.lowest:
                g = self._below(layer, g, students.weights[layer], gates)
        return weights + (biases if students.biases is not None else [])

    def _below(self, layer: int, g: Tensor, weight: Tensor, gates: list[Tensor]) -> Tensor:
        """What a layer sends back to the one below, through the gates of that one."""
        return self.room.product(f"back {layer}", g, weight.mT).mul_(gates[layer - 1])

    def _optimise(self, learner: TrainingState, x: Tensor, y: Tensor, rates: Tensor, number: int | Tensor) -> None:
        """A step of an optimiser that remembers, in place."""
        students = learner.students
        arrays = students.parameters
        slots = (
            zip(*(slot.parameters for slot in learner.memory), strict=True) if learner.memory else [()] * len(arrays)
        )
        changes = zip(arrays, self.gradients(students, x, y, number), slots, self._per_array(students), strict=True)
        for array, gradient, memory, factor in changes:
            if gradient is not None and factor:
                rate = rates if array.ndim == 3 else rates[:, 0]
                self.optimiser.change(array, gradient, memory, rate if factor == 1 else rate * factor, number)

    def _ruled(
        self, optimiser: Ruled, learner: TrainingState, x: Tensor, y: Tensor, rates: Tensor, step: NumberedStep
    ) -> None:
        """A step of a rule of a user, in place: it gets all arrays that are trained at once."""
        students = learner.students
        found, factors = self.gradients(students, x, y, step), self._per_array(students)
        places = [i for i, gradient in enumerate(found) if gradient is not None and factors[i]]
        weights = [students.parameters[i] for i in places]
        gradients = [gradient for i in places if (gradient := found[i]) is not None]
        memory = [[slot.parameters[i] for i in places] for slot in learner.memory]
        each = [(rates if w.ndim == 3 else rates[:, 0]) * factors[i] for i, w in zip(places, weights, strict=True)]
        optimiser.move(weights, gradients, memory, each, step)

    def _flow(self, students: Network, x: Tensor, y: Tensor, rates: Tensor, number: int | Tensor) -> None:
        """One step of the classical Runge-Kutta method along minus the gradient, in place."""
        start = [a.clone() for a in students.parameters]
        total = [torch.zeros_like(a) for a in start]
        # Per stage: its weight in the sum, and how far along its slope the next stage looks; the last ends the step.
        for share, after in ((1, 0.5), (2, 0.5), (2, 1.0), (1, None)):
            slopes = self.gradients(students, x, y, number)
            for place, (array, gradient, factor) in enumerate(
                zip(students.parameters, slopes, self._per_array(students), strict=True)
            ):
                if gradient is None or not factor:
                    continue
                move = self.optimiser.penalised(array, gradient) * (
                    (rates if array.ndim == 3 else rates[:, 0]) * -factor
                )
                total[place] += share * move
                array.copy_(start[place] + (total[place] / 6 if after is None else after * move))

    def _per_array(self, students: Network) -> list[float]:
        """The factor on the rate of every array of the students, in order."""
        biases = [b for _, b in self.factors] if students.biases is not None else []
        return [w for w, _ in self.factors] + biases


def step(students: Network, x: Tensor, y: Tensor, rates: Tensor, loss: str = "mse") -> None:
    """One step of plain gradient descent on a loss, in place; rates [S, 1, 1], the learning rate divided by B."""
    Rule(Training(steps=1, loss=loss), students.widths).descend(students, x, y, rates)


def _upwards(students: Network, x: Tensor, room: Room) -> tuple[list[Tensor], list[Tensor]]:
    """Features of all layers, the input first, and derivatives of the hidden ones; they hold until the next call."""
    features, slopes = [x], []
    gated = find(students.activation).gate
    for layer, w in enumerate(students.weights):
        u = room.product(f"features {layer}", features[-1], w)
        if gated is not None and layer < students.depth - 1 and _in_one_pass(students, u):
            slopes.append(_biased_and_gated(students, layer, u, room.array(f"gates {layer}", tuple(u.shape), u)))
            features.append(u)
            continue
        if students.biases is not None:
            u += students.biases[layer].unsqueeze(1)
        if layer < students.depth - 1:
            if gated is not None:
                slopes.append(gated(u, students.slope))
                u *= slopes[-1]
            else:
                u, slope = value_and_derivative(students.activation, u, students.slope)
                slopes.append(slope)
        features.append(u)
    return features, slopes


def _in_one_pass(students: Network, u: Tensor) -> bool:
    """Whether a layer is large enough, and of a kind, for the compiled pass over its pre-activations."""
    return (
        students.biases is not None
        and u.device.type == "cpu"
        and u.numel() >= _WORTHWHILE
        and u.dtype in (torch.float32, torch.float64)
        and not torch.is_grad_enabled()
    )


def _biased_and_gated(students: Network, layer: int, u: Tensor, gates: Tensor) -> Tensor:
    """Add the biases and activate, in place, and return the gates: the bits of separate passes, read once."""
    from tutelage.training._bias_and_gate import bias_and_gate  # loading the compiler takes a third of a second

    assert students.biases is not None
    ends = _ends(students.activation, students.slope, u.dtype)
    bias_and_gate(u.numpy(), students.biases[layer].numpy(), gates.numpy(), *ends)
    return gates


@cache
def _ends(activation: str, slope: float, dtype: torch.dtype) -> tuple:
    """The gate above, at and below 0, as NumPy numbers."""
    return tuple(gate(activation, torch.tensor([1.0, 0.0, -1.0], dtype=dtype), slope).numpy())
