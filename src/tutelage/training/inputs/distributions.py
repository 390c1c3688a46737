"""The distributions inputs are drawn from; all have mean 0."""

from typing import Literal

import numpy as np
import torch
from pydantic import Field, PositiveFloat
from scipy.special import stdtrit
from torch import Tensor

from tutelage import draws
from tutelage.threads import spread
from tutelage.training._cuda import no_cuda
from tutelage.training.inputs.inputs import Distribution

_WORTHWHILE = 1 << 17  # numbers worth the compiled loop, and a share of them worth a thread


def normals(key: Tensor, count: int, dimension: int, dtype: torch.dtype) -> Tensor:
    """Points with independent standard normal coordinates: keys [S] -> [S, count, dimension]."""
    size = count * dimension
    by_cuda = key.is_cuda and no_cuda() is None
    worthwhile = len(key) * size >= _WORTHWHILE and dtype in (torch.float32, torch.float64)
    if not worthwhile or not (by_cuda or key.device.type == "cpu"):
        return draws.normals(key, size, dtype=dtype).view(-1, count, dimension)
    if by_cuda:
        from tutelage.training.inputs import _normal_gpu

        out = torch.empty(len(key), size, dtype=dtype, device=key.device)
        _normal_gpu.fill(key, out)
        return out.view(-1, count, dimension)
    from tutelage.training.inputs._normal_loops import fill  # loading the compiler takes a third of a second

    out, keys = torch.empty(len(key), size, dtype=dtype), key.contiguous().numpy().view(np.uint64)
    spread(fill, len(key), keys, out.numpy())
    return out.view(-1, count, dimension)


class Gaussian(Distribution):
    r"""x ~ N(0, std^2 I), the distribution of Tian 2020 and Tian 2019."""

    kind: Literal["gaussian"] = "gaussian"
    std: PositiveFloat = 1.0
    """Standard deviation of every coordinate."""

    def points(self, key: Tensor, count: int, dimension: int, dtype: torch.dtype) -> Tensor:
        return normals(key, count, dimension, dtype).mul_(self.std)


class Uniform(Distribution):
    """Independent coordinates, uniform in [-half_width, half_width]."""

    kind: Literal["uniform"] = "uniform"
    half_width: PositiveFloat = 1.0
    """Largest absolute value of a coordinate."""

    def points(self, key: Tensor, count: int, dimension: int, dtype: torch.dtype) -> Tensor:
        unit = draws.uniforms(key, count * dimension).view(-1, count, dimension)
        return (self.half_width * (2 * unit - 1)).to(dtype)


class Sphere(Distribution):
    """Uniform on the sphere of the given radius."""

    kind: Literal["sphere"] = "sphere"
    radius: PositiveFloat = 1.0
    """Radius of the sphere."""

    def points(self, key: Tensor, count: int, dimension: int, dtype: torch.dtype) -> Tensor:
        x = normals(key, count, dimension, torch.float64)
        return (self.radius * x / x.norm(dim=-1, keepdim=True)).to(dtype)


class CorrelatedGaussian(Distribution):
    r"""x ~ N(0, std^2 R) with R_ij = correlation^|i-j|: each coordinate leans on the one before it."""

    kind: Literal["correlated-gaussian"] = "correlated-gaussian"
    std: PositiveFloat = 1.0
    """Standard deviation of every coordinate."""
    correlation: float = Field(default=0.5, gt=-1, lt=1)
    """Correlation of neighbouring coordinates."""

    def points(self, key: Tensor, count: int, dimension: int, dtype: torch.dtype) -> Tensor:
        x = normals(key, count, dimension, torch.float64)
        fresh = (1 - self.correlation**2) ** 0.5
        for i in range(1, dimension):  # x_i = r x_{i-1} + sqrt(1 - r^2) z_i, the same bits whatever is drawn beside it
            x[..., i].mul_(fresh).add_(self.correlation * x[..., i - 1])
        return (self.std * x).to(dtype)


class StudentT(Distribution):
    """Independent coordinates with Student's t distribution, times ``scale``: heavy tails.

    The variance is scale^2 freedom/(freedom-2) for freedom > 2 and infinite otherwise.
    """

    kind: Literal["student-t"] = "student-t"
    freedom: float = Field(default=3.0, ge=1)
    """Degrees of freedom; smaller values give heavier tails."""
    scale: PositiveFloat = 1.0
    """Factor on every coordinate."""

    def points(self, key: Tensor, count: int, dimension: int, dtype: torch.dtype) -> Tensor:
        unit = draws.uniforms(key, count * dimension).view(-1, count, dimension)
        quantiles = torch.from_numpy(stdtrit(self.freedom, unit.cpu().numpy())).to(key.device)
        return (self.scale * quantiles).to(dtype)
