"""Training points around the boundaries of the teacher's first layer (Tian 2020, Fig. 9 and Theorem 4)."""

from collections.abc import Sequence
from typing import Literal

import torch
from pydantic import NonNegativeFloat, PositiveFloat
from torch import Tensor

from tutelage import draws
from tutelage.errors import TutelageError
from tutelage.networks import Network
from tutelage.training.inputs.distributions import normals
from tutelage.training.inputs.inputs import Distribution


class TeacherAware(Distribution):
    r"""Gaussian points moved to the teacher's boundaries; evaluation points stay Gaussian by default.

    For teacher unit j a Gaussian point is projected onto the hyperplane :math:`\tilde w^*_j x + b_j = 0`; with it come
    the two points moved by :math:`\pm a\,\tilde w^*_j`, a uniform in std * [near, near + spread]. Every point is then
    rescaled to length :math:`\mathrm{std}\,\sqrt d`. Units take turns, so N points hold N/(3m) triples of each.

    With ``united`` the Gaussian point itself stays instead of its projection, so that the set is a Gaussian set D
    united with points of it moved to both sides of a boundary, as aug(D, W*) of Tian 2020, Def. 7b.
    """

    kind: Literal["teacher-aware"] = "teacher-aware"
    std: PositiveFloat = 1.0
    """Standard deviation of the Gaussian points; every point has length std times sqrt(d)."""
    near: NonNegativeFloat = 0.1
    """Smallest distance from the boundary, in units of std."""
    spread: NonNegativeFloat = 0.4
    """Width of the interval of distances, in units of std."""
    evaluate_aware: bool = False
    """Build the evaluation points around the teacher's boundaries too, instead of drawing them from the Gaussian."""

    united: bool = False
    """Keep each Gaussian point instead of its projection onto a boundary."""

    def points(self, key: Tensor, count: int, dimension: int, dtype: torch.dtype) -> Tensor:
        return normals(key, count, dimension, dtype).mul_(self.std)

    def training_points(self, teacher: Network, seeds: Sequence[int]) -> Tensor:
        return self._around(teacher, seeds, "train", self.train)

    def evaluation_points(self, teacher: Network, seeds: Sequence[int]) -> Tensor:
        if self.evaluate_aware:
            return self._around(teacher, seeds, "evaluate", self.evaluate)
        return super().evaluation_points(teacher, seeds)

    def _around(self, teacher: Network, seeds: Sequence[int], stream: str, count: int) -> Tensor:
        """``count`` points around the boundaries of the teacher: [S, count, d]."""
        d, units = teacher.inputs, teacher.widths[1]
        triples = -(-count // 3)
        base = self.points(draws.keys(seeds, stream, teacher.device), triples, d, teacher.dtype)
        turn = torch.arange(triples, device=teacher.device) % units
        normal = teacher.weights[0].mT[:, turn]  # [S, T, d]
        length = normal.norm(dim=-1, keepdim=True)
        offset = 0 if teacher.biases is None else teacher.biases[0][:, turn].unsqueeze(-1) / length
        normal = normal / length
        drawn = base
        base = base - ((base * normal).sum(-1, keepdim=True) + offset) * normal
        unit = draws.uniforms(draws.keys(seeds, f"{stream}-offset", teacher.device), triples).to(teacher.dtype)
        move = (self.std * (self.near + self.spread * unit)).unsqueeze(-1) * normal
        x = torch.stack([base, base + move, base - move], dim=2)
        length = x.norm(dim=-1, keepdim=True)
        if (length == 0).any():
            raise TutelageError(
                "a teacher-aware point fell on the origin, which cannot be rescaled: give two inputs or a bias"
            )
        x = x * (self.std * d**0.5 / length)
        if self.united:
            x[:, :, 0] = drawn
        return x.flatten(1, 2)[:, :count]
