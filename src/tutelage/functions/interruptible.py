"""Torch operations that can be interrupted: by a time limit, and by the user.

A product of large matrices is one native call of many seconds, in which no limit is looked at and no signal is handled.
Inside ``interruptible`` such products are carried out in pieces, and the limit is asked before each of them, so that
neither bounds nor searches need to know about it. Pieces change how sums are rounded, never by more than bounds count.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from tutelage.deadline import Deadline, rows_at_a_time

LARGE = 50_000
"""Weights from which operations are worth looking at: a look takes some microseconds, as long as a small operation."""

_PRODUCTS = {  # the operation: which argument is cut in rows, and along which axis
    torch.ops.aten.mm.default: (0, 0),
    torch.ops.aten.addmm.default: (1, 0),
    torch.ops.aten.bmm.default: (0, 1),
    torch.ops.aten._cdist_forward.default: (0, 0),
}


@contextmanager
def interruptible(deadline: Deadline, weights: int) -> Iterator[None]:
    """Raise OutOfTime at the first operation after the limit; networks of few weights are left as they are."""
    if weights < LARGE:
        yield
        return
    with _Cut(deadline):
        yield


class _Cut(TorchDispatchMode):
    """Looks at the limit before every operation, and cuts large products."""

    def __init__(self, deadline: Deadline) -> None:
        super().__init__()
        self.deadline = deadline

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict[str, Any] | None = None) -> Any:
        self.deadline.check()
        if func in _PRODUCTS:
            which, axis = _PRODUCTS[func]
            return self._product(func, list(args), kwargs or {}, which, axis)
        return func(*args, **(kwargs or {}))

    def _product(self, func: Any, args: list, kwargs: dict[str, Any], which: int, axis: int) -> Tensor:
        left, right = args[which], args[which + 1]
        if axis >= left.ndim - 1:
            return func(*args, **kwargs)
        batch = left.shape[0] if left.ndim == 3 else 1
        columns = right.shape[-2] if func is torch.ops.aten._cdist_forward.default else right.shape[-1]
        rows = rows_at_a_time(batch * left.shape[-1] * columns)
        if left.shape[axis] <= rows:
            return func(*args, **kwargs)
        by_row = bool(which) and args[0].ndim == 2 and args[0].shape[0] == left.shape[0]  # addmm adds a matrix
        parts = []
        for begin in range(0, left.shape[axis], rows):
            self.deadline.check()
            here = list(args)
            here[which] = left.narrow(axis, begin, min(rows, left.shape[axis] - begin))
            if by_row:
                here[0] = args[0][begin : begin + rows]
            parts.append(func(*here, **kwargs))
        return torch.cat(parts, axis)
