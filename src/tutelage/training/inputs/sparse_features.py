"""Inputs that are sums of a few of the directions that the teacher's units read."""

from collections.abc import Sequence
from typing import Literal

import torch
from pydantic import Field, PositiveFloat
from torch import Tensor

from tutelage import draws
from tutelage.networks import Network
from tutelage.training.inputs.distributions import normals
from tutelage.training.inputs.inputs import Distribution


class SparseFeatures(Distribution):
    r"""Sums of sparse features, one feature per unit of the teacher's first layer.

    .. math:: x = \frac{\mathrm{std}}{\sqrt{1 - q}} \sum_j s_j z_j \frac{w^*_j}{\|w^*_j\|}, \qquad
        s_j \sim \mathrm{Bernoulli}(1 - q), \; z_j \sim N(0, 1)

    with the sparsity q. There may be more features than inputs or than student units: features are then in
    superposition.
    """

    kind: Literal["sparse-features"] = "sparse-features"
    sparsity: float = Field(default=0.5, ge=0, lt=1)
    """Probability q that a feature is absent from a point."""
    std: PositiveFloat = 1.0
    """Standard deviation of every feature."""

    def points(self, key: Tensor, count: int, dimension: int, dtype: torch.dtype) -> Tensor:
        """The features themselves, for ``dimension`` features."""
        present = draws.uniforms(draws.mix(key + 1), count * dimension).view(-1, count, dimension) >= self.sparsity
        size = self.std / (1 - self.sparsity) ** 0.5
        return normals(key, count, dimension, dtype) * present.to(dtype) * size

    def training_points(self, teacher: Network, seeds: Sequence[int]) -> Tensor:
        return self._sums(teacher, draws.keys(seeds, "train", teacher.device), self.train)

    def evaluation_points(self, teacher: Network, seeds: Sequence[int]) -> Tensor:
        return self._sums(teacher, draws.keys(seeds, "evaluate", teacher.device), self.evaluate)

    def _sums(self, teacher: Network, key: Tensor, count: int) -> Tensor:
        directions = torch.nn.functional.normalize(teacher.weights[0], dim=1).mT  # [S, features, d]
        features = self.points(key, count, directions.shape[1], teacher.dtype)
        total = features.new_zeros(*features.shape[:2], directions.shape[2])
        for j in range(directions.shape[1]):  # one after the other: a library rounds a product by its number of rows
            total += features[..., j : j + 1] * directions[:, j : j + 1]
        return total
