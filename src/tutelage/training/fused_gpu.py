"""The fast engine on a GPU: two-layer networks, one thread block per student, weights in registers for many steps.

The kernel is `fused_gpu.cu`, beside this file; cupy compiles it at run time (NVRTC, no compiler to install) for the
padded sizes of the students at hand and keeps the result on disk. Products are float32 grade (3xTF32).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from tutelage.networks import Network
from tutelage.training import _cuda
from tutelage.training._cuda import no_cuda
from tutelage.training._gpu_layout import ACTIVATIONS, BATCH, GpuLayout, size_limit
from tutelage.training._update_rule import UpdateRule, update_rule
from tutelage.training.engine import Engine, engine
from tutelage.training.optimisers import Adam, Sgd, TrainingState
from tutelage.training.task import Task

_SPAN = 8192  # steps of one launch when the kernel draws its rows
_TABLE = 1 << 26  # rows of one launch when they come from a table
_FRESH = 1 << 26  # numbers of one launch when samples are made for every step: 256 MiB, and some GiB while they are
_EPSILON = 1e-30  # the least epsilon of Adam whose reciprocal float32 can hold
_SOURCES = ("fused_gpu_products.cu", "fused_gpu_update.cu", "fused_gpu.cu")

Packed = tuple[Tensor, Tensor]
"""Both layers of a network, or of several networks one after another, in the kernel's layout."""


@engine
class FusedGpu(Engine):
    """Training of two-layer networks in float32, all steps of a span in one kernel.

    Points and labels stay where they are (a copy is made only of arrays that are not contiguous); shared points are
    read by all members from one place. Samples and noise that are drawn at every step are made a span at a time by
    the task. Work is queued on torch's current stream.
    """

    name: ClassVar[str] = "fused-gpu"
    supports: ClassVar[str] = (
        f"two layers that fit on the chip, squared error, SGD and Adam, batches up to {BATCH}, float32, on a GPU"
    )
    speed: ClassVar[int] = 20

    def __init__(self, task: Task, tabulate: bool = False) -> None:
        """``tabulate`` hands the kernel its rows in a table even where it could draw them itself."""
        super().__init__(task)
        device, training = task.points.device, task.training
        self.drawn = training.sampling == "replacement" and training.batch != "all" and not tabulate
        self.rule = update_rule(training.optimiser)
        divisor = task.batch if training.optimiser.plain else 1
        with torch.cuda.device(device):
            self.points, self.labels = _in_rows(task.points), _in_rows(task.labels)
            self.keys = task.key
            self.rates = torch.tensor(task.learning_rates, dtype=torch.float64, device=device) / divisor
            self.ready = torch.cuda.current_stream().record_event()

    @classmethod
    def missing(cls) -> str | None:
        lacking = no_cuda()
        if lacking is None and torch.cuda.get_device_capability() < (8, 0):
            return "the GPU is older than compute capability 8.0"
        return lacking

    @classmethod
    def unsupported(cls, students: Network, task: Task) -> str | None:
        training = task.training
        if training.own_function:
            return f"its loops are compiled, and {training.own_function} is a function"
        if training.loss != "mse":
            return f"it minimises the squared error, not {training.loss}"
        if not isinstance(training.optimiser, Sgd | Adam):
            return f"it does SGD and Adam, not {training.optimiser.kind}"
        if isinstance(training.optimiser, Adam) and training.optimiser.epsilon < _EPSILON:
            return f"its Adam needs an epsilon of at least {_EPSILON:g}, not {training.optimiser.epsilon:g}"
        if students.depth != 2:
            return f"it trains two-layer networks, these have {students.depth} layers"
        if students.dtype != torch.float32 or task.points.dtype != torch.float32 or task.labels.dtype != torch.float32:
            return "it computes in float32"
        if students.activation not in ACTIVATIONS:
            return f"it knows {', '.join(ACTIVATIONS)}, not {students.activation}"
        if task.batch > BATCH:
            return f"its batch is at most {BATCH}, not {task.batch}"
        if not (students.weights[0].is_cuda and task.points.is_cuda and task.labels.is_cuda):
            return "the students and their data are not on a GPU"
        return cls.missing() or size_limit(plan(students, task))

    def learn(self, learner: TrainingState, start: int, stop: int) -> TrainingState:
        if stop <= start:
            return learner.clone()
        self._join_stream()
        students = learner.students
        shape = plan(students, self.task)
        weights = pack(students, shape)
        memory = together([pack(slot, shape) for slot in learner.memory[: shape.slots]], weights)
        factors, corrections = self._factors(start, stop), self._corrections(start, stop)
        for begin, end in self._spans(start, stop):
            steps = slice(begin - start, end - start)
            self._launch(students, shape, weights, memory, factors[steps], corrections[steps], begin)
        kept = tuple(unpack(students, *(layer[slot] for layer in memory)) for slot in range(shape.slots))
        return TrainingState(unpack(students, *weights), kept + learner.memory[shape.slots :])

    def _join_stream(self) -> None:
        """Make this engine's arrays safe to use on torch's current stream, whichever made them."""
        stream = torch.cuda.current_stream(self.points.device)
        stream.wait_event(self.ready)
        for array in (self.points, self.labels, self.keys, self.rates):
            array.record_stream(stream)

    def _factors(self, start: int, stop: int) -> Tensor:
        """The schedule's factor at steps start .. stop-1, float64 on the device, without waiting for the GPU."""
        return self._sent(self.task.factors(start, stop))

    def _corrections(self, start: int, stop: int) -> Tensor:
        """Adam's corrections of the steps, float32 [T, 2] on the device; empty rows for other rules."""
        if not self.rule.adam:
            return self.rates.new_empty(stop - start, 0)
        return self._sent(self.rule.corrections(start, stop).astype(np.float32))

    def _sent(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).pin_memory().to(self.points.device, non_blocking=True)

    def _spans(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """The steps of each launch; with a table of rows they are whole epochs, so that each is shuffled once."""
        task, longest = self.task, _SPAN
        if not self.drawn:
            longest = max(1, _TABLE // (task.members * task.batch))
            per_epoch = task.samples // task.batch
            longest = max(per_epoch, longest - longest % per_epoch) if per_epoch else longest
        if task.generated:
            width = task.points.shape[2] if task.fresh_points else task.labels.shape[2]
            longest = max(1, min(longest, _FRESH // (task.members * task.batch * width)))
        while start < stop:
            end = min(stop, (start // longest + 1) * longest)
            yield start, end
            start = end

    def _samples(self, start: int, stop: int) -> tuple[Tensor, Tensor]:
        """Points and labels that the kernel reads at steps start .. stop-1; fresh ones in the order of their use."""
        if not self.task.generated:
            return self.points, self.labels
        if not self.task.fresh_points:
            return self.points, _in_rows(self.task.fresh_labels(start, stop).flatten(1, 2))
        x, y = self.task.generate(start, stop)
        return _in_rows(x.flatten(1, 2)), _in_rows(y.flatten(1, 2))

    def _launch(
        self,
        students: Network,
        shape: GpuLayout,
        weights: Packed,
        memory: Packed,
        factors: Tensor,
        corrections: Tensor,
        start: int,
    ) -> None:
        """Train the packed weights in place through ``len(factors)`` steps from ``start``."""
        task, steps, device = self.task, len(factors), self.points.device
        points, labels = self._samples(start, start + steps)
        table = None
        if not (self.drawn or task.fresh_points):
            table = task.rows(start, start + steps).to(torch.int32).contiguous()
        pointers = (
            *(layer.data_ptr() for layer in (*weights, *memory)),
            points.data_ptr(),
            points.stride(0),
            labels.data_ptr(),
            labels.stride(0),
            0 if table is None else table.data_ptr(),
            *(array.data_ptr() for array in (self.keys, self.rates, factors, corrections)),
        )
        sizes = (steps, task.samples, shape.inputs, shape.hidden, shape.outputs)
        numbers = (students.slope, *rule_numbers(self.rule), *layer_factors(students, task))
        arguments = (*pointers, np.uint64(start), *map(np.int32, sizes), *map(np.float32, numbers))
        kernel = compiled(shape, device.index)
        _cuda.launch(kernel, device, task.members, 32 * shape.warps, arguments, shape.shared_bytes)


def plan(students: Network, task: Task) -> GpuLayout:
    """The plan for these students on the device of the task's points."""
    device = torch.cuda.get_device_properties(task.points.device)
    return layout(students, task, getattr(device, "shared_memory_per_block_optin", 99 * 1024))


def layout(students: Network, task: Task, shared_limit: int) -> GpuLayout:
    """The plan for these students with so many bytes of shared memory for a block."""
    inputs, hidden, outputs = students.widths
    rule, factors = update_rule(task.training.optimiser), layer_factors(students, task)
    terms = {"decay": rule.decay, "l1": rule.l1, "decoupled": rule.decoupled}
    trained = (any(factors[:2]), any(factors[2:]))
    rates = [rate for pair, train in zip((factors[:2], factors[2:]), trained, strict=True) if train for rate in pair]
    return GpuLayout(
        inputs=inputs,
        hidden=hidden,
        outputs=outputs,
        bias=students.biases is not None,
        batch=task.batch,
        activation=students.activation,
        rule=_rule_name(rule, task.training.optimiser.plain),
        trained=trained,
        terms=frozenset(name for name, value in (terms | {"factors": any(r != 1 for r in rates)}).items() if value),
        fresh=frozenset({"labels"} | ({"points"} if task.fresh_points else set()) if task.generated else ()),
        shared_limit=shared_limit,
    )


def _rule_name(rule: UpdateRule, plain: bool) -> str:
    if plain:
        return "plain"
    if rule.adam:
        return "adam"
    return "sgd" if not rule.momentum else "nesterov" if rule.nesterov else "momentum"


def rule_numbers(rule: UpdateRule) -> tuple[float, ...]:
    """The numbers of a rule in the order of the kernel's arguments; differences are taken before they are rounded."""
    shares = (1 - rule.momentum, 1 - rule.beta_2)
    return rule.momentum, *shares, rule.epsilon, rule.decay, rule.decoupled, rule.l1


def layer_factors(students: Network, task: Task) -> tuple[float, ...]:
    """Factors on the learning rate of W1, b1, W2 and b2; 0 for frozen layers."""
    return tuple(factor for layer in task.training.layer_factors(students.widths) for factor in layer)


def pack(students: Network, shape: GpuLayout) -> Packed:
    """Both layers unit by unit, padded with zeros: [S, 16 warps, 8 input_tiles] and [S, 16 warps, 8 output_tiles].

    The biases are column ``inputs`` of the first and row ``hidden`` of the second.
    """
    inputs, hidden, outputs = students.widths
    units = (students.members, 16 * shape.warps)
    first = students.weights[0].new_zeros(*units, 8 * shape.input_tiles)
    second = students.weights[0].new_zeros(*units, 8 * shape.output_tiles)
    first[:, :hidden, :inputs] = students.weights[0].mT
    second[:, :hidden, :outputs] = students.weights[1]
    if students.biases is not None:
        first[:, :hidden, inputs] = students.biases[0]
        second[:, hidden, :outputs] = students.biases[1]
    return first, second


def together(slots: Sequence[Packed], like: Packed) -> Packed:
    """Packed networks one after another: [slots, S, ...] for both layers; without slots, arrays of nothing."""
    if not slots:
        return like[0].new_empty(0), like[1].new_empty(0)
    return torch.stack([first for first, _ in slots]), torch.stack([second for _, second in slots])


def unpack(students: Network, first: Tensor, second: Tensor) -> Network:
    """The students with the weights of a packed pair; the inverse of :func:`pack`."""
    inputs, hidden, outputs = students.widths
    weights = (first[:, :hidden, :inputs].mT.contiguous(), second[:, :hidden, :outputs].contiguous())
    biases = None
    if students.biases is not None:
        biases = (first[:, :hidden, inputs].contiguous(), second[:, hidden, :outputs].contiguous())
    return replace(students, weights=weights, biases=biases)


def compiled(shape: GpuLayout, device: int) -> Any:
    """The kernel for a plan, compiled on its first use on a device."""
    text = _cuda.source(*(Path(__file__).with_name(name) for name in _SOURCES))
    return _cuda.compiled(text, "train", shape.options, shape.shared_bytes, device)


def _in_rows(array: Tensor) -> Tensor:
    """The array [S, N, k] with its rows end to end and aligned for copies; members may share them (stride 0)."""
    samples, columns = array.shape[1:]
    aligned = array.data_ptr() % 16 == 0 and array[0].is_contiguous()
    if aligned and array.stride(0) in (0, samples * columns):
        return array
    if array.stride(0) == 0:
        return array[0].clone(memory_format=torch.contiguous_format).expand(array.shape)
    return array.clone(memory_format=torch.contiguous_format)
