"""The fast engine on a GPU: two-layer SGD, one thread block a student, weights in registers for a whole span of steps.

The kernel is `fused_gpu.cu`, beside this file; cupy compiles it at run time (NVRTC, no compiler to install) for the
padded sizes of the students at hand and keeps the result on disk. Products are float32 grade (3xTF32).
"""

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from tutelage.networks import Network
from tutelage.training.engine import Engine, engine
from tutelage.training.task import Task

BATCH = 16  # rows of the matrix products: smaller batches are padded, larger ones rejected
_ACTIVATIONS = ("relu", "leaky", "abs", "linear")  # numbered as in the kernel
_SPAN = 8192  # steps of one launch when the kernel draws its rows
_TABLE = 1 << 26  # rows of one launch when they come from a table
_TEMPORARIES = 84  # registers a thread wants besides its weights


@dataclass(frozen=True)
class GpuLayout:
    """How students of one shape lie on a multiprocessor; the arithmetic of `fused_gpu.cu`.

    A warp owns 16 units. With biases the inputs have a column of ones and the hidden layer a unit fixed at 1.

    >>> plan = GpuLayout(inputs=100, hidden=52, outputs=50)
    >>> plan.warps, plan.input_tiles, plan.output_tiles, plan.blocks, plan.fits
    (4, 13, 7, 3, True)
    """

    inputs: int
    hidden: int
    outputs: int
    bias: bool = True
    batch: int = BATCH
    activation: str = "relu"
    shared_limit: int = 227 * 1024
    """Bytes of shared memory a block may have."""

    @property
    def warps(self) -> int:
        return -(-(self.hidden + self.bias) // 16)

    @property
    def input_tiles(self) -> int:
        return -(-(self.inputs + self.bias) // 8)

    @property
    def output_tiles(self) -> int:
        return -(-self.outputs // 8)

    @property
    def weight_registers(self) -> int:
        """Registers a thread needs for the weights it owns."""
        return 4 * (self.input_tiles + self.output_tiles)

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a block: rows x [3], labels y [2], a partial output and W2 a warp, and the errors g2."""
        x, c = 128 * (self.input_tiles | 1), 128 * (self.output_tiles | 1)
        return 4 * (3 * x + 2 * c + self.warps * (max(c, 16 * 24) + c) + c)

    def registers(self, blocks: int) -> int:
        """Registers a thread gets with so many blocks on a multiprocessor, each quarter of which has 16,384."""
        return min(255, 512 // -(-blocks * self.warps // 4) // 8 * 8)

    @cached_property
    def blocks(self) -> int:
        """Blocks on a multiprocessor: as many as shared memory holds without weights leaving the registers.

        A number that gives the four quarters equally many warps is preferred: a quarter with a warp more than the
        others takes registers from all and holds the barriers up.
        """
        most = min(16, self.shared_limit // (self.shared_bytes + 1024))
        wanted = self.weight_registers + _TEMPORARIES
        able = [blocks for blocks in range(2, most + 1) if self.registers(blocks) >= wanted]
        level = [blocks for blocks in able if blocks * self.warps % 4 == 0]
        return max(level or able or [1])

    @property
    def fits(self) -> bool:
        return (
            self.warps <= 32 and self.weight_registers <= self.registers(1) and self.shared_bytes <= self.shared_limit
        )

    @property
    def most_hidden(self) -> int:
        """The largest hidden layer that fits with these inputs and outputs; 0 when none does."""
        widest = (16 * warps - self.bias for warps in range(32, 0, -1))
        return next((hidden for hidden in widest if replace(self, hidden=hidden).fits), 0)

    @property
    def options(self) -> tuple[str, ...]:
        """What the kernel is compiled for; sizes that do not change its code are arguments instead."""
        definitions = {
            "WARPS": self.warps,
            "INPUT_TILES": self.input_tiles,
            "OUTPUT_TILES": self.output_tiles,
            "BATCH": self.batch,
            "BIAS": int(self.bias),
            "ACTIVATION": _ACTIVATIONS.index(self.activation),
            "X_WIDTH": _copy_width(self.inputs),
            "Y_WIDTH": _copy_width(self.outputs),
            "BLOCKS": self.blocks,
        }
        return ("--std=c++17", *(f"-D{name}={value}" for name, value in definitions.items()))


@engine
class FusedGpu(Engine):
    """Plain SGD on two-layer networks in float32, all steps of a span in one kernel.

    Points and labels stay where they are (a copy is made only of arrays that are not contiguous); shared points are
    read by all members from one place. Work is queued on torch's current stream.
    """

    name: ClassVar[str] = "fused-gpu"
    supports: ClassVar[str] = f"two layers that fit on the chip, batches up to {BATCH}, float32, on a GPU"
    speed: ClassVar[int] = 20

    def __init__(self, task: Task, tabulate: bool = False) -> None:
        """``tabulate`` hands the kernel its rows in a table even where it could draw them itself."""
        super().__init__(task)
        device = task.points.device
        self.drawn = task.training.sampling == "replacement" and task.training.batch != "all" and not tabulate
        with torch.cuda.device(device):
            self.points, self.labels = _in_rows(task.points), _in_rows(task.labels)
            self.keys = task.key
            self.rates = torch.tensor(task.learning_rates, dtype=torch.float64, device=device) / task.batch
            self.ready = torch.cuda.current_stream().record_event()

    @classmethod
    def missing(cls) -> str | None:
        if not torch.cuda.is_available():
            return "there is no CUDA device"
        if importlib.util.find_spec("cupy") is None:
            return "cupy is not installed (pip install tutelage[gpu])"
        if torch.cuda.get_device_capability() < (8, 0):
            return "the GPU is older than compute capability 8.0"
        return None

    @classmethod
    def unsupported(cls, students: Network, task: Task) -> str | None:
        if task.unusual:
            return f"it does plain SGD on the squared error, not {task.unusual}"
        if students.depth != 2:
            return f"it trains two-layer networks, these have {students.depth} layers"
        if students.dtype != torch.float32 or task.points.dtype != torch.float32 or task.labels.dtype != torch.float32:
            return "it computes in float32"
        if students.activation not in _ACTIVATIONS:
            return f"it knows {', '.join(_ACTIVATIONS)}, not {students.activation}"
        if task.batch > BATCH:
            return f"its batch is at most {BATCH}, not {task.batch}"
        if not (students.weights[0].is_cuda and task.points.is_cuda and task.labels.is_cuda):
            return "the students and their data are not on a GPU"
        return cls.missing() or size_limit(plan(students, task))

    def advance(self, students: Network, start: int, stop: int) -> Network:
        if stop <= start:
            return students.map(torch.clone)
        self._join_stream()
        shape = plan(students, self.task)
        first, second = result(students, shape)
        factors = self._factors(start, stop)
        for begin, end in self._spans(start, stop):
            self._launch(students, shape, first, second, factors[begin - start : end - start], begin)
        return unpack(students, first, second)

    def _join_stream(self) -> None:
        """Make this engine's arrays safe to use on torch's current stream, whichever made them."""
        stream = torch.cuda.current_stream(self.points.device)
        stream.wait_event(self.ready)
        for array in (self.points, self.labels, self.keys, self.rates):
            array.record_stream(stream)

    def _factors(self, start: int, stop: int) -> Tensor:
        """The schedule's factor at steps start .. stop-1, float64 on the device, without waiting for the GPU."""
        factors = self.task.factors(start, stop)
        return torch.from_numpy(np.ascontiguousarray(factors)).pin_memory().to(self.points.device, non_blocking=True)

    def _spans(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """The steps of each launch; with a table of rows they are whole epochs, so that each is shuffled once."""
        longest = _SPAN
        if not self.drawn:
            longest = max(1, _TABLE // (self.task.members * self.task.batch))
            per_epoch = self.task.samples // self.task.batch
            longest = max(per_epoch, longest - longest % per_epoch) if per_epoch else longest
        while start < stop:
            end = min(stop, (start // longest + 1) * longest)
            yield start, end
            start = end

    def _launch(
        self, students: Network, shape: GpuLayout, first: Tensor, second: Tensor, factors: Tensor, start: int
    ) -> None:
        """Train the packed weights in place through ``len(factors)`` steps from ``start``."""
        import cupy

        task, steps = self.task, len(factors)
        table = None if self.drawn else task.rows(start, start + steps).to(torch.int32).contiguous()
        stream = torch.cuda.current_stream(first.device)
        with cupy.cuda.Device(first.device.index), _as_cupy(stream):
            compiled(shape, first.device.index)(
                (task.members,),
                (32 * shape.warps,),
                (
                    first.data_ptr(),
                    second.data_ptr(),
                    self.points.data_ptr(),
                    self.points.stride(0),
                    self.labels.data_ptr(),
                    self.labels.stride(0),
                    0 if table is None else table.data_ptr(),
                    self.keys.data_ptr(),
                    self.rates.data_ptr(),
                    factors.data_ptr(),
                    np.uint64(start),
                    np.int32(steps),
                    np.int32(task.samples),
                    np.int32(shape.inputs),
                    np.int32(shape.hidden),
                    np.int32(shape.outputs),
                    np.float32(students.slope),
                ),
                shared_mem=shape.shared_bytes,
            )


def plan(students: Network, task: Task) -> GpuLayout:
    """The plan for these students on the device of the task's points."""
    device = torch.cuda.get_device_properties(task.points.device)
    inputs, hidden, outputs = students.widths
    return GpuLayout(
        inputs=inputs,
        hidden=hidden,
        outputs=outputs,
        bias=students.biases is not None,
        batch=task.batch,
        activation=students.activation,
        shared_limit=getattr(device, "shared_memory_per_block_optin", 99 * 1024),
    )


def size_limit(shape: GpuLayout) -> str | None:
    """Which size does not fit on the chip and what the limit is, or None.

    >>> size_limit(GpuLayout(inputs=100, hidden=500, outputs=50))
    '500 hidden units do not fit on the chip: at most 383 with 100 inputs and 50 outputs'
    """
    if shape.fits:
        return None
    if shape.most_hidden:
        limit = f"at most {shape.most_hidden} with {shape.inputs} inputs and {shape.outputs} outputs"
        return f"{shape.hidden} hidden units do not fit on the chip: {limit}"
    sizes = f"{shape.inputs} inputs and {shape.outputs} outputs do not fit on the chip"
    if shape.weight_registers > 255:
        return f"{sizes}: at most 504 together, each rounded up to a multiple of 8"
    return f"{sizes}: they need {shape.shared_bytes} bytes of shared memory, there are {shape.shared_limit}"


def result(students: Network, shape: GpuLayout) -> tuple[Tensor, Tensor]:
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


def unpack(students: Network, first: Tensor, second: Tensor) -> Network:
    """The students with the weights of a packed pair; the inverse of :func:`experiment`."""
    inputs, hidden, outputs = students.widths
    weights = (first[:, :hidden, :inputs].mT.contiguous(), second[:, :hidden, :outputs].contiguous())
    biases = None
    if students.biases is not None:
        biases = (first[:, :hidden, inputs].contiguous(), second[:, hidden, :outputs].contiguous())
    return replace(students, weights=weights, biases=biases)


@cache
def _source() -> str:
    return Path(__file__).with_suffix(".cu").read_text(encoding="utf-8")


@cache
def _kernel(options: tuple[str, ...], shared_bytes: int, device: int) -> Any:
    import cupy

    with cupy.cuda.Device(device):
        kernel = cupy.RawKernel(_source(), "train", options=options)
        kernel.max_dynamic_shared_size_bytes = shared_bytes
    return kernel


def compiled(shape: GpuLayout, device: int) -> Any:
    """The kernel for a plan, compiled on its first use on a device."""
    return _kernel(shape.options, shape.shared_bytes, device)


@dataclass(frozen=True)
class _Handle:
    """A stream under the protocol by which libraries hand CUDA streams to one another."""

    address: int

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.address


def _as_cupy(stream: torch.cuda.Stream) -> Any:
    """A torch stream as cupy's; cupy before version 14 has another way to it."""
    import cupy

    if hasattr(cupy.cuda.Stream, "from_external"):
        return cupy.cuda.Stream.from_external(_Handle(stream.cuda_stream))
    return cupy.cuda.ExternalStream(stream.cuda_stream, stream.device_index)


def _copy_width(columns: int) -> int:
    """Floats moved by one copy of a row of so many columns: every row must begin at a multiple of it."""
    return 4 if columns % 4 == 0 else 2 if columns % 2 == 0 else 1


def _in_rows(array: Tensor) -> Tensor:
    """The array [S, N, k] with its rows end to end and aligned for copies; members may share them (stride 0)."""
    samples, columns = array.shape[1:]
    aligned = array.data_ptr() % 16 == 0 and array[0].is_contiguous()
    if aligned and array.stride(0) in (0, samples * columns):
        return array
    if array.stride(0) == 0:
        return array[0].clone(memory_format=torch.contiguous_format).expand(array.shape)
    return array.clone(memory_format=torch.contiguous_format)
