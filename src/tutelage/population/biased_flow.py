r"""Gradient flow of two-layer networks with biases on the population loss.

.. math:: \dot w_k = -\partial J / \partial w_k, \quad \dot b_k = -\partial J / \partial b_k, \quad
    \dot c_k = -\partial J / \partial c_k, \quad \dot a = -\partial J / \partial a

with the closed forms of :mod:`.biased`; b are the biases of the units and a those of the outputs.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.networks import Network
from tutelage.population import biased
from tutelage.population.expectations import Units
from tutelage.population.integrate import integrate
from tutelage.population.whitening import root_of, whitened


def follow_biased(
    teacher: Network | Units,
    students: Network | Units,
    times: tuple[float, ...],
    both_layers: bool,
    covariance: float | Tensor | None,
    options: Mapping[str, Any],
) -> tuple[Network, list[Network], Tensor | None]:
    """The teacher in float64, the students at every time, and the root of the covariance."""
    if not isinstance(teacher, Network) or not isinstance(students, Network) or students.biases is None:
        raise TutelageError(
            "a flow with biases needs networks with biases for teacher and students: build both with bias"
        )
    if teacher.members not in (1, students.members):
        raise TutelageError(f"{teacher.members} teachers for {students.members} students: pass one, or one per student")
    root = root_of(covariance, students.inputs)
    teacher, students = teacher.to(dtype=torch.float64).expand(students.members), students.to(dtype=torch.float64)
    biased.loss(teacher, students)  # raises an error where the two do not fit
    taught = whitened(teacher, root)
    arrays = list(students.parameters)  # first and second weights, biases of units and of outputs
    moving = (0, 1, 2, 3) if both_layers else (0, 2)
    sizes = [arrays[place][0].numel() for place in moving]

    def network(y: Tensor, who: Tensor) -> Network:
        now = [array[who] for array in arrays]
        for place, part in zip(moving, y.split(sizes, 1), strict=True):
            now[place] = part.reshape(-1, *arrays[place].shape[1:])
        each = iter(now)
        return students.map(lambda _: next(each))

    def slope(t: Tensor, y: Tensor, who: Tensor) -> Tensor:
        found = list(biased.gradient(taught[who], whitened(network(y, who), root)).parameters)
        if root is not None:
            found[0] = root @ found[0]
        return -torch.cat([found[place].flatten(1) for place in moving], 1)

    start = torch.cat([arrays[place].flatten(1) for place in moving], 1)
    everyone = torch.arange(students.members)
    states = integrate(slope, start, times, **options)
    return teacher, [network(y, everyone) for y in states], root
