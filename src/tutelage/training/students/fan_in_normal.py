"""Students whose weights at the start shrink with the width, for wide networks and their parameterisations."""

from typing import Literal

import torch
from pydantic import PositiveFloat
from torch import Tensor

from tutelage import draws
from tutelage.training.parameterisations import Parameterisation, initial_scale
from tutelage.training.students.student import Student


class FanInNormal(Student):
    """Weights from N(0, scale^2 / fan_in), biases 0; with "mup" the last layer from N(0, scale^2 / fan_in^2).

    Give the same ``parameterisation`` to the training, which chooses the learning rates of the layers.
    """

    kind: Literal["fan-in-normal"] = "fan-in-normal"
    scale: PositiveFloat = 1.0
    """Standard deviation of the weights times the square root of the inputs of their layer."""
    parameterisation: Parameterisation = "standard"
    """"standard", "ntk" or "mup"; see :mod:`tutelage.training.parameterisations`."""

    def layer_entries(self, key: Tensor, count: int, fan_in: int, last: bool, dtype: torch.dtype) -> Tensor:
        deviation = self.scale * initial_scale(self.parameterisation, fan_in, last)
        return draws.normals(key, count).mul_(deviation).to(dtype)

    def entries(self, key: Tensor, count: int, fan_in: int, dtype: torch.dtype) -> Tensor:
        return self.layer_entries(key, count, fan_in, False, dtype)
