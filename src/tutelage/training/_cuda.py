"""CUDA kernels of this package: cupy compiles them at run time (NVRTC), and they run on torch's current stream."""

import importlib.util
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch

from tutelage.errors import how_to_install


def no_cuda() -> str | None:
    """What this machine lacks for kernels of our own, or None."""
    if not torch.cuda.is_available():
        return "there is no CUDA device"
    if importlib.util.find_spec("cupy") is None:
        return f"cupy is not installed ({how_to_install('gpu')})"
    return None


@cache
def source(*paths: Path) -> str:
    """The text of a kernel that lies in several files, one after another."""
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


@cache
def compiled(text: str, name: str, options: tuple[str, ...], shared_bytes: int, device: int) -> Any:
    """A kernel, compiled on its first use on a device; cupy keeps it on disk."""
    import cupy

    with cupy.cuda.Device(device):
        kernel = cupy.RawKernel(text, name, options=options)
        if shared_bytes:
            kernel.max_dynamic_shared_size_bytes = shared_bytes
    return kernel


def launch(
    kernel: Any, device: torch.device, blocks: int, threads: int, arguments: tuple, shared_bytes: int = 0
) -> None:
    """Queue a kernel on torch's current stream; pointers and strides are integers, other numbers have NumPy types."""
    import cupy

    with cupy.cuda.Device(device.index), _as_cupy(torch.cuda.current_stream(device)):
        kernel((blocks,), (threads,), arguments, shared_mem=shared_bytes)


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
