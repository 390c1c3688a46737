"""Overlaps of the first layers and the exact generalisation error: what order-parameter theory speaks of."""

from dataclasses import replace

import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.measures.registry import measure_of
from tutelage.measures.snapshot import Snapshot
from tutelage.networks import Network
from tutelage.population import loss
from tutelage.training.inputs import Gaussian


@measure_of("pair", two_layers=True)
def overlap(s: Snapshot) -> Tensor:
    r"""R: :math:`w^*_j \cdot w_k` of every teacher unit j with every student unit k (Saad and Solla 1995)."""
    return s.teacher_network.weights[0].mT @ s.students.weights[0]


@measure_of("unit", two_layers=True)
def self_overlap(s: Snapshot) -> Tensor:
    r"""The diagonal of Q: :math:`w_k \cdot w_k` of every student unit."""
    return s.students.weights[0].square().sum(1)


@measure_of("teacher", two_layers=True)
def teacher_overlap(s: Snapshot) -> Tensor:
    r"""The diagonal of T: :math:`w^*_j \cdot w^*_j` of every teacher unit."""
    return s.teacher_network.weights[0].square().sum(1)


@measure_of("unit_pair", two_layers=True)
def student_overlaps(s: Snapshot) -> Tensor:
    r"""Q: :math:`w_k \cdot w_l` of every pair of student units."""
    return s.students.weights[0].mT @ s.students.weights[0]


@measure_of("teacher_pair", two_layers=True)
def teacher_overlaps(s: Snapshot) -> Tensor:
    r"""T: :math:`w^*_j \cdot w^*_i` of every pair of teacher units, the same at every step."""
    return s.teacher_network.weights[0].mT @ s.teacher_network.weights[0]


@measure_of("member", two_layers=True, of_teacher_units=True)
def population_loss(s: Snapshot) -> Tensor:
    """J = 1/2 E|f* - f|^2 over all Gaussian inputs, exactly: the generalisation error without sampling error."""
    if not isinstance(s.distribution, Gaussian):
        kind = "unknown" if s.distribution is None else f"'{s.distribution.kind}'"
        raise TutelageError(f"population_loss is known for inputs of the kind 'gaussian', and these are {kind}")
    networks = [_scaled(network, s.distribution.std) for network in (s.teacher_network, s.students)]
    return loss(*networks).to(s.evaluate.device, s.evaluate.dtype)


def _scaled(network: Network, std: float) -> Network:
    """The network whose outputs on N(0, I) are those of the given one on N(0, std^2 I), in float64."""
    network = network.to("cpu", torch.float64)
    return replace(network, weights=(network.weights[0] * std, *network.weights[1:]))
