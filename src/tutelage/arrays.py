"""Numbers as users give them: tensors, NumPy arrays and lists."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from tutelage.errors import TutelageError


def doubles(value: Any, name: str) -> Tensor:
    """Numbers as a float64 tensor, a tensor on its own device and with its gradient; an error for anything else.

    >>> doubles([[1, 2]], "w")
    tensor([[1., 2.]], dtype=torch.float64)
    """
    if isinstance(value, Tensor) and not value.is_complex():
        return value.double()
    try:
        if value is None or np.iscomplexobj(value):  # which NumPy takes for a NaN, or cuts to the real part
            raise TypeError
        return torch.from_numpy(np.array(value, dtype=np.float64))
    except (TypeError, ValueError):
        raise TutelageError(f"{name} must be a tensor or an array of numbers, got {type(value).__name__}") from None
