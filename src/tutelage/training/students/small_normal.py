"""Students that start with small normal weights."""

from typing import Literal

import torch
from pydantic import PositiveFloat
from torch import Tensor

from tutelage import draws
from tutelage.training.students.student import Student


class SmallNormal(Student):
    """Weights from N(0, scale^2), biases 0: the two-layer students of Tian 2020 and Tian 2019."""

    kind: Literal["small-normal"] = "small-normal"
    scale: PositiveFloat = 0.005
    """Standard deviation of the weights."""

    def entries(self, key: Tensor, count: int, fan_in: int, dtype: torch.dtype) -> Tensor:
        return draws.normals(key, count, dtype=dtype) * self.scale
