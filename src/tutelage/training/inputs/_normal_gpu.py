"""Standard normal numbers by one kernel on a GPU: the same bits as :func:`tutelage.draws.normals`, in one pass.

torch needs some seventy passes over memory for the same numbers, which takes longer than training on them.
"""

from pathlib import Path

import torch
from torch import Tensor

from tutelage.training import _cuda

_THREADS, _SPAN = 256, 2048  # of a block, as in the kernel


def fill(key: Tensor, out: Tensor) -> None:
    """Draws 0, 1, ... of every stream, in place: keys int64 [S], out [S, count] in float32 or float64, contiguous."""
    number = {torch.float32: "float", torch.float64: "double"}[out.dtype]
    text = _cuda.source(Path(__file__).with_suffix(".cu"))
    kernel = _cuda.compiled(text, "normals", ("--std=c++17", "--fmad=false", f"-DNUMBER={number}"), 0, out.device.index)
    key, blocks = key.contiguous(), -(-out.numel() // _SPAN)
    if blocks:
        arguments = (out.data_ptr(), key.data_ptr(), out.shape[1], out.numel())
        _cuda.launch(kernel, out.device, blocks, _THREADS, arguments)
