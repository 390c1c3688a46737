"""Students that start as linear layers of torch do."""

from typing import ClassVar, Literal

import torch
from torch import Tensor

from tutelage import draws
from tutelage.training.students.student import Student


class UniformFanIn(Student):
    """Weights and biases uniform in +-1/sqrt(fan_in), torch's default for linear layers: the deep students."""

    kind: Literal["uniform-fan-in"] = "uniform-fan-in"
    random_bias: ClassVar[bool] = True

    def entries(self, key: Tensor, count: int, fan_in: int, dtype: torch.dtype) -> Tensor:
        return ((2 * draws.uniforms(key, count) - 1) / fan_in**0.5).to(dtype)
